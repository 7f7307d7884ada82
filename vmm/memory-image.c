/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: libvirt takes the description of the domain that it restores from the file's header, and QEMU
 * reads the rest. virDomainRestore with another description refuses another name or UUID; a header that
 * has that description from the start is accepted. The header has room to spare (libvirt leaves 64 KiB),
 * so it can be rewritten in place, again and again; what must stay as it was saved is in the record of the
 * image, not read back from the file. So a rewriting that was cut off in the middle harms nobody: the next
 * one writes all of it.
 *
 * From the rewriting until QEMU has read the file to its end the image belongs to one box: a lock
 * (vmm/lock.h) made of the volume's name. virDomainRestore returns after that.
 *
 * Rejected: a copy of the image for each box, which costs a second or more where the file system cannot
 * share extents; and a FIFO that gets header and memory, which needs the hypervisor to be this machine.
 */
#include "vmm/memory-image.h"

#include <stdio.h>
#include <string.h>

#include "images/digest.h"
#include "vmm/admission.h"
#include "vmm/lock.h"
#include "vmm/save-image.h"

enum { WAIT_MS = 300000 }; /* for all those who restore before us: each takes a second or some */

static struct box_lock *lock_volume(virStoragePoolPtr pool, const char *volume, struct error *err)
{
	char hex[DIGEST_HEX], uuid[DOMAIN_UUID_TEXT];

	digest_bytes(volume, strlen(volume), hex);
	(void)snprintf(uuid, sizeof(uuid), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
		hex + 16, hex + 20);
	return lock_take(pool, uuid, volume, WAIT_MS, err);
}

/* ---- saving ---- */

static int read_head(virStoragePoolPtr pool, const char *volume, struct str *into,
	struct save_image *ret, struct error *err)
{
	size_t size = 0;

	if (pool_read_at(pool, volume, 0, SAVE_IMAGE_HEADER, into, err) < 0 ||
		save_image_size((const uint8_t *)into->data, into->len, &size, err) < 0 ||
		pool_read_at(pool, volume, SAVE_IMAGE_HEADER, size - SAVE_IMAGE_HEADER, into, err) <
			0)
		return -1;
	return save_image_read((const uint8_t *)into->data, into->len, ret, err);
}

int memory_image_describe(virStoragePoolPtr pool, const char *volume, struct memory_image *ret,
	char **ret_cookie, struct error *err)
{
	_cleanup_free_ char *cookie = NULL;
	_cleanup_str_ struct str head = STR_INIT;
	struct save_image image;
	struct pool_size size;

	if (pool_volume_size(pool, volume, &size, err) < 0 ||
		read_head(pool, volume, &head, &image, err) < 0)
		return -1;
	if (image.cookie) {
		cookie = str_dup(image.cookie, err);
		if (!cookie)
			return -1;
	}
	*ret = (struct memory_image){
		.volume = volume,
		.bytes = size.capacity,
		.data_len = image.data_len,
		.compressed = image.compressed,
	};
	*ret_cookie = TAKE(cookie);
	return 0;
}

int memory_image_save(virStoragePoolPtr pool, virDomainPtr dom, const char *volume,
	struct memory_image *ret, char **ret_cookie, struct error *err)
{
	_cleanup_free_ char *path = NULL;

	/* a volume from the beginning, so that the pool knows it whatever happens */
	if (pool_create_raw(pool, volume, 0, err) < 0)
		return -1;
	path = pool_path(pool, volume, err);
	if (!path)
		return -1;
	if (virDomainSave(dom, path) < 0)
		return error_virt(err, "cannot save the memory of '%s'", virDomainGetName(dom));
	return memory_image_describe(pool, volume, ret, ret_cookie, err);
}

/* ---- restoring ---- */

int memory_image_check(virStoragePoolPtr pool, const struct memory_image *image, struct error *err)
{
	_cleanup_str_ struct str head = STR_INIT;
	struct pool_size size;
	size_t head_size = 0;

	if (pool_volume_size(pool, image->volume, &size, err) < 0)
		return -1;
	if (size.capacity != image->bytes)
		return error_set(err, ERROR_INVALID,
			"the memory image '%s' has %llu bytes and was made with %llu",
			image->volume, (unsigned long long)size.capacity,
			(unsigned long long)image->bytes);
	if (pool_read_at(pool, image->volume, 0, SAVE_IMAGE_HEADER, &head, err) < 0)
		return -1;
	if (save_image_size((const uint8_t *)head.data, head.len, &head_size, err) < 0)
		return error_wrap(err, "'%s'", image->volume);
	if (head_size != (size_t)SAVE_IMAGE_HEADER + image->data_len)
		return error_set(err, ERROR_INVALID,
			"the memory image '%s' is another one than its record speaks of",
			image->volume);
	return 0;
}

/* The header for this box. */
static int make_head(const struct memory_image *image, const struct box *box, struct str *into,
	struct error *err)
{
	const struct save_image saved = {
		.data_len = image->data_len,
		.compressed = image->compressed,
		.cookie = image->cookie,
	};
	_cleanup_free_ char *xml = virDomainGetXMLDesc(box->dom,
		VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE | VIR_DOMAIN_XML_MIGRATABLE);

	if (!xml)
		return error_virt(err, "cannot read the definition of box '%s'", box->name);
	return save_image_rewrite(&saved, xml, true, into, err);
}

int memory_image_restore(virStoragePoolPtr pool, const struct memory_image *image, struct box *box,
	struct error *err)
{
	_cleanup_(lock_release_p) struct box_lock *lock = NULL;
	_cleanup_str_ struct str head = STR_INIT;
	_cleanup_free_ char *path = NULL;
	struct admission admission;

	if (make_head(image, box, &head, err) < 0 || admission_begin(box, &admission, err) < 0)
		return -1;
	path = pool_path(pool, image->volume, err);
	if (!path)
		return -1;
	lock = lock_volume(pool, image->volume, err);
	if (!lock || memory_image_check(pool, image, err) < 0 ||
		pool_write_at(pool, image->volume, 0, &head, err) < 0)
		return -1;
	if (virDomainRestoreFlags(
		    virDomainGetConnect(box->dom), path, NULL, VIR_DOMAIN_SAVE_PAUSED) < 0)
		return error_virt(err, "cannot restore box '%s' from the memory image '%s'",
			box->name, image->volume);
	if (admission_check(&admission, box, err) == 0) {
		if (virDomainResume(box->dom) == 0)
			return 0;
		(void)error_virt(err, "cannot let box '%s' run", box->name);
	}
	(void)virDomainDestroy(box->dom);
	return -1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warm.h"

#include <stdio.h>
#include <string.h>

#include "vmm/image-store.h"
#include "vmm/save-image.h"

void warm_done(struct warm *warm)
{
	warm_record_done(&warm->record);
	*warm = (struct warm){ 0 };
}

/* ---- what it fits ---- */

/* A machine of our making, always with the same names: its text is the shape of all. */
static char *shape(const struct warm_fit *fit, struct error *err)
{
	static const struct box_meta meta = { .schema = META_SCHEMA };
	const struct domain_spec spec = {
		.name = "shape",
		.uuid = "00000000-0000-4000-8000-000000000000",
		.instance = "shape",
		.tcg = fit->tcg,
		.cpus = fit->cpus,
		.memory = fit->memory,
		.disk = "/disk",
		.seed = "/seed",
		.mac = "52:54:00:00:00:00",
		.tap = "bxt00000000",
		.meta = &meta,
	};

	return domain_xml(&spec, err);
}

static void digest_number(struct digest *d, const char *name, unsigned long value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%lu", value);
	digest_field_text(d, name, text);
}

int warm_key(
	virConnectPtr conn, const struct warm_fit *fit, char key[DIGEST_HEX], struct error *err)
{
	unsigned long libvirt = 0, hypervisor = 0;
	_cleanup_free_ char *machine = shape(fit, err);
	_cleanup_free_ char *offers = NULL;
	struct digest d;

	if (!machine)
		return -1;
	if (virConnectGetLibVersion(conn, &libvirt) < 0 ||
		virConnectGetVersion(conn, &hypervisor) < 0)
		return error_virt(err, "cannot ask which libvirt and QEMU the host has");
	offers = virConnectGetDomainCapabilities(
		conn, NULL, "x86_64", "q35", fit->tcg ? "qemu" : "kvm", 0);
	if (!offers)
		return error_virt(err, "cannot ask what the host offers to guests");
	digest_init(&d);
	digest_field_text(&d, "image", fit->image->volume);
	digest_field_text(&d, "digest", fit->image->digest);
	digest_field_text(&d, "seed", fit->image->seed);
	digest_field_text(&d, "shape", machine);
	digest_field_text(&d, "offers", offers);
	digest_number(&d, "libvirt", libvirt);
	digest_number(&d, "hypervisor", hypervisor);
	digest_hex(&d, key);
	return 0;
}

/* ---- finding ---- */

struct memory_image warm_memory(const struct warm *warm)
{
	const struct warm_record *r = &warm->record;

	return (struct memory_image){
		.volume = warm->names.memory,
		.bytes = r->bytes,
		.data_len = r->data_len,
		.compressed = r->compressed,
		.cookie = r->cookie,
	};
}

/* 1, or -1: what the record speaks of is not there. */
static int check_volumes(virStoragePoolPtr pool, const struct warm *warm, struct error *err)
{
	const struct memory_image memory = warm_memory(warm);
	struct pool_size size;

	if (pool_volume_size(pool, warm->names.layer, &size, err) < 0 ||
		memory_image_check(pool, &memory, err) < 0) {
		if (err->kind == ERROR_NOT_FOUND)
			err->kind = ERROR_INVALID;
		return -1;
	}
	if (size.capacity != warm->record.disk)
		return error_set(err, ERROR_INVALID,
			"the disk layer '%s' is another one than its record speaks of",
			warm->names.layer);
	return 1;
}

static int read_record(virStoragePoolPtr pool, struct warm *warm, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (pool_read(pool, warm->names.record, WARM_RECORD_MAX, &text, err) < 0)
		return -1;
	return warm_record_parse(str_get(&text), text.len, warm->names.record, &warm->record, err);
}

static int read_fitting(virStoragePoolPtr pool, struct warm *warm, const char *key,
	const struct warm_fit *fit, struct error *err)
{
	if (read_record(pool, warm, err) < 0)
		return -1;
	if (!str_equal(warm->record.key, key) ||
		!str_equal(warm->record.image, fit->image->volume) ||
		warm->record.cpus != fit->cpus || warm->record.memory != fit->memory)
		return error_set(err, ERROR_INVALID, "'%s' is the record of another warm image",
			warm->names.record);
	return 0;
}

/* A record of this template and key: 1, 0, -1. */
static int find_record(virStoragePoolPtr pool, const char *template, const char *key,
	struct warm_names *ret, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };

	if (pool_list(pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);
		struct warm_names names;

		if (warm_names_of(name, &names) && str_equal(name, names.record) &&
			warm_names_fit(&names, template, key)) {
			*ret = names;
			return 1;
		}
	}
	return 0;
}

int warm_find(virConnectPtr conn, virStoragePoolPtr pool, const struct warm_fit *fit,
	struct warm *ret, struct error *err)
{
	_cleanup_warm_ struct warm warm = { 0 };
	char key[DIGEST_HEX];
	int found;

	if (warm_key(conn, fit, key, err) < 0)
		return -1;
	found = find_record(pool, fit->image->template, key, &warm.names, err);
	if (found <= 0)
		return found;
	if (read_fitting(pool, &warm, key, fit, err) < 0 || check_volumes(pool, &warm, err) < 0)
		return -1;
	*ret = warm;
	warm = (struct warm){ 0 };
	return 1;
}

/* ---- all of it ---- */

int warm_read(virStoragePoolPtr pool, const char *record, struct warm *ret, struct error *err)
{
	_cleanup_warm_ struct warm warm = { 0 };

	if (!warm_names_of(record, &warm.names) || !str_equal(record, warm.names.record))
		return error_set(err, ERROR_INVALID, "'%s' is no record of a warm image", record);
	if (read_record(pool, &warm, err) < 0)
		return -1;
	*ret = warm;
	warm = (struct warm){ 0 };
	return 0;
}

int warm_digest(virStoragePoolPtr pool, struct warm *warm, pool_progress progress, void *data,
	struct error *err)
{
	struct warm_record *r = &warm->record;

	/* the header is another one for each box */
	if (image_digest(pool, warm->names.layer, progress, data, r->layer_sha256, err) < 0)
		return -1;
	return image_digest_from(pool, warm->names.memory, SAVE_IMAGE_HEADER + r->data_len,
		progress, data, r->memory_sha256, err);
}

static int compare(const char *volume, const char *was, const char *is, struct error *err)
{
	return !*was || str_equal(was, is)
		       ? 0
		       : error_set(err, ERROR_INVALID, "'%s' is not what was saved", volume);
}

int warm_verify(virStoragePoolPtr pool, const struct warm *warm, pool_progress progress, void *data,
	struct error *err)
{
	const struct warm_record *r = &warm->record;
	struct warm now = { .names = warm->names };

	now.record.data_len = r->data_len;
	if (check_volumes(pool, warm, err) < 0 ||
		warm_digest(pool, &now, progress, data, err) < 0 ||
		compare(warm->names.layer, r->layer_sha256, now.record.layer_sha256, err) < 0)
		return -1;
	return compare(warm->names.memory, r->memory_sha256, now.record.memory_sha256, err);
}

int warm_forget(virStoragePoolPtr pool, const struct warm_names *names, struct error *err)
{
	/* the record first: without it the others are leftovers */
	return pool_delete(pool, names->record, err) < 0 ? -1
							 : pool_delete(pool, names->memory, err);
}

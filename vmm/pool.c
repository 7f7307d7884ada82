/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/pool.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/xml.h"

#define REFRESH_WAIT_MS 60000
#define REFRESH_PAUSE_MS 200

/* ---- the pool ---- */

static char *pool_def(struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	xml_open(w, "pool", "type", "dir", NULL);
	xml_leaf(w, "name", POOL_NAME);
	xml_open(w, "target", NULL);
	xml_leaf(w, "path", POOL_PATH);
	xml_open(w, "permissions", NULL);
	/* nobody but root looks into images; libvirt itself gives QEMU the files it may have */
	xml_leaf(w, "mode", "0711");
	xml_close(w);
	return xml_finish(w, err);
}

/* A pool of our name must be a folder; where it is, is the administrator's business. */
static int check_is_ours(virStoragePoolPtr pool, struct error *err)
{
	_cleanup_free_ char *text = virStoragePoolGetXMLDesc(pool, 0);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	int found;

	if (!text)
		return error_virt(err, "cannot read the storage pool '" POOL_NAME "'");
	x = xml_parse(text, strlen(text), "the storage pool's XML", err);
	if (!x)
		return -1;
	found = xml_has(x, NULL, "/pool[@type='dir' or @type='fs']", err);
	if (found < 0)
		return -1;
	if (!found)
		return error_set(err, ERROR_EXISTS,
			"a storage pool '" POOL_NAME
			"' exists and is not a folder; rename or remove it");
	return 0;
}

static int pool_start(virStoragePoolPtr pool, bool build, bool *changed, struct error *err)
{
	int active = virStoragePoolIsActive(pool);

	if (active < 0)
		return error_virt(err, "cannot ask about the storage pool '" POOL_NAME "'");
	if (active)
		return 0;
	if (build && virStoragePoolBuild(pool, 0) < 0)
		return error_virt(
			err, "cannot make the folder of the storage pool '" POOL_NAME "'");
	if (virStoragePoolCreate(pool, 0) < 0)
		return error_virt(err, "cannot start the storage pool '" POOL_NAME "'");
	*changed = true;
	return 0;
}

int pool_setup(virConnectPtr conn, bool *ret_changed, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_free_ char *def = NULL;
	bool changed = false;
	int autostart = 0;

	pool = virStoragePoolLookupByName(conn, POOL_NAME);
	if (!pool && virt_last_code() != VIR_ERR_NO_STORAGE_POOL)
		return error_virt(err, "cannot look up the storage pool '" POOL_NAME "'");
	if (!pool) {
		def = pool_def(err);
		if (!def)
			return -1;
		pool = virStoragePoolDefineXML(conn, def, 0);
		if (!pool)
			return error_virt(err, "cannot define the storage pool '" POOL_NAME "'");
		changed = true;
	}
	if (check_is_ours(pool, err) < 0 || pool_start(pool, true, &changed, err) < 0)
		return -1;
	if (virStoragePoolGetAutostart(pool, &autostart) < 0)
		return error_virt(err, "cannot ask about the storage pool '" POOL_NAME "'");
	if (!autostart) {
		if (virStoragePoolSetAutostart(pool, 1) < 0)
			return error_virt(err, "cannot autostart the storage pool '" POOL_NAME "'");
		changed = true;
	}
	if (ret_changed)
		*ret_changed = changed;
	return 0;
}

/* 1 all of them may go, 0 one may not, -1. */
static int all_may_go(
	const struct virt_volumes *list, pool_judge may_go, void *data, struct error *err)
{
	int ret = 1;

	for (int i = 0; i < list->len && ret == 1; i++)
		ret = may_go(list->items[i], virStorageVolGetName(list->items[i]), data, err);
	return ret;
}

static int delete_volumes(const struct virt_volumes *list, struct error *err)
{
	for (int i = 0; i < list->len; i++)
		if (virStorageVolDelete(list->items[i], 0) < 0)
			return error_virt(err, "cannot delete the volume '%s'",
				virStorageVolGetName(list->items[i]));
	return 0;
}

/* Emptied, and what is left of it: the folder, which must be empty by now, and the definition. */
static int pool_remove(virStoragePoolPtr pool, const struct virt_volumes *list, struct error *err)
{
	if (delete_volumes(list, err) < 0)
		return -1;
	if (virStoragePoolIsActive(pool) == 1 && virStoragePoolDestroy(pool) < 0)
		return error_virt(err, "cannot stop the storage pool '" POOL_NAME "'");
	if (virStoragePoolDelete(pool, VIR_STORAGE_POOL_DELETE_NORMAL) < 0)
		return error_virt(
			err, "cannot remove the folder of the storage pool '" POOL_NAME "'");
	if (virStoragePoolUndefine(pool) < 0)
		return error_virt(err, "cannot undefine the storage pool '" POOL_NAME "'");
	return 0;
}

int pool_teardown(virConnectPtr conn, pool_judge may_go, void *data, struct error *err)
{
	_cleanup_(virStoragePoolFree_p)
		virStoragePoolPtr pool = virStoragePoolLookupByName(conn, POOL_NAME);
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr left = NULL;
	_cleanup_volumes_ struct virt_volumes list = { 0 };
	bool changed = false;
	int ok;

	if (!pool && virt_last_code() == VIR_ERR_NO_STORAGE_POOL)
		return 0;
	if (!pool)
		return error_virt(err, "cannot look up the storage pool '" POOL_NAME "'");
	/* read again: a file that somebody put there is seen */
	if (check_is_ours(pool, err) < 0 || pool_start(pool, true, &changed, err) < 0 ||
		pool_refresh(pool, err) < 0 || pool_list(pool, &list, err) < 0)
		return -1;
	ok = all_may_go(&list, may_go, data, err);
	if (ok <= 0)
		return ok < 0 ? -1 : 1;
	if (pool_remove(pool, &list, err) < 0)
		return -1;
	left = virStoragePoolLookupByName(conn, POOL_NAME);
	if (left)
		return error_set(err, ERROR_FAILED,
			"the storage pool '" POOL_NAME "' is still there after it was removed");
	return 0;
}

virStoragePoolPtr pool_open(virConnectPtr conn, struct error *err)
{
	_cleanup_(virStoragePoolFree_p)
		virStoragePoolPtr pool = virStoragePoolLookupByName(conn, POOL_NAME);
	bool changed;

	if (!pool) {
		(void)error_virt(err, "cannot look up the storage pool '" POOL_NAME "'");
		if (err->kind == ERROR_NOT_FOUND)
			(void)error_set(err, ERROR_NOT_FOUND,
				"this host is not set up: it has no storage pool '" POOL_NAME
				"'; run: box setup-host");
		return NULL;
	}
	if (pool_start(pool, false, &changed, err) < 0)
		return NULL;
	return TAKE(pool);
}

int pool_free_bytes(virStoragePoolPtr pool, uint64_t *ret, struct error *err)
{
	virStoragePoolInfo info;

	if (virStoragePoolRefresh(pool, 0) < 0)
		log_debug("the storage pool is in use and could not be read again");
	if (virStoragePoolGetInfo(pool, &info) < 0)
		return error_virt(err, "cannot ask how full the storage pool '" POOL_NAME "' is");
	*ret = info.available;
	return 0;
}

int pool_refresh(virStoragePoolPtr pool, struct error *err)
{
	uint64_t deadline = clock_ms() + REFRESH_WAIT_MS;
	const struct timespec pause = { .tv_nsec = REFRESH_PAUSE_MS * 1000000L };
	struct error failed = { 0 };

	/* libvirt has no event for the end of a transfer; a connection that is gone never comes back */
	while (virStoragePoolRefresh(pool, 0) < 0) {
		(void)error_virt(&failed, "cannot read the storage pool '" POOL_NAME "' again");
		if (clock_ms() >= deadline ||
			virConnectIsAlive(virStoragePoolGetConnect(pool)) != 1) {
			*err = failed;
			return -1;
		}
		if (virt_interrupted())
			return error_set(err, ERROR_INTERRUPTED, "interrupted");
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int pool_need(virStoragePoolPtr pool, uint64_t bytes, const char *what, struct error *err)
{
	char want[32], have[32];
	uint64_t left = 0;

	if (pool_free_bytes(pool, &left, err) < 0)
		return -1;
	if (left >= bytes)
		return 0;
	return error_set(err, ERROR_NO_SPACE,
		"the storage pool '" POOL_NAME
		"' is too full for %s: %s left, %s needed; free some (box image prune, box rm)",
		what, format_size(left, have, sizeof(have)),
		format_size(bytes, want, sizeof(want)));
}

char *pool_folder(virStoragePoolPtr pool, struct error *err)
{
	_cleanup_free_ char *text = virStoragePoolGetXMLDesc(pool, 0);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	char *path = NULL;
	int found;

	if (!text) {
		(void)error_virt(err, "cannot read the storage pool '" POOL_NAME "'");
		return NULL;
	}
	x = xml_parse(text, strlen(text), "the storage pool's XML", err);
	found = x ? xml_str(x, NULL, "/pool/target/path", 4096, &path, err) : -1;
	if (found == 0)
		(void)error_set(err, ERROR_INVALID, "the storage pool '" POOL_NAME "' has no path");
	return path;
}

/* ---- volumes ---- */

virStorageVolPtr pool_volume(virStoragePoolPtr pool, const char *name, struct error *err)
{
	virStorageVolPtr volume = virStorageVolLookupByName(pool, name);

	if (!volume)
		(void)error_virt(err, "cannot find the volume '%s'", name);
	return volume;
}

int pool_has(virStoragePoolPtr pool, const char *name, struct error *err)
{
	_cleanup_(virStorageVolFree_p)
		virStorageVolPtr volume = virStorageVolLookupByName(pool, name);

	if (volume)
		return 1;
	if (virt_last_code() == VIR_ERR_NO_STORAGE_VOL)
		return 0;
	return error_virt(err, "cannot look up the volume '%s'", name);
}

int pool_list(virStoragePoolPtr pool, struct virt_volumes *ret, struct error *err)
{
	virStorageVolPtr *items = NULL;
	int len = virStoragePoolListAllVolumes(pool, &items, 0);

	if (len < 0)
		return error_virt(err, "cannot list the storage pool '" POOL_NAME "'");
	*ret = (struct virt_volumes){ .items = items, .len = len };
	return 0;
}

char *pool_path(virStoragePoolPtr pool, const char *name, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	char *path;

	if (!volume)
		return NULL;
	path = virStorageVolGetPath(volume);
	if (!path)
		(void)error_virt(err, "cannot ask for the path of the volume '%s'", name);
	return path;
}

int pool_volume_size(
	virStoragePoolPtr pool, const char *name, struct pool_size *ret, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	virStorageVolInfo info;

	if (!volume)
		return -1;
	if (virStorageVolGetInfo(volume, &info) < 0)
		return error_virt(err, "cannot ask for the size of the volume '%s'", name);
	*ret = (struct pool_size){ .capacity = info.capacity, .allocation = info.allocation };
	return 0;
}

static void write_size(struct xml_writer *w, const char *element, uint64_t bytes)
{
	xml_open(w, element, "unit", "bytes", NULL);
	xml_textf(w, "%" PRIu64, bytes);
	xml_close(w);
}

/* backing: path, or NULL */
static char *volume_xml(const char *name, const char *format, const char *backing, uint64_t bytes,
	struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	xml_open(w, "volume", NULL);
	xml_leaf(w, "name", "%s", name);
	write_size(w, "capacity", bytes);
	write_size(w, "allocation", 0);
	xml_open(w, "target", NULL);
	xml_empty(w, "format", "type", format, NULL);
	/* libvirt's own choice is the old version, which can record no zeros: a guest's discards and zeroed
	 * tables would be written out. */
	if (strcmp(format, "qcow2") == 0)
		xml_leaf(w, "compat", "1.1");
	xml_open(w, "permissions", NULL);
	xml_leaf(w, "mode", "0600");
	xml_close(w);
	xml_close(w);
	if (backing) {
		xml_open(w, "backingStore", NULL);
		xml_leaf(w, "path", "%s", backing);
		xml_empty(w, "format", "type", "qcow2", NULL);
		xml_close(w);
	}
	return xml_finish(w, err);
}

static virStorageVolPtr create_volume(
	virStoragePoolPtr pool, const char *name, const char *xml, struct error *err)
{
	virStorageVolPtr volume = virStorageVolCreateXML(pool, xml, 0);

	if (!volume)
		(void)error_virt(err, "cannot create the volume '%s'", name);
	return volume;
}

int pool_create_layer(virStoragePoolPtr pool, const char *name, const char *backing,
	uint64_t capacity, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = NULL;
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ char *xml = NULL;

	if (backing) {
		struct pool_size size = { 0 };

		path = pool_path(pool, backing, err);
		if (!path || pool_volume_size(pool, backing, &size, err) < 0)
			return -1;
		capacity = MAX(capacity, size.capacity);
	}
	xml = volume_xml(name, "qcow2", path, capacity, err);
	if (!xml)
		return -1;
	volume = create_volume(pool, name, xml, err);
	return volume ? 0 : -1;
}

static virStorageVolPtr create_raw(
	virStoragePoolPtr pool, const char *name, uint64_t bytes, struct error *err)
{
	_cleanup_free_ char *xml = volume_xml(name, "raw", NULL, bytes, err);

	return xml ? create_volume(pool, name, xml, err) : NULL;
}

int pool_create_raw(virStoragePoolPtr pool, const char *name, uint64_t bytes, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = create_raw(pool, name, bytes, err);

	return volume ? 0 : -1;
}

int pool_delete(virStoragePoolPtr pool, const char *name, struct error *err)
{
	_cleanup_(virStorageVolFree_p)
		virStorageVolPtr volume = virStorageVolLookupByName(pool, name);
	int there;

	if (!volume && virt_last_code() == VIR_ERR_NO_STORAGE_VOL)
		return 0;
	if (!volume)
		return error_virt(err, "cannot look up the volume '%s'", name);
	if (virStorageVolDelete(volume, 0) < 0 && virt_last_code() != VIR_ERR_NO_STORAGE_VOL)
		return error_virt(err, "cannot delete the volume '%s'", name);
	there = pool_has(pool, name, err);
	if (there == 1)
		return error_set(err, ERROR_FAILED,
			"the volume '%s' is still there after it was deleted", name);
	return there;
}

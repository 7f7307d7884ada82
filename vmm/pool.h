/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The storage pool "box" and its volumes, through libvirt's storage API only: the pool may be on
 * another machine, so its paths are text to put into XML and never opened here.
 */
#ifndef VMM_POOL_H
#define VMM_POOL_H

#include "base/str.h"
#include "vmm/virt.h"

#define POOL_NAME "box"
#define POOL_PATH "/var/lib/libvirt/images/box"
#define POOL_NAME_MAX 256 /* a volume's name with its NUL */

/*
 * Make the pool be there: defined, its folder made, started, autostarted. *ret_changed (may be NULL)
 * says whether anything had to be done. ERROR_EXISTS when a pool of that name is something else.
 */
int pool_setup(virConnectPtr conn, bool *ret_changed, struct error *err) MUST_CHECK;

/* Whether a volume may be deleted: 1, 0, -1. */
typedef int (*pool_judge)(virStorageVolPtr volume, const char *name, void *data, struct error *err);

/*
 * Take the pool away: volumes, folder, definition. When may_go says no of any volume, nothing is touched, and
 * 1 is returned. 0: it is gone, which is seen; a missing pool is a success.
 */
int pool_teardown(virConnectPtr conn, pool_judge may_go, void *data, struct error *err) MUST_CHECK;

/* The pool, active (started if need be); ERROR_NOT_FOUND with "box setup-host" when it is not there. */
virStoragePoolPtr pool_open(virConnectPtr conn, struct error *err) MUST_CHECK;

/*
 * Bytes that the pool has left. Reads the pool again first, since libvirt does not see images grow;
 * if others are working in it at the moment, libvirt's last figure is given.
 */
int pool_free_bytes(virStoragePoolPtr pool, uint64_t *ret, struct error *err) MUST_CHECK;

/*
 * Make libvirt read the whole pool again: what volumes stand on, and how much they take, it learns in no
 * other way. Waits up to a minute for others' transfers into the pool, during which libvirt refuses.
 */
int pool_refresh(virStoragePoolPtr pool, struct error *err) MUST_CHECK;

/* ERROR_NO_SPACE unless the pool has that many bytes left. what needs it: "box 'web'". */
int pool_need(
	virStoragePoolPtr pool, uint64_t bytes, const char *what, struct error *err) MUST_CHECK;

/* The volume; NULL with ERROR_NOT_FOUND when there is none of that name. */
virStorageVolPtr pool_volume(
	virStoragePoolPtr pool, const char *name, struct error *err) MUST_CHECK;

/* 1 it is there, 0 it is not, -1 error. */
int pool_has(virStoragePoolPtr pool, const char *name, struct error *err) MUST_CHECK;

/* All volumes, as libvirt knows them. */
int pool_list(virStoragePoolPtr pool, struct virt_volumes *ret, struct error *err) MUST_CHECK;

/* The hypervisor's path of the pool's folder, given (free it). */
char *pool_folder(virStoragePoolPtr pool, struct error *err) MUST_CHECK;

/* The hypervisor's path of the volume, given (free it). */
char *pool_path(virStoragePoolPtr pool, const char *name, struct error *err) MUST_CHECK;

/* Capacity (what a guest sees) and allocation (what it takes), in bytes. */
struct pool_size {
	uint64_t capacity;
	uint64_t allocation;
};
int pool_volume_size(virStoragePoolPtr pool, const char *name, struct pool_size *ret,
	struct error *err) MUST_CHECK;

/*
 * A new qcow2 layer on the volume backing (of the same pool) with that capacity in bytes; backing
 * NULL: stands on nothing; capacity 0: the backing's. ERROR_EXISTS when the name is taken.
 */
int pool_create_layer(virStoragePoolPtr pool, const char *name, const char *backing,
	uint64_t capacity, struct error *err) MUST_CHECK;

/* A raw volume of that many bytes, not allocated. ERROR_EXISTS when the name is taken: atomically. */
int pool_create_raw(
	virStoragePoolPtr pool, const char *name, uint64_t bytes, struct error *err) MUST_CHECK;

/* Told of bytes passed so far (holes included) and of all. */
typedef void (*pool_progress)(uint64_t done, uint64_t total, void *data);

/*
 * Create the volume and fill it with the whole of a local file, holes as holes. What libvirt then
 * thinks its format is follows from the content. On failure the volume is gone again.
 */
struct pool_upload {
	const char *name;
	int fd; /* lent; a regular file, read from its beginning */
	pool_progress progress; /* may be NULL */
	void *data;
};
int pool_upload(
	virStoragePoolPtr pool, const struct pool_upload *upload, struct error *err) MUST_CHECK;

/* Create the volume with these bytes: manifests, seeds. On failure it is gone again. */
int pool_write(virStoragePoolPtr pool, const char *name, const void *bytes, size_t len,
	struct error *err) MUST_CHECK;

/* The whole content, appended to into; more than max bytes is ERROR_INVALID. */
int pool_read(virStoragePoolPtr pool, const char *name, size_t max, struct str *into,
	struct error *err) MUST_CHECK;

/* Bytes of a volume, at most len from offset on, appended to into: fewer where it ends earlier. */
int pool_read_at(virStoragePoolPtr pool, const char *name, uint64_t offset, size_t len,
	struct str *into, struct error *err) MUST_CHECK;

/* Overwrite bytes of a volume in place. */
int pool_write_at(virStoragePoolPtr pool, const char *name, uint64_t offset,
	const struct str *bytes, struct error *err) MUST_CHECK;

/* Delete the volume and see that it is gone; a missing one is a success. */
int pool_delete(virStoragePoolPtr pool, const char *name, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: files come in groups that end with a manifest, which is the commit record of its group. A file
 * is a step; its undo deletes the volume if this run made it and its group's manifest is not in the pool.
 * What to do about a volume that is there already depends on its group's manifest in the pool:
 *
 *	the same digest as ours		the volume stays
 *	another digest			another build of the same recipe: nothing of ours may stand on it
 *	none, seed			named by its content: it stays if its content is right, else replaced
 *	none, anything else		left by an upload that was killed: replaced
 *
 * Uploads that share a base wait for one another, by a lock (vmm/lock.h) made of the base's name; so what is
 * there without a manifest is nobody's work.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "images/recipe.h"
#include "vmm/image-store.h"
#include "vmm/lock.h"

enum { FILES_MAX = 32, SEED_BYTES_MAX = 8 << 20, WAIT_MS = 60000 };

struct upload {
	virStoragePoolPtr pool;
	const struct image_upload *request;
	size_t next; /* the file that the next step is about */
	bool made[FILES_MAX], sealed[FILES_MAX]; /* by this run; its manifest is in the pool */
	size_t count;
};

static const struct image_file *file_at(const struct upload *u, size_t index)
{
	return &u->request->files[index];
}

/* The manifest that ends the group of this file; NULL when there is none. */
static const struct image_file *manifest_of(const struct upload *u, size_t index)
{
	for (; index < u->request->count; index++)
		if (image_part(file_at(u, index)->name) == PART_MANIFEST)
			return file_at(u, index);
	return NULL;
}

static int read_local(const struct image_file *f, struct manifest *ret, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (file_read(AT_FDCWD, f->file, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	return manifest_parse(str_get(&text), text.len, f->file, ret, err);
}

static int read_remote(
	const struct upload *u, const char *name, struct manifest *ret, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (pool_read(u->pool, name, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	return manifest_parse(str_get(&text), text.len, name, ret, err);
}

/* The pool has the manifest of this file's group, and it is of the same build: 1, 0 without one, -1. */
static int is_committed(const struct upload *u, size_t index, struct error *err)
{
	const struct image_file *f = manifest_of(u, index);
	_cleanup_manifest_ struct manifest ours = { 0 }, theirs = { 0 };
	int there = f ? pool_has(u->pool, f->name, err) : 0;

	if (there <= 0)
		return there;
	if (read_local(f, &ours, err) < 0 || read_remote(u, f->name, &theirs, err) < 0)
		return -1;
	if (str_equal(ours.sha256, theirs.sha256))
		return 1;
	return error_set(err, ERROR_EXISTS,
		"the storage pool has another build of '%s', made %s; layers of ours cannot stand on it: mint "
		"from the cache that it came from, or remove its images first (box image list)",
		ours.volume, theirs.created);
}

/*
 * Nothing is sent when one of the manifests in the pool is of another build: an image that lost its base there must
 * not find one of ours under that name.
 */
static int check_builds(const struct upload *u, struct error *err)
{
	for (size_t i = 0; i < u->request->count; i++)
		if (image_part(file_at(u, i)->name) == PART_MANIFEST && is_committed(u, i, err) < 0)
			return -1;
	return 0;
}

/* A seed's name is the digest of its content, so the right content is the same seed: 1, 0, -1. */
static int is_same_content(const struct upload *u, const struct image_file *f, struct error *err)
{
	_cleanup_str_ struct str ours = STR_INIT, theirs = STR_INIT;

	if (file_read(AT_FDCWD, f->file, SEED_BYTES_MAX, &ours, err) < 0)
		return -1;
	if (pool_read(u->pool, f->name, SEED_BYTES_MAX, &theirs, err) < 0) {
		if (err->kind != ERROR_INVALID) /* too long to be it */
			return -1;
		error_clear(err);
		return 0;
	}
	return ours.len == theirs.len && memcmp(str_get(&ours), str_get(&theirs), ours.len) == 0;
}

/* Whether the volume that is there already will do: 1; 0: it was a leftover and is gone; -1. */
static int keep_present(struct upload *u, size_t index, struct error *err)
{
	const struct image_file *f = file_at(u, index);
	int keep = is_committed(u, index, err);

	if (keep != 0)
		return keep;
	if (image_part(f->name) == PART_SEED) {
		keep = is_same_content(u, f, err);
		if (keep != 0)
			return keep;
	}
	return pool_delete(u->pool, f->name, err);
}

static int send(struct upload *u, size_t index, struct error *err)
{
	const struct image_file *f = file_at(u, index);
	_cleanup_close_ int fd = file_open(AT_FDCWD, f->file, err);
	struct pool_upload upload = {
		.name = f->name,
		.fd = fd,
		.progress = u->request->progress,
		.data = u->request->data,
	};

	if (fd < 0)
		return -1;
	if (pool_upload(u->pool, &upload, err) < 0)
		return -1;
	u->made[index] = true;
	u->count++;
	return 0;
}

/* The group that ends here is whole: none of it is undone any more. */
static void seal(struct upload *u, size_t index)
{
	do
		u->sealed[index] = true;
	while (index-- > 0 && image_part(file_at(u, index)->name) != PART_MANIFEST);
}

static int upload_next(void *ctx, struct error *err)
{
	struct upload *u = ctx;
	size_t index = u->next;
	int there = pool_has(u->pool, file_at(u, index)->name, err);

	if (there > 0)
		there = keep_present(u, index, err);
	if (there < 0 || (there == 0 && send(u, index, err) < 0))
		return -1;
	if (image_part(file_at(u, index)->name) == PART_MANIFEST)
		seal(u, index);
	u->next++;
	return 0;
}

static void undo_last(void *ctx)
{
	struct upload *u = ctx;
	struct error ignored = { 0 };
	size_t index = --u->next;

	if (u->made[index] && !u->sealed[index])
		(void)!pool_delete(u->pool, file_at(u, index)->name, &ignored);
}

/* Locks are of UUIDs: one that stands for the first file's name. */
static struct box_lock *lock_group(struct upload *u, struct error *err)
{
	const char *name = file_at(u, 0)->name;
	char hex[DIGEST_HEX], uuid[DOMAIN_UUID_TEXT];

	digest_bytes(name, strlen(name), hex);
	snprintf(uuid, sizeof(uuid), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		hex + 20);
	return lock_take(u->pool, uuid, name, WAIT_MS, err);
}

int image_upload(virStoragePoolPtr pool, const struct image_upload *upload, size_t *ret_count,
	struct error *err)
{
	static const struct step kinds[] = {
		[PART_OTHER] = { "other", "uploading", upload_next, undo_last },
		[PART_BASE] = { "base", "uploading the base layer", upload_next, undo_last },
		[PART_GOLDEN] = { "golden", "uploading the image", upload_next, undo_last },
		[PART_SEED] = { "seed", "uploading the seed", upload_next, undo_last },
		[PART_MANIFEST] = { "manifest", "uploading the manifest", upload_next, undo_last },
	};
	struct upload u = { .pool = pool, .request = upload };
	_cleanup_(lock_release_p) struct box_lock *lock = NULL;
	struct step steps[FILES_MAX];

	if (!upload->count || upload->count > FILES_MAX)
		return error_set(
			err, ERROR_INVALID, "cannot upload %zu files at once", upload->count);
	for (size_t i = 0; i < upload->count; i++) {
		enum image_part part = image_part(upload->files[i].name);

		if (part == PART_OTHER || part > PART_MANIFEST)
			return error_set(err, ERROR_INVALID, "'%s' is no name of an image's volume",
				upload->files[i].name);
		steps[i] = kinds[part];
	}
	lock = lock_group(&u, err);
	if (!lock || check_builds(&u, err) < 0)
		return -1;
	if (steps_run("upload", steps, upload->count, &u, upload->observer, err) < 0)
		return -1;
	if (ret_count)
		*ret_count = u.count;
	return 0;
}

/* ---- reading back ---- */

struct reading {
	struct digest digest;
	uint64_t done, total;
	pool_progress progress;
	void *data;
};

static int take_bytes(virStreamPtr stream, const char *bytes, size_t len, void *opaque)
{
	struct reading *r = opaque;

	(void)stream;
	digest_add(&r->digest, bytes, len);
	r->done += len;
	if (r->progress)
		r->progress(r->done, r->total, r->data);
	return (int)len;
}

static int take_hole(virStreamPtr stream, long long length, void *opaque)
{
	static const char zeros[65536];

	while (length > 0) {
		size_t part = (size_t)MIN(length, (long long)sizeof(zeros));

		(void)take_bytes(stream, zeros, part, opaque);
		length -= (long long)part;
	}
	return 0;
}

int image_digest(virStoragePoolPtr pool, const char *name, pool_progress progress, void *data,
	char hex[DIGEST_HEX], struct error *err)
{
	return image_digest_from(pool, name, 0, progress, data, hex, err);
}

int image_digest_from(virStoragePoolPtr pool, const char *name, uint64_t offset,
	pool_progress progress, void *data, char hex[DIGEST_HEX], struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	_cleanup_(virStreamFree_p) virStreamPtr stream = NULL;
	struct reading r = { .progress = progress, .data = data };
	struct pool_size size;

	if (!volume || pool_volume_size(pool, name, &size, err) < 0)
		return -1;
	r.total = size.allocation;
	digest_init(&r.digest);
	stream = virStreamNew(virStorageVolGetConnect(volume), 0);
	if (!stream ||
		virStorageVolDownload(
			volume, stream, offset, 0, VIR_STORAGE_VOL_DOWNLOAD_SPARSE_STREAM) < 0 ||
		virStreamSparseRecvAll(stream, take_bytes, take_hole, &r) < 0 ||
		virStreamFinish(stream) < 0)
		return error_virt(err, "cannot read the volume '%s'", name);
	digest_hex(&r.digest, hex);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden images as the pool has them: what there is, putting in what a mint made, taking out. What
 * belongs together and what may go is decided by images/inventory.h; this reads, uploads and deletes.
 */
#ifndef VMM_IMAGE_STORE_H
#define VMM_IMAGE_STORE_H

#include "base/steps.h"
#include "images/inventory.h"
#include "vmm/layer-graph.h"
#include "vmm/pool.h"

/* A volume of an image without its manifest that changed less long ago may be somebody's upload. */
#define IMAGE_YOUNG_SECONDS 300

struct image_store {
	struct inventory view; /* the arrays below; what inventory.h's functions take */
	struct layer_graph graph; /* owned: the layers, whose names are lent to volumes */
	struct virt_volumes
		others; /* owned: all volumes; names of those that are no layers are lent */
	struct inventory_volume *volumes; /* owned */
	struct manifest *manifests; /* owned, with what they own */
	size_t unreadable; /* manifests that could not be read: newer, or damaged */
	size_t newer; /* of those; what such an image may be made of is in_use */
};
void image_store_done(struct image_store *store); /* safe on a zeroed one */
#define _cleanup_image_store_ _cleanup_(image_store_done)

/* Read it all: one call a volume, one download a manifest. ret is zeroed. */
int image_store_read(virConnectPtr conn, virStoragePoolPtr pool, struct image_store *ret,
	struct error *err) MUST_CHECK;

/* For inventory_wish.young, with the pool as data: the volume changed a moment ago. */
bool image_is_young(const char *volume, void *pool);

/* A file that a mint made, and the name of the volume that it becomes. */
struct image_file {
	const char *file, *name;
};

/*
 * Upload them in this order: volumes, and after the volumes that it speaks of, a manifest. What is there
 * already is left alone, if it is the same: ERROR_EXISTS when the pool has another build of a volume
 * of that name, ERROR_BUSY when somebody else is uploading one that shares its base. What a killed upload
 * left is replaced.
 * On failure what was uploaded since the last whole manifest is gone again.
 * *ret_count (may be NULL) is how many were uploaded.
 */
struct image_upload {
	const struct image_file *files;
	size_t count;
	const struct steps_observer *observer;
	pool_progress progress; /* bytes of the file that is under way; may be NULL */
	void *data;
};
int image_upload(virStoragePoolPtr pool, const struct image_upload *upload, size_t *ret_count,
	struct error *err) MUST_CHECK;

/* Delete the volumes of a plan, in its order, and see that they are gone. */
int image_delete(virStoragePoolPtr pool, const struct inventory_plan *plan,
	const struct steps_observer *observer, struct error *err) MUST_CHECK;

/* The SHA-256 of a volume's bytes, as the host has them now. */
int image_digest(virStoragePoolPtr pool, const char *name, pool_progress progress, void *data,
	char hex[DIGEST_HEX], struct error *err) MUST_CHECK;

/* The same of what is behind so many bytes. */
int image_digest_from(virStoragePoolPtr pool, const char *name, uint64_t offset,
	pool_progress progress, void *data, char hex[DIGEST_HEX], struct error *err) MUST_CHECK;

#endif

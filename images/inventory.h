/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which volumes of a pool are images, which belong together, and which nobody needs. Pure: the caller
 * lists the pool and reads the manifests.
 *
 * 1. An image exists if and only if its manifest and the volume it speaks of exist.
 * 2. A volume is needed by every volume that has it as its backing, by every domain that has it as a
 *    disk, and a base and a seed by every image that is kept.
 * 3. What is named like an image's and belongs to no image is a leftover of an upload that did not end.
 * 4. A warm image (images/warm-record.h) is the golden image's that its layer stands on: it goes when that goes,
 *    and stays as long as it stays. Without its record it is a leftover of a warming that did not end.
 */
#ifndef IMAGES_INVENTORY_H
#define IMAGES_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "images/manifest.h"

/* A volume of the pool, images' and boxes' alike. Texts are lent. */
struct inventory_volume {
	const char *name;
	const char *backing; /* name of the volume it stands on; NULL: none */
	uint64_t bytes; /* that it takes */
	bool in_use; /* a domain has it as a disk itself: a box's top layer, a seed; or it must stay otherwise */
};

struct inventory {
	const struct inventory_volume *volumes;
	size_t volume_count;
	const struct manifest *manifests; /* of all that could be read */
	size_t manifest_count;
};

/* What sort of volume a name stands for. */
enum image_part {
	PART_OTHER,
	PART_BASE,
	PART_GOLDEN,
	PART_SEED,
	PART_MANIFEST,
	/* of a warm image; not uploaded */
	PART_WARM_LAYER,
	PART_WARM_MEMORY,
	PART_WARM_RECORD,
};
enum image_part image_part(const char *name);

/* The volume of that name; NULL when there is none. */
const struct inventory_volume *inventory_find(const struct inventory *in, const char *name);

/*
 * The complete image of a template: the one of this recipe; NULL when there is none. With recipe NULL
 * the newest there is (by its time of making).
 */
const struct manifest *inventory_image(
	const struct inventory *in, const char *template, const char *recipe);

/*
 * How many volumes stand on this one, directly or on a warm image of it. For a golden image: boxes and clones
 * of its own layer.
 */
size_t inventory_users(const struct inventory *in, const char *volume);

/*
 * The layers of the warm images of a golden one that have their record, one after another: the first one behind
 * after, or behind NULL; NULL when there is no more. And what all volumes of such a one take.
 */
const struct inventory_volume *inventory_warm(
	const struct inventory *in, const char *golden, const struct inventory_volume *after);
uint64_t inventory_warm_bytes(const struct inventory *in, const char *layer);

/*
 * What can go: volumes of images that nothing needs, in an order in which each step leaves only whole
 * images (a manifest before what it speaks of, a warm image before its golden one, what stands before what it
 * stands on). keep lists golden
 * volumes that stay anyway, such as the one of each template's present recipe. Leftovers are in it too,
 * unless young (may be NULL) says that an upload may still be going on.
 */
struct inventory_step {
	const char *volume; /* lent from the inventory */
	uint64_t bytes;
};
VEC_DEFINE(inventory_plan, struct inventory_step);

struct inventory_wish {
	const char *const *keep;
	size_t keep_count;
	bool (*young)(const char *volume, void *data);
	void *data;
};

int inventory_prune(const struct inventory *in, const struct inventory_wish *wish,
	struct inventory_plan *ret, struct error *err) MUST_CHECK;

/*
 * The same for one image (box image rm): its manifest, its golden volume, and its base and seed if no
 * other image needs them. ERROR_BUSY when a box stands on it, with how many.
 */
int inventory_remove(const struct inventory *in, const char *golden, struct inventory_plan *ret,
	struct error *err) MUST_CHECK;

#endif

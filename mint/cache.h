/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache of images on the machine that mints:
 *
 *	images/		finished volumes, under the names they have in the pool, so that a layer's relative
 *			backing file is right in both; base-*.tar, the tree of a base; manifests, which come
 *			last and without which the rest does not count
 *	sources/	downloads, by digest; parts of downloads
 *	work/NAME/	one running mint each, with a lock; one whose lock is free is a leftover, one whose
 *			lock cannot be asked is not touched
 *	locks/		one file a volume: who has its lock mints it, others wait; and one for work/
 *
 * All of it may be deleted when no mint runs.
 */
#ifndef MINT_CACHE_H
#define MINT_CACHE_H

#include "base/error.h"
#include "base/fd.h"

struct cache {
	char *images, *sources, *work, *locks; /* owned; absolute paths of folders that exist */
};

void cache_done(struct cache *c); /* safe on a zeroed one */
#define _cleanup_cache_ _cleanup_(cache_done)

/* Make the folders below root and remove the leftovers of killed mints; what stays in doubt is an event. */
int cache_open(const char *root, struct cache *ret, struct error *err) MUST_CHECK;

/* Remove work folders that nobody holds, and volumes that never got their manifest. */
int cache_sweep(const struct cache *c, struct error *err) MUST_CHECK;

/* A work folder of this process. It goes away with cache_work_done, or is swept when we are killed. */
struct cache_work {
	char *path; /* owned; NULL: none */
	int lock; /* inherited by what the mint starts; -1: none */
	const struct cache *cache; /* lent: it outlives this */
};
#define CACHE_WORK_NONE    \
	{                  \
		.lock = -1 \
	}
int cache_work_open(const struct cache *c, struct cache_work *ret, struct error *err) MUST_CHECK;
void cache_work_done(struct cache_work *w);
#define _cleanup_work_ _cleanup_(cache_work_done)

/*
 * The lock of a volume's name; waits while another mint holds it, after calling wait (may be NULL) once.
 * Returns a descriptor to close, or -1.
 */
int cache_lock(const struct cache *c, const char *volume, void (*wait)(const char *volume),
	struct error *err) MUST_CHECK;

/* "<images>/<name>", given; NULL with err. */
char *cache_image(const struct cache *c, const char *name, struct error *err) MUST_CHECK;

/* Move a finished file of the work folder into images. */
int cache_publish(const struct cache *c, const char *work_path, const char *name,
	struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mint: the layers of a template's image, built in the cache of the person who asks, without libvirt
 * and without any right to the pool. The caller uploads what mint_run lists.
 *
 * A base is a whole tree, unpacked by mmdebstrap and made a file system by mke2fs, both natively; no
 * emulated machine is needed for it. A golden image is a thin layer on it: what the payload's own
 * installation changes in the tree (natively as well), the guest agent, the user, the boot loader, put
 * in by one libguestfs appliance, which proves the seed in the same launch.
 */
#ifndef MINT_MINT_H
#define MINT_MINT_H

#include <stdbool.h>

#include "images/manifest.h"
#include "images/recipe.h"
#include "mint/cache.h"

struct mint {
	const struct cache *cache; /* lent */
	const struct template *template; /* lent */
	struct recipe recipe;
	bool refresh; /* make it anew although it is there */
	const char *
		build; /* lent; with refresh, names what is made anew once for all; NULL: this alone */
	bool offline; /* nothing may be fetched */
	bool compress;
	struct manifest base, golden; /* owned; filled when the layer is there */
	struct cache_work work; /* of the layer that is being made */
	struct str seed; /* owned; the seed's image */
	char *sample; /* owned; the last regular file of the payload, relative; NULL: none */
	uint64_t sample_bytes;
};

void mint_done(struct mint *m);
#define _cleanup_mint_ _cleanup_(mint_done)

/* See that the template's image is in the cache. Says on standard output what it does (mint/event.h). */
int mint_run(struct mint *m, struct error *err) MUST_CHECK;

/* ---- between the files of the mint ---- */

/* The base layer; m->base is filled. */
int mint_base(struct mint *m, struct error *err) MUST_CHECK;

/* The golden layer on it; m->golden is filled. */
int mint_golden(struct mint *m, struct error *err) MUST_CHECK;

/* The newest build of the golden image's recipe into m->golden: 1, 0, -1. */
int mint_golden_find(struct mint *m, struct error *err) MUST_CHECK;

/* A path in the present work folder, given; NULL with err. */
char *mint_work_path(const struct mint *m, const char *name, struct error *err) MUST_CHECK;

/* The manifest of a volume of the cache, if all that it speaks of is there: 1, 0, -1. */
int mint_look_up(const struct mint *m, const char *volume, struct manifest *ret,
	struct error *err) MUST_CHECK;

/*
 * The newest volume of the cache that was made by this recipe: 1, 0, -1. prefix: what its name begins
 * with, "golden-blank-".
 */
int mint_find(const struct mint *m, const char *prefix, const char *recipe, struct manifest *ret,
	struct error *err) MUST_CHECK;

/* Digest a finished volume of the work folder, move it into the cache and write its manifest, last. */
int mint_commit(struct mint *m, const char *work_name, struct manifest *manifest,
	struct error *err) MUST_CHECK;

/* Read the list of Debian packages that a stage wrote, and of npm's from a tree. */
int mint_read_packages(const struct mint *m, struct package_vec *ret, struct error *err) MUST_CHECK;

/*
 * What a layer's tree must not hold, and what it must (mint/contract.c). Adds npm's packages to packages;
 * of a golden layer m->sample is set.
 */
int mint_check_tree(struct mint *m, const char *tar, bool golden, struct package_vec *packages,
	struct error *err) MUST_CHECK;

/* The same scan for credentials of what the template itself gives: our own files, and the seed. */
int mint_check_own(struct mint *m, const char *tar, struct error *err) MUST_CHECK;

#endif

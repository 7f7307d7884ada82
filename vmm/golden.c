/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/golden.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "images/inventory.h"
#include "images/manifest.h"
#include "images/recipe.h"
#include "vmm/pool.h"

static int read_manifest(
	virStoragePoolPtr pool, const char *name, struct manifest *ret, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (pool_read(pool, name, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	return manifest_parse(str_get(&text), text.len, name, ret, err);
}

static void fill(const struct manifest *m, bool outdated, struct golden *ret)
{
	struct new_image *image = &ret->image;

	*ret = (struct golden){ .outdated = outdated };
	snprintf(image->template, sizeof(image->template), "%s", m->template);
	snprintf(image->user, sizeof(image->user), "%s", m->user);
	snprintf(image->volume, sizeof(image->volume), "%s", m->volume);
	snprintf(image->digest, sizeof(image->digest), "%s", m->sha256);
	snprintf(image->agent, sizeof(image->agent), "%s", m->agent);
	snprintf(image->seed, sizeof(image->seed), "%s", m->seed);
}

/* An image whose base is gone. */
struct baseless {
	char volume[VOLUME_NAME_MAX], base[VOLUME_NAME_MAX]; /* "": there is none */
};

/*
 * Manifest, layers and seed are there: 1, 0, -1. A manifest that cannot be read counts as none; one that has all
 * but its base is told of in lost.
 */
static int take_image(virStoragePoolPtr pool, const char *manifest_name, struct manifest *ret,
	struct baseless *lost, struct error *err)
{
	_cleanup_manifest_ struct manifest m = { 0 };
	int there = pool_has(pool, manifest_name, err);

	if (there <= 0)
		return there;
	if (read_manifest(pool, manifest_name, &m, err) < 0) {
		if (err->kind != ERROR_INVALID)
			return -1;
		log_debug("%s", err->text);
		error_clear(err);
		return 0;
	}
	there = pool_has(pool, m.volume, err);
	if (there == 1)
		there = pool_has(pool, m.seed, err);
	if (there <= 0)
		return there;
	there = pool_has(pool, m.backing, err);
	if (there == 0) {
		snprintf(lost->volume, sizeof(lost->volume), "%s", m.volume);
		snprintf(lost->base, sizeof(lost->base), "%s", m.backing);
	}
	if (there == 1) {
		*ret = m;
		m = (struct manifest){ 0 };
	}
	return there;
}

/* The digest of the template's present recipe; "" when the files of a mint are not here to say it. */
static int present_recipe(const struct template *template, char ret[DIGEST_HEX], struct error *err)
{
	struct recipe recipe;

	*ret = '\0';
	if (recipe_of(template, &recipe, err) == 0) {
		snprintf(ret, DIGEST_HEX, "%s", recipe.golden);
		return 0;
	}
	if (err->kind != ERROR_NOT_FOUND)
		return -1;
	log_debug("%s", err->text);
	error_clear(err);
	return 0;
}

/* "golden-<template>-<16 hex>.json": a template's name may be the beginning of another's. */
static bool is_manifest_of(const char *name, const char *template)
{
	size_t len = strlen(template);

	return str_starts(name, "golden-") && strncmp(name + 7, template, len) == 0 &&
	       name[7 + len] == '-' && strspn(name + 8 + len, "0123456789abcdef") == 16 &&
	       str_equal(name + 8 + len + 16, ".json");
}

/* Of the present recipe rather than not, then newer rather than older. RFC 3339 in UTC sorts as text. */
static bool is_better(const struct manifest *m, const struct manifest *best, const char *recipe)
{
	bool present = str_equal(m->recipe, recipe), best_present = str_equal(best->recipe, recipe);

	if (present != best_present)
		return present;
	return strcmp(m->created, best->created) > 0;
}

/* The best of those that are there: 1, 0, -1. */
static int find_best(virStoragePoolPtr pool, const struct template *template, const char *recipe,
	struct manifest *ret, struct baseless *lost, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	int any = 0;

	if (pool_list(pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);
		_cleanup_manifest_ struct manifest m = { 0 };
		int found;

		if (!is_manifest_of(name, template->name))
			continue;
		found = take_image(pool, name, &m, lost, err);
		if (found < 0)
			return -1;
		if (found == 0 || (any && !is_better(&m, ret, recipe)))
			continue;
		manifest_done(ret);
		*ret = m;
		m = (struct manifest){ 0 };
		any = 1;
	}
	return any;
}

int golden_find(virStoragePoolPtr pool, const struct template *template, struct golden *ret,
	struct error *err)
{
	_cleanup_manifest_ struct manifest best = { 0 };
	struct baseless lost = { 0 };
	char recipe[DIGEST_HEX];
	int found;

	if (present_recipe(template, recipe, err) < 0)
		return -1;
	found = find_best(pool, template, recipe, &best, &lost, err);
	if (found < 0)
		return -1;
	if (found == 0 && *lost.volume)
		return error_set(err, ERROR_NOT_FOUND,
			"the image '%s' cannot be used: its base '%s' is gone from the storage pool; make it anew: box image mint --refresh %s",
			lost.volume, lost.base, template->name);
	if (found == 0)
		return error_set(err, ERROR_NOT_FOUND,
			"the storage pool has no image of template '%s'; mint it: box image mint %s",
			template->name, template->name);
	fill(&best, !str_equal(best.recipe, recipe), ret);
	return 0;
}

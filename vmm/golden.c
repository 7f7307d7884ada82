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

/* Manifest, layer and seed are there: 1, 0, -1. A manifest that cannot be read counts as none. */
static int take_image(
	virStoragePoolPtr pool, const char *manifest_name, struct manifest *ret, struct error *err)
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
	if (there == 1) {
		*ret = m;
		m = (struct manifest){ 0 };
	}
	return there;
}

/* The image of the present recipe: 1, 0, -1. */
static int find_present(virStoragePoolPtr pool, const struct template *template, struct golden *ret,
	struct error *err)
{
	_cleanup_manifest_ struct manifest m = { 0 };
	char name[VOLUME_NAME_MAX];
	struct recipe recipe;
	int found;

	if (recipe_of(template, &recipe, err) < 0) {
		/* without the files of a mint there is no saying what is present: any image will do */
		if (err->kind != ERROR_NOT_FOUND)
			return -1;
		log_debug("%s", err->text);
		error_clear(err);
		return 0;
	}
	recipe_manifest_name(recipe.golden_volume, name);
	found = take_image(pool, name, &m, err);
	if (found == 1)
		fill(&m, false, ret);
	return found;
}

/* "golden-<template>-<16 hex>.json": a template's name may be the beginning of another's. */
static bool is_manifest_of(const char *name, const char *template)
{
	size_t len = strlen(template);

	return str_starts(name, "golden-") && strncmp(name + 7, template, len) == 0 &&
	       name[7 + len] == '-' && strspn(name + 8 + len, "0123456789abcdef") == 16 &&
	       str_equal(name + 8 + len + 16, ".json");
}

/* The newest of those that are there: 1, 0, -1. */
static int find_newest(virStoragePoolPtr pool, const struct template *template, struct golden *ret,
	struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	char newest[32] = "";

	if (pool_list(pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);
		_cleanup_manifest_ struct manifest m = { 0 };
		int found;

		if (!is_manifest_of(name, template->name))
			continue;
		found = take_image(pool, name, &m, err);
		if (found < 0)
			return -1;
		/* times of RFC 3339 in UTC sort as text */
		if (found == 1 && strcmp(m.created, newest) > 0) {
			snprintf(newest, sizeof(newest), "%s", m.created);
			fill(&m, true, ret);
		}
	}
	return *newest ? 1 : 0;
}

int golden_find(virStoragePoolPtr pool, const struct template *template, struct golden *ret,
	struct error *err)
{
	struct golden golden = { 0 };
	int found = find_present(pool, template, &golden, err);

	if (found == 0)
		found = find_newest(pool, template, &golden, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return error_set(err, ERROR_NOT_FOUND,
			"the storage pool has no image of template '%s'; mint it: box image mint %s",
			template->name, template->name);
	*ret = golden;
	return 0;
}

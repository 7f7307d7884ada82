/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: removal works on a set of marks, one a volume. First everything is marked that is an image's and
 * is not needed from outside; then marks are taken back until nothing changes: a marked volume that an
 * unmarked one stands on, or that an image which stays speaks of, is not removable. What is left is
 * listed by rank: warm images, manifests, golden layers, seeds, bases.
 */
#include "images/inventory.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), tail = strlen(end);

	return len > tail && str_equal(text + len - tail, end);
}

/* "...-<so many hex digits>.<ending>", as all names are that a mint gives: what else there is is somebody's own. */
static bool ends_in_digits(const char *name, size_t digits)
{
	const char *dot = strrchr(name, '.');
	size_t len = dot ? (size_t)(dot - name) : 0;

	return len > digits + 1 && dot[-(ptrdiff_t)digits - 1] == '-' &&
	       strspn(dot - digits, "0123456789abcdef") == digits;
}

static enum image_part warm_part(const char *name)
{
	if (ends_with(name, ".qcow2"))
		return PART_WARM_LAYER;
	if (ends_with(name, ".mem"))
		return PART_WARM_MEMORY;
	return ends_with(name, ".json") ? PART_WARM_RECORD : PART_OTHER;
}

enum image_part image_part(const char *name)
{
	bool base = str_starts(name, "base-"), golden = str_starts(name, "golden-");

	if ((base || golden || str_starts(name, "seed-")) && !ends_in_digits(name, 16))
		return PART_OTHER;
	if ((base || golden) && ends_with(name, ".json"))
		return PART_MANIFEST;
	if ((base || golden) && ends_with(name, ".qcow2"))
		return base ? PART_BASE : PART_GOLDEN;
	if (str_starts(name, "warm-"))
		return ends_in_digits(name, 8) ? warm_part(name) : PART_OTHER;
	/* "seed-box-<uuid>.iso" is a box's own */
	if (str_starts(name, "seed-") && !str_starts(name, "seed-box-") && ends_with(name, ".iso"))
		return PART_SEED;
	return PART_OTHER;
}

const struct inventory_volume *inventory_find(const struct inventory *in, const char *name)
{
	for (size_t i = 0; name && i < in->volume_count; i++)
		if (str_equal(in->volumes[i].name, name))
			return &in->volumes[i];
	return NULL;
}

static const struct manifest *find_manifest(const struct inventory *in, const char *volume)
{
	for (size_t i = 0; i < in->manifest_count; i++)
		if (str_equal(in->manifests[i].volume, volume))
			return &in->manifests[i];
	return NULL;
}

/* All that a golden image consists of is there. */
static bool image_is_whole(const struct inventory *in, const struct manifest *m)
{
	char name[VOLUME_NAME_MAX];

	recipe_manifest_name(m->volume, name);
	return m->kind == MANIFEST_GOLDEN && inventory_find(in, name) &&
	       inventory_find(in, m->volume) && inventory_find(in, m->backing) &&
	       inventory_find(in, m->seed);
}

const struct manifest *inventory_image(
	const struct inventory *in, const char *template, const char *recipe)
{
	const struct manifest *best = NULL;

	for (size_t i = 0; i < in->manifest_count; i++) {
		const struct manifest *m = &in->manifests[i];

		if (!image_is_whole(in, m) || !str_equal(m->template, template) ||
			(recipe && !str_equal(m->recipe, recipe)))
			continue;
		if (!best || strcmp(m->created, best->created) > 0)
			best = m;
	}
	return best;
}

static bool stands_on(const struct inventory_volume *v, const char *name)
{
	return v->backing && str_equal(v->backing, name);
}

size_t inventory_users(const struct inventory *in, const char *volume)
{
	size_t users = 0;

	for (size_t i = 0; i < in->volume_count; i++) {
		const struct inventory_volume *v = &in->volumes[i];

		if (!stands_on(v, volume))
			continue;
		if (image_part(v->name) == PART_WARM_LAYER)
			users += inventory_users(in, v->name) + v->in_use;
		else
			users++;
	}
	return users;
}

/* The names of a warm image's volumes differ in their ends alone. */
static bool same_warm(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	return image_part(a) >= PART_WARM_LAYER && image_part(b) >= PART_WARM_LAYER &&
	       len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

static const struct inventory_volume *find_warm(
	const struct inventory *in, const char *name, enum image_part part)
{
	for (size_t i = 0; i < in->volume_count; i++)
		if (image_part(in->volumes[i].name) == part && same_warm(in->volumes[i].name, name))
			return &in->volumes[i];
	return NULL;
}

const struct inventory_volume *inventory_warm(
	const struct inventory *in, const char *golden, const struct inventory_volume *after)
{
	for (size_t i = after ? (size_t)(after - in->volumes) + 1 : 0; i < in->volume_count; i++) {
		const struct inventory_volume *v = &in->volumes[i];

		if (image_part(v->name) == PART_WARM_LAYER && stands_on(v, golden) &&
			find_warm(in, v->name, PART_WARM_RECORD))
			return v;
	}
	return NULL;
}

uint64_t inventory_warm_bytes(const struct inventory *in, const char *layer)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < in->volume_count; i++)
		if (same_warm(in->volumes[i].name, layer))
			bytes += in->volumes[i].bytes;
	return bytes;
}

/* ---- removal ---- */

static size_t index_of(const struct inventory *in, const char *name)
{
	const struct inventory_volume *v = inventory_find(in, name);

	return v ? (size_t)(v - in->volumes) : in->volume_count;
}

/* Take back the mark of a volume. True when that changed something. */
static bool unmark(const struct inventory *in, bool *marks, const char *name)
{
	size_t i = index_of(in, name);

	if (i == in->volume_count || !marks[i])
		return false;
	marks[i] = false;
	return true;
}

/* What an image that stays is made of stays. */
static bool keep_parts(const struct inventory *in, bool *marks, const struct manifest *m)
{
	char name[VOLUME_NAME_MAX];
	bool changed;

	recipe_manifest_name(m->volume, name);
	changed = unmark(in, marks, name);
	if (m->kind == MANIFEST_GOLDEN) {
		changed |= unmark(in, marks, m->backing);
		changed |= unmark(in, marks, m->seed);
	}
	return changed;
}

/* A whole warm image stays with the golden image that it is of, and all of it when one part stays. */
static bool keep_warm(const struct inventory *in, bool *marks, const struct inventory_volume *kept)
{
	bool changed = false;

	for (size_t i = 0; i < in->volume_count; i++) {
		const struct inventory_volume *v = &in->volumes[i];

		if (same_warm(v->name, kept->name) ||
			(image_part(v->name) == PART_WARM_LAYER && stands_on(v, kept->name) &&
				find_warm(in, v->name, PART_WARM_RECORD)))
			changed |= unmark(in, marks, v->name);
	}
	return changed;
}

static void settle(const struct inventory *in, bool *marks)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < in->volume_count; i++) {
			const struct manifest *m = find_manifest(in, in->volumes[i].name);

			if (marks[i])
				continue;
			if (in->volumes[i].backing)
				changed |= unmark(in, marks, in->volumes[i].backing);
			changed |= keep_warm(in, marks, &in->volumes[i]);
			if (m)
				changed |= keep_parts(in, marks, m);
		}
	}
}

static int list_marked(const struct inventory *in, const bool *marks, struct inventory_plan *ret,
	struct error *err)
{
	static const enum image_part order[] = { PART_WARM_RECORD, PART_WARM_MEMORY,
		PART_WARM_LAYER, PART_MANIFEST, PART_GOLDEN, PART_SEED, PART_BASE };
	struct inventory_plan plan = VEC_INIT;

	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		for (size_t i = 0; i < in->volume_count; i++) {
			struct inventory_step step = { in->volumes[i].name, in->volumes[i].bytes };

			if (!marks[i] || image_part(step.volume) != order[k])
				continue;
			if (inventory_plan_push(&plan, step, err) < 0) {
				inventory_plan_done(&plan);
				return -1;
			}
		}
	*ret = plan;
	return 0;
}

/* Of a leftover the manifest that would commit it is missing. */
static bool is_leftover(const struct inventory *in, const char *name)
{
	enum image_part part = image_part(name);
	char manifest[VOLUME_NAME_MAX];

	if (part == PART_MANIFEST)
		return false;
	/* the record of one whose layer is gone is of no use */
	if (part >= PART_WARM_LAYER)
		return !find_warm(in, name, PART_WARM_RECORD) ||
		       !find_warm(in, name, PART_WARM_LAYER);
	for (size_t i = 0; part == PART_SEED && i < in->manifest_count; i++)
		if (str_equal(in->manifests[i].seed, name))
			return false;
	if (part == PART_SEED)
		return true;
	recipe_manifest_name(name, manifest);
	return !inventory_find(in, manifest);
}

static bool may_go(const struct inventory *in, const struct inventory_volume *v,
	const struct inventory_wish *wish)
{
	if (image_part(v->name) == PART_OTHER || v->in_use)
		return false;
	for (size_t k = 0; k < wish->keep_count; k++)
		if (str_equal(wish->keep[k], v->name))
			return false;
	return !wish->young || !is_leftover(in, v->name) || !wish->young(v->name, wish->data);
}

int inventory_prune(const struct inventory *in, const struct inventory_wish *wish,
	struct inventory_plan *ret, struct error *err)
{
	_cleanup_free_ bool *marks = calloc(in->volume_count + 1, sizeof(*marks));

	if (!marks)
		return error_oom(err);
	for (size_t i = 0; i < in->volume_count; i++)
		marks[i] = may_go(in, &in->volumes[i], wish);
	settle(in, marks);
	return list_marked(in, marks, ret, err);
}

int inventory_remove(const struct inventory *in, const char *golden, struct inventory_plan *ret,
	struct error *err)
{
	_cleanup_free_ bool *marks = calloc(in->volume_count + 1, sizeof(*marks));
	const struct manifest *m = find_manifest(in, golden);
	size_t users = inventory_users(in, golden);
	char name[VOLUME_NAME_MAX];
	const char *parts[4] = { golden };

	if (!marks)
		return error_oom(err);
	if (!inventory_find(in, golden) || image_part(golden) != PART_GOLDEN)
		return error_set(
			err, ERROR_NOT_FOUND, "no such image: '%s'; see 'box image list'", golden);
	if (users || inventory_find(in, golden)->in_use)
		return error_set(err, ERROR_BUSY,
			"image '%s' is in use: %zu box layers stand on it; remove those boxes first",
			golden, users);
	recipe_manifest_name(golden, name);
	parts[1] = name;
	parts[2] = m ? m->seed : NULL;
	parts[3] = m ? m->backing : inventory_find(in, golden)->backing;
	for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
		size_t i = index_of(in, parts[k]);

		if (i < in->volume_count && !in->volumes[i].in_use)
			marks[i] = true;
	}
	for (size_t i = 0; i < in->volume_count; i++) {
		const struct inventory_volume *v = &in->volumes[i];

		for (size_t k = 0; k < in->volume_count; k++)
			if (image_part(v->name) == PART_WARM_LAYER && stands_on(v, golden) &&
				same_warm(in->volumes[k].name, v->name))
				marks[k] = true;
	}
	recipe_manifest_name(parts[3] ? parts[3] : "", name);
	if (index_of(in, name) < in->volume_count)
		marks[index_of(in, name)] = true;
	settle(in, marks);
	return list_marked(in, marks, ret, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/live.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_TRIES = 100 };

/* ---- names ---- */

static bool is_own(const struct box *box, const char *name)
{
	return str_starts(name, "live-") &&
	       strncmp(name + 5, box->uuid, DOMAIN_UUID_TEXT - 1) == 0 &&
	       name[5 + DOMAIN_UUID_TEXT - 1] == '-';
}

/* "live-x-1.mem" gives "live-x-1.json". */
static int record_name(const char *memory, char name[VOLUME_NAME_MAX], struct error *err)
{
	size_t len = strlen(memory);

	if (len < 5 || len + 2 > VOLUME_NAME_MAX || !str_equal(memory + len - 4, ".mem"))
		return error_set(err, ERROR_INVALID, "'%s' names no memory image", memory);
	(void)snprintf(name, VOLUME_NAME_MAX, "%.*s.json", (int)len - 4, memory);
	return 0;
}

/* Never one that was used before: a label may go on naming an older one. */
int live_prepare(struct box_hold *hold, char memory[META_VOLUME_MAX], struct error *err)
{
	long long number = (long long)time(NULL);

	if (live_sweep(hold, false, err) < 0)
		return -1;
	for (int i = 0; i < NAME_TRIES; i++) {
		char name[META_VOLUME_MAX];
		int there;

		(void)snprintf(name, sizeof(name), "live-%s-%lld.mem", hold->box.uuid, number + i);
		there = pool_has(hold->pool, name, err);
		if (there > 0)
			continue;
		if (there < 0 || pool_create_raw(hold->pool, name, 0, err) < 0)
			return -1;
		(void)snprintf(memory, META_VOLUME_MAX, "%s", name);
		return 0;
	}
	return error_set(err, ERROR_EXISTS, "there is no name left for a memory image of '%s'",
		hold->box.name);
}

/* ---- what it fits ---- */

struct likeness {
	struct new_image image;
	struct warm_fit fit;
};

/* The machine that the box is. */
static int likeness(struct box_hold *hold, struct likeness *ret, struct error *err)
{
	const struct box_meta *meta = &hold->box.meta;
	struct box_hardware hw = { 0 };
	const char *slash;

	if (box_hardware(&hold->box, &hw, err) < 0)
		return -1;
	slash = strrchr(hw.seed, '/');
	(void)snprintf(ret->image.volume, sizeof(ret->image.volume), "%s", meta->image);
	(void)snprintf(ret->image.digest, sizeof(ret->image.digest), "%s", meta->digest);
	(void)snprintf(ret->image.seed, sizeof(ret->image.seed), "%.127s", slash ? slash + 1 : "");
	ret->fit = (struct warm_fit){
		.image = &ret->image, .cpus = hw.cpus, .memory = hw.memory, .tcg = hw.tcg
	};
	return 0;
}

/* ---- the record ---- */

int live_record(struct box_hold *hold, const char *memory, const char *layer, const char *tool,
	struct error *err)
{
	_cleanup_warm_record_ struct warm_record r = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct memory_image image = { 0 };
	struct likeness like = { 0 };
	char name[VOLUME_NAME_MAX];
	struct pool_size size;

	if (record_name(memory, name, err) < 0 || likeness(hold, &like, err) < 0 ||
		warm_key(hold->conn, &like.fit, r.key, err) < 0 ||
		pool_volume_size(hold->pool, layer, &size, err) < 0 ||
		memory_image_describe(hold->pool, memory, &image, &r.cookie, err) < 0)
		return -1;
	(void)snprintf(r.image, sizeof(r.image), "%s", like.image.volume);
	(void)snprintf(r.uuid, sizeof(r.uuid), "%s", hold->box.uuid);
	(void)snprintf(r.tool, sizeof(r.tool), "%s", tool);
	(void)meta_time_format((int64_t)time(NULL), r.created);
	r.cpus = like.fit.cpus;
	r.memory = like.fit.memory;
	r.disk = size.capacity;
	r.bytes = image.bytes;
	r.data_len = image.data_len;
	r.compressed = image.compressed;
	if (warm_record_render(&r, &text, err) < 0)
		return -1;
	return pool_write(hold->pool, name, text.data, text.len, err);
}

static int read_record(struct box_hold *hold, struct warm *warm, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct likeness like = { 0 };
	char key[DIGEST_HEX];

	if (pool_read(hold->pool, warm->names.record, WARM_RECORD_MAX, &text, err) < 0 ||
		warm_record_parse(
			str_get(&text), text.len, warm->names.record, &warm->record, err) < 0 ||
		likeness(hold, &like, err) < 0 || warm_key(hold->conn, &like.fit, key, err) < 0)
		return -1;
	if (!str_equal(key, warm->record.key))
		return error_set(err, ERROR_INVALID,
			"libvirt, QEMU, CPU or the box are not what they were when it was taken");
	return 0;
}

int live_open(struct box_hold *hold, const char *label, struct warm *ret, struct error *err)
{
	const struct meta_snapshot *s = meta_snapshot_find(&hold->box.meta, label);
	_cleanup_warm_ struct warm warm = { 0 };
	struct memory_image memory;

	if (!s || !*s->memory)
		return 0;
	(void)snprintf(warm.names.layer, sizeof(warm.names.layer), "%s", s->layer);
	(void)snprintf(warm.names.memory, sizeof(warm.names.memory), "%s", s->memory);
	if (record_name(s->memory, warm.names.record, err) < 0 || read_record(hold, &warm, err) < 0)
		goto invalid;
	memory = warm_memory(&warm);
	if (memory_image_check(hold->pool, &memory, err) < 0)
		goto invalid;
	*ret = warm;
	warm = (struct warm){ 0 };
	return 1;
invalid:
	if (err->kind == ERROR_NOT_FOUND)
		err->kind = ERROR_INVALID;
	return -1;
}

/* ---- deleting ---- */

int live_delete(struct box_hold *hold, const char *memory, struct error *err)
{
	char record[VOLUME_NAME_MAX];

	if (!is_own(&hold->box, memory))
		return error_set(err, ERROR_INVALID, "'%s' is no memory image of box '%s'", memory,
			hold->box.name);
	if (record_name(memory, record, err) < 0 || pool_delete(hold->pool, record, err) < 0)
		return -1;
	return pool_delete(hold->pool, memory, err);
}

static bool is_named(const struct box *box, const char *name)
{
	size_t len = strcspn(name, ".");

	vec_foreach(struct meta_snapshot, s, &box->meta.snapshots) {
		if (strncmp(s->memory, name, len) == 0 && s->memory[len] == '.')
			return true;
	}
	return false;
}

int live_sweep(struct box_hold *hold, bool all, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };

	if (pool_list(hold->pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);

		if (is_own(&hold->box, name) && (all || !is_named(&hold->box, name)) &&
			pool_delete(hold->pool, name, err) < 0)
			return -1;
	}
	return 0;
}

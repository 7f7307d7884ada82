/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/drill-record.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "images/digest.h"
#include "vmm/metadata.h"

void drill_record_name(const struct drill_last *last, char name[POOL_NAME_MAX])
{
	(void)snprintf(name, POOL_NAME_MAX, "drill-%jd-%u-%u-%u-%.8s.json", (intmax_t)last->when,
		last->holds, last->broken, last->unknown, last->box);
}

bool drill_record_parse(const char *name, struct drill_last *ret)
{
	struct drill_last last = { 0 };
	char again[POOL_NAME_MAX];
	intmax_t when;

	if (sscanf(name, "drill-%12jd-%5u-%5u-%5u-%8[0-9a-f].json", &when, &last.holds,
		    &last.broken, &last.unknown, last.box) != 5 ||
		when <= 0)
		return false;
	last.when = when;
	drill_record_name(&last, again); /* nothing before, between or behind */
	if (!str_equal(name, again))
		return false;
	*ret = last;
	return true;
}

void drill_last_format(const struct drill_last *last, struct str *into)
{
	char when[META_TIME_MAX];

	str_printf(into, "%s: %u hold, %u broken, %u unknown", meta_time_format(last->when, when),
		last->holds, last->broken, last->unknown);
}

/* ---- the pool ---- */

/* Call each for every record; stops when it fails. */
static int each_record(virStoragePoolPtr pool,
	int (*each)(const char *name, const struct drill_last *last, void *data, struct error *err),
	void *data, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };

	if (pool_list(pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);
		struct drill_last last;

		if (name && drill_record_parse(name, &last) && each(name, &last, data, err) < 0)
			return -1;
	}
	return 0;
}

struct newest {
	const char *uuid;
	struct drill_last last;
};

static int find_newest(
	const char *name, const struct drill_last *last, void *data, struct error *err)
{
	struct newest *n = data;

	(void)name;
	(void)err;
	if ((!n->uuid || strncmp(n->uuid, last->box, 8) == 0) && last->when > n->last.when)
		n->last = *last;
	return 0;
}

int drill_record_last(
	virStoragePoolPtr pool, const char *uuid, struct drill_last *ret, struct error *err)
{
	struct newest newest = { .uuid = uuid };

	if (each_record(pool, find_newest, &newest, err) < 0)
		return -1;
	*ret = newest.last;
	return 0;
}

struct outdated {
	virStoragePoolPtr pool;
	const struct drill_last *by;
};

/* One record a box is kept, and one of the drills with throw-away boxes: the newest of each. */
static int remove_outdated(
	const char *name, const struct drill_last *last, void *data, struct error *err)
{
	struct outdated *o = data;

	if (last->when >= o->by->when || !str_equal(last->box, o->by->box))
		return 0;
	return pool_delete(o->pool, name, err);
}

/* ---- writing ---- */

static int sign_off(json_t *document, int64_t when, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	json_t *signed_off = json_object();
	const struct passwd *pw = getpwuid(getuid());
	char hex[DIGEST_HEX], time_text[META_TIME_MAX];

	if (json_render(document, true, &text, err) < 0) {
		json_decref(signed_off);
		return -1;
	}
	digest_bytes(str_get(&text), text.len, hex);
	if (json_set_new(document, "signed_off", signed_off, err) < 0 ||
		json_set_text(signed_off, "by", pw ? pw->pw_name : "unknown", err) < 0 ||
		json_set_text(signed_off, "at", meta_time_format(when, time_text), err) < 0 ||
		json_set_text(signed_off, "sha256", hex, err) < 0)
		return -1;
	return 0;
}

static int remember(virConnectPtr conn, const struct drill_last *last, const struct str *text,
	struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = pool_open(conn, err);
	struct outdated outdated = { .by = last };
	char name[POOL_NAME_MAX];

	if (!pool)
		return -1;
	drill_record_name(last, name);
	if (pool_write(pool, name, str_get(text), text->len, err) < 0)
		return error_wrap(err, "the report cannot be kept in the pool");
	outdated.pool = pool;
	return each_record(pool, remove_outdated, &outdated, err);
}

int drill_record_write(
	virConnectPtr conn, const char *path, json_t *document, const char *uuid, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct drill_last last = { .when = (int64_t)time(NULL) };
	uint64_t holds = 0, broken = 0, unknown = 0;

	if (json_get_u64(document, "holds", &holds, err) < 0 ||
		json_get_u64(document, "broken", &broken, err) < 0 ||
		json_get_u64(document, "unknown", &unknown, err) < 0 ||
		sign_off(document, last.when, err) < 0 ||
		json_render(document, false, &text, err) < 0)
		return -1;
	last.holds = (unsigned)holds;
	last.broken = (unsigned)broken;
	last.unknown = (unsigned)unknown;
	memcpy(last.box, uuid, 8);
	if (file_replace(AT_FDCWD, path, str_get(&text), text.len, 0644, err) < 0)
		return error_wrap(err, "the report cannot be written");
	return remember(conn, &last, &text, err);
}

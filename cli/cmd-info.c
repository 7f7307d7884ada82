/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box info: all about one box. Each section is a function for people and one for --json. */
#include <inttypes.h>

#include "base/parse.h"
#include "cli/box-text.h"
#include "cli/output.h"
#include "vmm/drill-record.h"
#include "vmm/golden.h"
#include "vmm/info.h"
#include "vmm/pool.h"

static const char *const identities[] = {
	[META_IDENTITY_NONE] = NULL,
	[META_IDENTITY_PENDING] = "pending: the guest has not taken its new identity",
	[META_IDENTITY_VERIFIED] = "its own, verified",
};

/* When something was made; otherwise when its metadata does not tell, as a newer version's may not. */
static const char *time_text(int64_t when, char buf[META_TIME_MAX], const char *otherwise)
{
	return when ? meta_time_format(when, buf) : otherwise;
}

/* "" when it is not known: of a newer schema only what was understood is. */
static const char *origin(const struct box_meta *m)
{
	if (m->clone)
		return "clone";
	return m->schema > META_SCHEMA ? "" : "mint";
}

/* ---- for people ---- */

static void row(struct str *out, const char *label, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void row(struct str *out, const char *label, const char *fmt, ...)
{
	va_list ap;

	str_printf(out, "%-11s ", label);
	va_start(ap, fmt);
	str_vprintf(out, fmt, ap);
	va_end(ap);
	str_append_char(out, '\n');
}

static const char *isolation_text(const struct box_info *info)
{
	if (info->hardware.tcg)
		return info->hardware.confined ? "on the stack; but EMULATED: no security boundary"
					       : "UNCONFINED, and emulated";
	return info->hardware.confined ? "on the stack"
				       : "UNCONFINED: it was moved off the isolation stack";
}

static void show_state(struct str *out, const struct box *box, const struct box_info *info)
{
	char address[16], memory[32], disk[32], own[32];

	row(out, "NAME", "%s", box->name);
	row(out, "STATE", "%s", box_state_name(info->state));
	if (*box->meta.operation.name)
		row(out, "BUSY", "%s, since it was begun by %s", box->meta.operation.name,
			box->meta.operation.holder);
	row(out, "TEMPLATE", "%s", box->meta.template);
	row(out, "USER", "%s", box->meta.user);
	row(out, "CPU", "%u", info->hardware.cpus);
	row(out, "MEMORY", "%s", format_size(info->hardware.memory, memory, sizeof(memory)));
	row(out, "DISK", "%s, %s of it its own (depth %u)",
		format_size(info->disk, disk, sizeof(disk)),
		format_size(info->own_bytes, own, sizeof(own)), info->depth);
	row(out, "IPV4", "%s%s", box_address_text(box->meta.address, address),
		info->address_reserved ? "" : " (NOT RESERVED)");
	row(out, "ISOLATION", "%s", isolation_text(info));
}

static void show_doors(struct str *out, const struct box *box)
{
	vec_foreach(struct meta_door, d, &box->meta.doors) {
		row(out, "EXPOSED", "127.0.0.1:%u -> port %u", (unsigned)d->host,
			(unsigned)d->port);
	}
}

/* Another image that a new box of the template would stand on: 1 and its volume, or 0. */
static int newer_image(const struct box *box, virConnectPtr conn, struct golden *ret)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_template_ struct template template = { 0 };
	struct error ignored = { 0 };

	/* its template may be another machine's, its image long gone: then nothing can be said */
	if (template_load(box->meta.template, &template, &ignored) < 0)
		return 0;
	pool = pool_open(conn, &ignored);
	if (!pool || golden_find(pool, &template, ret, &ignored) < 0)
		return 0;
	return !str_equal(ret->image.volume, box->meta.image);
}

static void show_image(struct str *out, const struct box *box, virConnectPtr conn)
{
	struct golden newer;

	row(out, "IMAGE", "%s", box->meta.image);
	if (!newer_image(box, conn, &newer))
		return;
	row(out, "", "a new box of '%s' would stand on %s", box->meta.template, newer.image.volume);
	row(out, "",
		"this one keeps its own; to move on: box new --template %s NAME, then take your",
		box->meta.template);
	row(out, "", "work along (git push, box cp) and log in there");
}

static void show_provenance(struct str *out, const struct box *box, virConnectPtr conn)
{
	char created[META_TIME_MAX];
	const struct box_meta *m = &box->meta;

	if (m->schema > META_SCHEMA)
		row(out, "NEWER",
			"a newer version of box made it: update box to see and change all of it");
	row(out, "CREATED", "%s", time_text(m->created, created, "unknown"));
	row(out, "ORIGIN", "%s%s%s", *origin(m) ? origin(m) : "unknown", m->clone ? " of " : "",
		m->clone ? m->source : "");
	show_image(out, box, conn);
	if (*m->digest)
		row(out, "DIGEST", "%s", m->digest);
	if (*m->agent)
		row(out, "AGENT", "%s", m->agent);
	if (identities[m->identity])
		row(out, "IDENTITY", "%s", identities[m->identity]);
	row(out, "UUID", "%s", box->uuid);
}

static void show_snapshots(struct str *out, const struct box *box, const struct box_info *info)
{
	char when[META_TIME_MAX], size[32];

	str_append_char(out, '\n');
	if (box->meta.snapshots.len == 0) {
		str_printf(out, "SNAPSHOTS  (none); take one: box snapshot %s\n", box->name);
		return;
	}
	str_append(out, "SNAPSHOTS\n");
	for (size_t i = 0; i < box->meta.snapshots.len; i++) {
		const struct meta_snapshot *s = &box->meta.snapshots.items[i];
		const struct info_snapshot *more = &info->snapshots.items[i];

		str_printf(out, "  %-20s %s  %s%s%s\n", s->label,
			time_text(s->created, when, "unknown"),
			format_size(more->bytes, size, sizeof(size)),
			*s->memory    ? "  live"
			: s->quiesced ? ""
				      : "  not quiesced",
			more->present ? "" : "  LOST");
		str_printf(out, "    --from %s/%s\n", box->name, s->label);
	}
}

/* What the last recorded drill of this box said, or else of throw-away boxes on its host. */
static void show_drill(struct str *out, const struct box *box, virConnectPtr conn)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	struct drill_last last = { 0 };

	pool = pool_open(conn, &ignored);
	if (!pool || drill_record_last(pool, box->uuid, &last, &ignored) < 0)
		return;
	if (last.when) {
		drill_last_format(&last, &text);
		row(out, "DRILL", "%s", str_get(&text));
	} else if (drill_record_last(pool, DRILL_THROW_AWAY, &last, &ignored) == 0 && last.when) {
		drill_last_format(&last, &text);
		row(out, "DRILL", "%s (of this host, not of this box)", str_get(&text));
	}
}

static int show_text(
	const struct box *box, const struct box_info *info, virConnectPtr conn, struct error *err)
{
	_cleanup_str_ struct str out = STR_INIT;

	show_state(&out, box, info);
	show_doors(&out, box);
	show_provenance(&out, box, conn);
	show_drill(&out, box, conn);
	show_snapshots(&out, box, info);
	return output_str(&out, err);
}

/* ---- --json ---- */

struct text_member {
	const char *key;
	const char *value;
};

static int set_texts(json_t *o, const struct text_member *members, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (json_set_text(o, members[i].key, members[i].value, err) < 0)
			return -1;
	return 0;
}

static int json_state(
	json_t *o, const struct box *box, const struct box_info *info, struct error *err)
{
	char address[16], created[META_TIME_MAX];
	const struct box_meta *m = &box->meta;
	const struct text_member texts[] = {
		{ "name", box->name },
		{ "uuid", box->uuid },
		{ "state", box_state_name(info->state) },
		{ "operation", m->operation.name },
		{ "template", m->template },
		{ "user", m->user },
		{ "ipv4", box_address_text(m->address, address) },
		{ "created", time_text(m->created, created, "") },
		{ "origin", origin(m) },
		{ "source", m->source },
		{ "image", m->image },
		{ "image_digest", m->digest },
		{ "agent", m->agent },
	};

	if (json_set_u64(o, "schema", 1, err) < 0)
		return -1;
	return set_texts(o, texts, ARRAY_LEN(texts), err);
}

static int json_resources(
	json_t *o, const struct box *box, const struct box_info *info, struct error *err)
{
	if (json_set_u64(o, "cpus", info->hardware.cpus, err) < 0 ||
		json_set_u64(o, "memory_bytes", info->hardware.memory, err) < 0 ||
		json_set_u64(o, "disk_bytes", info->disk, err) < 0 ||
		json_set_u64(o, "own_bytes", info->own_bytes, err) < 0 ||
		json_set_u64(o, "depth", info->depth, err) < 0 ||
		json_set_bool(o, "emulated", info->hardware.tcg, err) < 0 ||
		json_set_bool(o, "confined", info->hardware.confined, err) < 0 ||
		json_set_bool(o, "address_reserved", info->address_reserved, err) < 0)
		return -1;
	if (box->meta.identity == META_IDENTITY_NONE)
		return 0;
	return json_set_bool(
		o, "identity_verified", box->meta.identity == META_IDENTITY_VERIFIED, err);
}

static json_t *json_doors(const struct box *box, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	vec_foreach(struct meta_door, d, &box->meta.doors) {
		_cleanup_json_ json_t *o = json_object();

		if (json_set_u64(o, "port", d->port, err) < 0 ||
			json_set_u64(o, "host_port", d->host, err) < 0 ||
			json_add_new(list, TAKE(o), err) < 0)
			return NULL;
	}
	return TAKE(list);
}

static json_t *json_snapshots(const struct box *box, const struct box_info *info, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	for (size_t i = 0; i < box->meta.snapshots.len; i++) {
		const struct meta_snapshot *s = &box->meta.snapshots.items[i];
		_cleanup_json_ json_t *o = json_object();
		char when[META_TIME_MAX];

		if (json_set_text(o, "label", s->label, err) < 0 ||
			json_set_text(o, "created", time_text(s->created, when, ""), err) < 0 ||
			json_set_bool(o, "quiesced", s->quiesced, err) < 0 ||
			json_set_bool(o, "live", *s->memory, err) < 0 ||
			json_set_bool(o, "present", info->snapshots.items[i].present, err) < 0 ||
			json_set_u64(o, "own_bytes", info->snapshots.items[i].bytes, err) < 0 ||
			json_add_new(list, TAKE(o), err) < 0)
			return NULL;
	}
	return TAKE(list);
}

static int show_json(
	const struct box *box, const struct box_info *info, virConnectPtr conn, struct error *err)
{
	struct golden newer;
	_cleanup_json_ json_t *o = json_object();

	if (json_state(o, box, info, err) < 0 || json_resources(o, box, info, err) < 0 ||
		json_set_bool(o, "image_current", !newer_image(box, conn, &newer), err) < 0 ||
		json_set_new(o, "doors", json_doors(box, err), err) < 0 ||
		json_set_new(o, "snapshots", json_snapshots(box, info, err), err) < 0)
		return -1;
	return output_json(o, err);
}

int cmd_info(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_box_info_ struct box_info info = { 0 };

	(void)call;
	if (box_info(s->conn, &s->box, &info, err) < 0)
		return -1;
	return s->global.json ? show_json(&s->box, &info, s->conn, err)
			      : show_text(&s->box, &info, s->conn, err);
}

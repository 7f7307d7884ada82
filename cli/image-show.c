/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box image list, box image info. */
#include <string.h>

#include "base/json.h"
#include "base/parse.h"
#include "cli/image.h"
#include "cli/output.h"
#include "vmm/box.h"

/* A volume's name without its ending: what people type. */
static void short_name(const char *volume, char name[VOLUME_NAME_MAX])
{
	size_t len = strlen(volume), end = strlen(".qcow2");

	if (len > end && str_equal(volume + len - end, ".qcow2"))
		len -= end;
	len = MIN(len, (size_t)VOLUME_NAME_MAX - 1);
	memcpy(name, volume, len);
	name[len] = '\0';
}

/* "current": of the template's present recipe; "outdated"; "incomplete"; "foreign": no such template here. */
static const char *state_of(const struct image_work *work, const struct manifest *m)
{
	const struct inventory *view = &work->store.view;
	const struct manifest *current;

	if (!inventory_find(view, m->volume) || !inventory_find(view, m->backing) ||
		!inventory_find(view, m->seed))
		return "incomplete";
	if (!image_template_known(m->template))
		return "foreign";
	current = image_current(work, m->template);
	return current && str_equal(current->volume, m->volume) ? "current" : "outdated";
}

/* Bytes that the volume takes in the pool. */
static uint64_t bytes_of(const struct image_work *work, const char *volume)
{
	const struct inventory_volume *v = inventory_find(&work->store.view, volume);

	return v ? v->bytes : 0;
}

/* Names of the boxes of that lineage, at most max and how many more; "-" when there is none. */
static void name_boxes(
	const struct box_rows *boxes, const char *volume, size_t max, struct str *out)
{
	size_t count = 0;

	vec_foreach(struct box_row, b, boxes) {
		if (str_equal(b->meta.image, volume) && count++ < max)
			str_printf(out, "%s%s", count > 1 ? "," : "", b->name);
	}
	if (count > max)
		str_printf(out, ",+%zu", count - max);
	if (count == 0)
		str_append_char(out, '-');
}

/* Of all warm images of it. */
static uint64_t warm_bytes(const struct image_work *work, const char *golden)
{
	const struct inventory *view = &work->store.view;
	uint64_t bytes = 0;

	for (const struct inventory_volume *v = inventory_warm(view, golden, NULL); v;
		v = inventory_warm(view, golden, v))
		bytes += inventory_warm_bytes(view, v->name);
	return bytes;
}

static void list_row(const struct image_work *work, const struct manifest *m,
	const struct box_rows *boxes, struct table *table)
{
	_cleanup_str_ struct str on = STR_INIT;
	uint64_t warm = warm_bytes(work, m->volume);
	char name[VOLUME_NAME_MAX], size[32];

	name_boxes(boxes, m->volume, 4, &on);

	short_name(m->volume, name);
	table_cell(table, name);
	table_cell(table, m->template);
	table_cell(table, m->release);
	table_cell(table, format_size(bytes_of(work, m->volume), size, sizeof(size)));
	table_cell(table, format_size(bytes_of(work, m->backing), size, sizeof(size)));
	table_cell(table, warm ? format_size(warm, size, sizeof(size)) : "-");
	table_cellf(table, "%zu", inventory_users(&work->store.view, m->volume));
	table_cell(table, m->created);
	table_cell(table, state_of(work, m));
	table_cell(table, str_get(&on));
}

static int list_table(const struct image_work *work, size_t count, struct error *err)
{
	static const char *const headings[] = { "IMAGE", "TEMPLATE", "RELEASE", "SIZE", "BASE",
		"WARM", "USERS", "CREATED", "STATE", "BOXES" };
	_cleanup_(table_done) struct table table = TABLE_INIT(headings);
	_cleanup_box_rows_ struct box_rows boxes = VEC_INIT;

	if (!count) {
		session_note(work->s, "no images yet; make one: box image mint blank");
		return 0;
	}
	if (box_list(work->s->conn, &boxes, err) < 0)
		return -1;
	for (size_t i = 0; i < work->store.view.manifest_count; i++)
		if (work->store.manifests[i].kind == MANIFEST_GOLDEN)
			list_row(work, &work->store.manifests[i], &boxes, &table);
	return output_table(&table, err);
}

static int fill_json(
	const struct image_work *work, const struct manifest *m, json_t *o, struct error *err)
{
	char name[VOLUME_NAME_MAX];

	short_name(m->volume, name);
	if (json_set_text(o, "name", name, err) < 0 ||
		json_set_text(o, "template", m->template, err) < 0 ||
		json_set_text(o, "release", m->release, err) < 0 ||
		json_set_text(o, "user", m->user, err) < 0 ||
		json_set_text(o, "state", state_of(work, m), err) < 0 ||
		json_set_text(o, "created", m->created, err) < 0 ||
		json_set_text(o, "volume", m->volume, err) < 0 ||
		json_set_text(o, "sha256", m->sha256, err) < 0 ||
		json_set_text(o, "backing", m->backing, err) < 0 ||
		json_set_text(o, "seed", m->seed, err) < 0 ||
		json_set_text(o, "recipe", m->recipe, err) < 0 ||
		json_set_text(o, "source", m->source, err) < 0 ||
		json_set_text(o, "agent", m->agent, err) < 0 ||
		json_set_text(o, "verified", m->verified, err) < 0 ||
		json_set_text(o, "tool", m->tool, err) < 0)
		return -1;
	if (json_set_u64(o, "bytes", bytes_of(work, m->volume), err) < 0 ||
		json_set_u64(o, "base_bytes", bytes_of(work, m->backing), err) < 0 ||
		json_set_u64(o, "warm_bytes", warm_bytes(work, m->volume), err) < 0 ||
		json_set_u64(o, "virtual_bytes", m->virtual_bytes, err) < 0)
		return -1;
	return json_set_u64(o, "users", inventory_users(&work->store.view, m->volume), err);
}

static int json_boxes(
	const struct box_rows *boxes, const char *volume, json_t *o, struct error *err)
{
	json_t *list = json_array();

	if (json_set_new(o, "boxes", list, err) < 0)
		return -1;
	vec_foreach(struct box_row, b, boxes) {
		if (str_equal(b->meta.image, volume) &&
			json_add_new(list, json_string(b->name), err) < 0)
			return -1;
	}
	return 0;
}

static int list_json(const struct image_work *work, struct error *err)
{
	_cleanup_box_rows_ struct box_rows boxes = VEC_INIT;
	_cleanup_json_ json_t *list = json_array();

	if (box_list(work->s->conn, &boxes, err) < 0)
		return -1;

	for (size_t i = 0; i < work->store.view.manifest_count; i++) {
		json_t *o;

		if (work->store.manifests[i].kind != MANIFEST_GOLDEN)
			continue;
		o = json_object();
		if (json_add_new(list, o, err) < 0 ||
			fill_json(work, &work->store.manifests[i], o, err) < 0 ||
			json_boxes(&boxes, work->store.manifests[i].volume, o, err) < 0)
			return -1;
	}
	return output_listing(1, "images", TAKE(list), err);
}

int image_list(struct image_work *work, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < work->store.view.manifest_count; i++)
		count += work->store.manifests[i].kind == MANIFEST_GOLDEN;
	if (work->store.unreadable)
		session_warn(work->s,
			"%zu manifests cannot be read: damaged, or of a newer version",
			work->store.unreadable);
	return work->s->global.json ? list_json(work, err) : list_table(work, count, err);
}

/* ---- info ---- */

static void row(struct str *out, const char *label, const char *value)
{
	if (value && *value)
		str_printf(out, "%-11s %s\n", label, value);
}

static const struct manifest *base_of(const struct image_work *work, const struct manifest *m)
{
	for (size_t i = 0; i < work->store.view.manifest_count; i++)
		if (str_equal(work->store.manifests[i].volume, m->backing))
			return &work->store.manifests[i];
	return NULL;
}

/* "warm-blank-...: 180.2MiB, 2 CPUs, 2GiB of memory, 2026-..." for each warm image. */
static void warm_rows(const struct image_work *work, const struct manifest *m, struct str *out)
{
	const struct inventory *view = &work->store.view;

	for (const struct inventory_volume *v = inventory_warm(view, m->volume, NULL); v;
		v = inventory_warm(view, m->volume, v)) {
		_cleanup_warm_ struct warm warm = { 0 };
		char name[VOLUME_NAME_MAX], size[32], memory[32];
		struct error why = { 0 };

		short_name(v->name, name);
		format_size(inventory_warm_bytes(view, v->name), size, sizeof(size));
		if (image_warm_read(work, v->name, &warm, &why) < 0)
			str_printf(
				out, "%-11s %s: %s, damaged: %s\n", "WARM", name, size, why.text);
		else
			str_printf(out, "%-11s %s: %s, %u CPUs, %s of memory, %s\n", "WARM", name,
				size, warm.record.cpus,
				format_size(warm.record.memory, memory, sizeof(memory)),
				warm.record.created);
	}
}

static void info_text(const struct image_work *work, const struct manifest *m, struct str *out)
{
	const struct manifest *base = base_of(work, m);
	char name[VOLUME_NAME_MAX], size[32];

	short_name(m->volume, name);
	row(out, "IMAGE", name);
	row(out, "STATE", state_of(work, m));
	row(out, "TEMPLATE", m->template);
	row(out, "USER", m->user);
	row(out, "RELEASE", m->release);
	row(out, "CREATED", m->created);
	row(out, "SIZE", format_size(bytes_of(work, m->volume), size, sizeof(size)));
	row(out, "DISK", format_size(m->virtual_bytes, size, sizeof(size)));
	str_printf(out, "%-11s %zu\n", "USERS", inventory_users(&work->store.view, m->volume));
	row(out, "SHA256", m->sha256);
	row(out, "BASE", m->backing);
	row(out, "BASE SIZE", format_size(bytes_of(work, m->backing), size, sizeof(size)));
	warm_rows(work, m, out);
	row(out, "SEED", m->seed);
	row(out, "SOURCE", base ? base->source : m->source);
	row(out, "SIGNER", base ? base->signer : m->signer);
	row(out, "RECIPE", m->recipe);
	row(out, "AGENT", m->agent);
	row(out, "VERIFIED", m->verified);
	row(out, "MADE BY", m->tool);
	str_printf(out, "%-11s %zu of its own, %zu of its base\n", "PACKAGES", m->packages.len,
		base ? base->packages.len : 0);
}

static int warm_item(const struct image_work *work, const struct inventory_volume *v, json_t *o,
	struct error *err)
{
	_cleanup_warm_ struct warm warm = { 0 };
	struct error why = { 0 };
	bool whole = image_warm_read(work, v->name, &warm, &why) == 0;

	if (json_set_text(o, "volume", v->name, err) < 0 ||
		json_set_u64(o, "bytes", inventory_warm_bytes(&work->store.view, v->name), err) <
			0 ||
		json_set_bool(o, "readable", whole, err) < 0)
		return -1;
	if (!whole)
		return 0;
	if (json_set_text(o, "memory", warm.names.memory, err) < 0 ||
		json_set_text(o, "created", warm.record.created, err) < 0 ||
		json_set_u64(o, "cpus", warm.record.cpus, err) < 0)
		return -1;
	return json_set_u64(o, "guest_bytes", warm.record.memory, err);
}

static int json_warm(
	const struct image_work *work, const char *golden, json_t *o, struct error *err)
{
	const struct inventory *view = &work->store.view;
	json_t *list = json_array();

	if (json_set_new(o, "warm", list, err) < 0)
		return -1;
	for (const struct inventory_volume *v = inventory_warm(view, golden, NULL); v;
		v = inventory_warm(view, golden, v)) {
		json_t *item = json_object();

		if (json_add_new(list, item, err) < 0 || warm_item(work, v, item, err) < 0)
			return -1;
	}
	return 0;
}

static int info_json(const struct image_work *work, const struct manifest *m, struct error *err)
{
	_cleanup_json_ json_t *o = json_object();
	json_t *list = json_array();

	if (json_set_new(o, "packages", list, err) < 0 || json_set_u64(o, "schema", 1, err) < 0 ||
		fill_json(work, m, o, err) < 0 || json_warm(work, m->volume, o, err) < 0)
		return -1;
	vec_foreach(struct manifest_package, p, &m->packages) {
		json_t *item = json_object();

		if (json_add_new(list, item, err) < 0 ||
			json_set_text(item, "name", p->name, err) < 0 ||
			json_set_text(item, "version", p->version, err) < 0 ||
			json_set_text(item, "from", p->from, err) < 0)
			return -1;
	}
	return output_json(o, err);
}

static int info_sbom(const struct image_work *work, const struct manifest *m, struct error *err)
{
	const struct manifest *all[2] = { m, base_of(work, m) };
	_cleanup_str_ struct str text = STR_INIT;

	if (manifest_sbom(all, all[1] ? 2 : 1, &text, err) < 0)
		return -1;
	return output_str(&text, err);
}

int image_info(struct image_work *work, struct error *err)
{
	const struct manifest *m = image_named(work, work->args[0], err);
	_cleanup_str_ struct str text = STR_INIT;

	if (!m)
		return -1;
	if (work->options->sbom)
		return info_sbom(work, m, err);
	if (work->s->global.json)
		return info_json(work, m, err);
	info_text(work, m, &text);
	return output_str(&text, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box templates: what boxes can be made of. Reads files alone; no host is contacted. */
#include "base/parse.h"
#include "cli/output.h"
#include "cli/session.h"
#include "images/template.h"
#include "vmm/resources.h"

static void row_table(const struct template *t, const struct resources *r, struct table *table)
{
	char memory[32], disk[32];

	table_cell(table, t->name);
	table_cell(table, t->user);
	table_cellf(table, "%u", r->cpus);
	table_cell(table, format_size(r->memory, memory, sizeof(memory)));
	table_cell(table, format_size(r->disk, disk, sizeof(disk)));
	table_cell(table, t->description);
}

static int row_json(
	const struct template *t, const struct resources *r, json_t *list, struct error *err)
{
	json_t *o = json_object();

	if (json_add_new(list, o, err) < 0 || json_set_text(o, "name", t->name, err) < 0 ||
		json_set_text(o, "description", t->description, err) < 0 ||
		json_set_text(o, "user", t->user, err) < 0 ||
		json_set_u64(o, "cpus", r->cpus, err) < 0 ||
		json_set_u64(o, "memory_bytes", r->memory, err) < 0 ||
		json_set_u64(o, "disk_bytes", r->disk, err) < 0)
		return -1;
	return json_set_text(o, "path", t->path, err);
}

/* What a box of it gets when nobody asks for anything else. */
static struct resources resources_of(const struct template *t)
{
	struct resources r = RESOURCES_DEFAULT;

	if (t->cpu)
		r.cpus = (unsigned)t->cpu;
	if (t->memory)
		r.memory = t->memory;
	if (t->disk)
		r.disk = t->disk;
	return r;
}

/* One that cannot be read does not hide the others; the status tells. */
static int add(
	struct session *s, const char *name, struct table *table, json_t *list, struct error *err)
{
	_cleanup_template_ struct template t = { 0 };
	struct error why = { 0 };
	struct resources r;

	if (template_load(name, &t, &why) < 0) {
		session_warn(s, "%s", why.text);
		s->status = 1;
		return 0;
	}
	if (t.shared)
		return 0;
	r = resources_of(&t);
	row_table(&t, &r, table);
	return row_json(&t, &r, list, err);
}

int cmd_templates(struct session *s, const struct call *call, struct error *err)
{
	static const char *const headings[] = { "NAME", "USER", "CPU", "MEMORY", "DISK",
		"DESCRIPTION" };
	_cleanup_(table_done) struct table table = TABLE_INIT(headings);
	_cleanup_json_ json_t *list = json_array();
	_cleanup_texts_ struct text_vec names = VEC_INIT;

	(void)call;
	if (template_names(&names, err) < 0)
		return -1;
	vec_foreach(char *, name, &names)
		if (add(s, *name, &table, list, err) < 0)
			return -1;
	if (s->global.json)
		return output_listing(1, "templates", TAKE(list), err);
	return output_table(&table, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box list: all boxes, a line each. */
#include "cli/box-text.h"
#include "cli/output.h"
#include "cli/session.h"

static const char *const headings[] = { "NAME", "STATE", "TEMPLATE", "SNAPSHOTS", "IPV4" };

static int show_table(const struct box_rows *rows, struct error *err)
{
	struct table table = TABLE_INIT(headings);
	char address[16];
	int ret;

	vec_foreach(struct box_row, row, rows) {
		bool open = !row->confined && !row->damaged;

		table_cell(&table, row->name);
		table_cellf(&table, "%s%s", box_row_state(row), open ? ",unconfined" : "");
		table_cell(&table, row->meta.template);
		table_cellf(&table, "%zu", row->meta.snapshots.len);
		table_cell(&table, box_address_text(row->meta.address, address));
	}
	ret = output_table(&table, err);
	table_done(&table);
	return ret;
}

static json_t *row_json(const struct box_row *row, struct error *err)
{
	_cleanup_json_ json_t *o = json_object();
	char address[16];

	if (json_set_text(o, "name", row->name, err) < 0 ||
		json_set_text(o, "uuid", row->uuid, err) < 0 ||
		json_set_text(o, "state", box_row_state(row), err) < 0 ||
		json_set_bool(o, "confined", row->confined, err) < 0 ||
		json_set_text(o, "template", row->meta.template, err) < 0 ||
		json_set_u64(o, "snapshots", row->meta.snapshots.len, err) < 0 ||
		json_set_text(o, "ipv4", box_address_text(row->meta.address, address), err) < 0)
		return NULL;
	return TAKE(o);
}

static int show_json(const struct box_rows *rows, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	vec_foreach(struct box_row, row, rows) {
		if (json_add_new(list, row_json(row, err), err) < 0)
			return -1;
	}
	return output_listing(1, "boxes", TAKE(list), err);
}

int cmd_list(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;

	(void)call;
	if (box_list(s->conn, &rows, err) < 0)
		return -1;
	if (s->global.json)
		return show_json(&rows, err);
	if (rows.len == 0) {
		session_note(s, "no boxes yet");
		return 0;
	}
	return show_table(&rows, err);
}

int cmd_status(struct session *s, const struct call *call, struct error *err)
{
	session_note(s, "'box status' is deprecated; use: box list");
	return cmd_list(s, call, err);
}

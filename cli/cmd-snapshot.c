/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box snapshot: take, list and remove snapshots of a box. */
#include <inttypes.h>

#include "base/parse.h"
#include "cli/box-text.h"
#include "cli/output.h"
#include "config.h"
#include "vmm/chain.h"
#include "vmm/info.h"

struct snapshot_options {
	bool list, live;
	const char *remove;
};

static const struct option_row rows[] = {
	{
		.name = "list",
		.help = "list the box's snapshots instead of taking one",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct snapshot_options, list),
	},
	{
		.name = "live",
		.help = "with the memory: restoring it, or cloning it, goes on where the box was",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct snapshot_options, live),
	},
	{
		.name = "remove",
		.arg = "LABEL",
		.help = "remove this snapshot instead of taking one",
		.kind = OPTION_LABEL,
		.complete = WORD_LABEL,
		.offset = offsetof(struct snapshot_options, remove),
	},
};
const struct option_table cmd_snapshot_options = OPTION_TABLE(struct snapshot_options, rows);

/* ---- --list ---- */

static int list_table(const struct box *box, const struct box_info *info, struct error *err)
{
	static const char *const headings[] = { "LABEL", "CREATED", "SIZE", "QUIESCED", "MEMORY" };
	_cleanup_(table_done) struct table table = TABLE_INIT(headings);
	char when[META_TIME_MAX], size[32];

	for (size_t i = 0; i < box->meta.snapshots.len; i++) {
		const struct meta_snapshot *s = &box->meta.snapshots.items[i];
		const struct info_snapshot *more = &info->snapshots.items[i];

		table_cell(&table, s->label);
		table_cell(&table, meta_time_format(s->created, when));
		table_cell(&table,
			more->present ? format_size(more->bytes, size, sizeof(size)) : "LOST");
		table_cell(&table, s->quiesced ? "yes" : "no");
		table_cell(&table, *s->memory ? "yes" : "no");
	}
	return output_table(&table, err);
}

static int list_json(const struct box *box, const struct box_info *info, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();
	char when[META_TIME_MAX];

	for (size_t i = 0; i < box->meta.snapshots.len; i++) {
		const struct meta_snapshot *s = &box->meta.snapshots.items[i];
		const struct info_snapshot *more = &info->snapshots.items[i];
		json_t *o = json_object();

		if (json_add_new(list, o, err) < 0 ||
			json_set_text(o, "label", s->label, err) < 0 ||
			json_set_text(o, "created", meta_time_format(s->created, when), err) < 0 ||
			json_set_u64(o, "own_bytes", more->bytes, err) < 0 ||
			json_set_bool(o, "quiesced", s->quiesced, err) < 0 ||
			json_set_bool(o, "live", *s->memory, err) < 0 ||
			json_set_bool(o, "present", more->present, err) < 0)
			return -1;
	}
	return output_listing(1, "snapshots", TAKE(list), err);
}

static int list_snapshots(struct session *s, struct error *err)
{
	_cleanup_box_info_ struct box_info info = { 0 };

	if (box_info(s->conn, &s->box, &info, err) < 0)
		return -1;
	if (s->global.json)
		return list_json(&s->box, &info, err);
	if (s->box.meta.snapshots.len == 0) {
		session_note(s, "no snapshots of '%s' yet", s->box.name);
		return 0;
	}
	return list_table(&s->box, &info, err);
}

/* ---- taking and removing ---- */

static void tell_rest(struct session *s, const struct chain_report *report)
{
	if (*report->note)
		session_note(s, "%s", report->note);
	if (report->merged)
		session_note(s, "the chain of layers was long: %u merged", report->merged);
	if (*report->not_merged)
		session_warn(s, "%s", report->not_merged);
}

static int remove_snapshot(struct session *s, const char *label, struct error *err)
{
	struct chain_report report = { 0 };

	if (session_change(s, err) < 0 ||
		chain_forget(s->conn, s->box.name, label, &s->observer, &report, err) < 0)
		return -1;
	tell_rest(s, &report);
	return output_line(err, "%s/%s: removed", s->box.name, label);
}

static void tell_state(struct session *s, const struct chain_report *report)
{
	const char *name = s->box.name;

	if (report->live)
		session_note(s, "'%s' goes on; the snapshot has its memory", name);
	else if (report->cold.kind)
		session_warn(s,
			"the memory of '%s' cannot be kept, the snapshot is of its disk, as after a power cut: %s",
			name, report->cold.text);
	else if (report->running && report->quiesced)
		session_note(s, "'%s' was running; its file systems were at rest", name);
	else if (report->running)
		session_warn(s,
			"'%s' was running and its file systems were not at rest (%s): the snapshot is as after a power cut",
			name, report->why);
}

/* The label alone on stdout: scripts take it from there. */
static int take_snapshot(struct session *s, const char *label, bool live, struct error *err)
{
	const struct chain_wish wish = {
		.label = label, .live = live ? BOX_VERSION : NULL, .observer = &s->observer
	};
	struct chain_report report = { 0 };

	if (session_change(s, err) < 0 ||
		chain_snapshot(s->conn, s->box.name, &wish, &report, err) < 0)
		return -1;
	tell_state(s, &report);
	tell_rest(s, &report);
	return output_line(err, "%s", report.label);
}

int cmd_snapshot(struct session *s, const struct call *call, struct error *err)
{
	const struct snapshot_options *options = call->options;
	const char *label = call->count == 2 ? call->args[1] : NULL;

	if (!!label + options->list + !!options->remove > 1)
		return error_set(err, ERROR_USAGE,
			"a LABEL, --list and --remove exclude each other: box snapshot BOX [LABEL]");
	if (options->live && (options->list || options->remove))
		return error_set(err, ERROR_USAGE, "--live is for taking a snapshot");
	if (options->list)
		return list_snapshots(s, err);
	if (options->remove)
		return remove_snapshot(s, options->remove, err);
	if (label && parse_label(label, err) < 0)
		return -1;
	return take_snapshot(s, label, options->live, err);
}

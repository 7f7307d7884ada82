/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box expose: doors, which are ports of a box on 127.0.0.1 of its host. */
#include "base/parse.h"
#include "cli/box-text.h"
#include "cli/output.h"
#include "vmm/door.h"

struct expose_options {
	bool list;
	uint64_t remove;
};

static const struct option_row rows[] = {
	{
		.name = "list",
		.help = "list the box's doors instead of opening one",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct expose_options, list),
	},
	{
		.name = "remove",
		.arg = "PORT",
		.help = "shut the door to this port of the box instead of opening one",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct expose_options, remove),
	},
};
const struct option_table cmd_expose_options = OPTION_TABLE(struct expose_options, rows);

static const char *const states[] = {
	[DOOR_SHUT] = "no",
	[DOOR_OPEN] = "yes",
	[DOOR_UNKNOWN] = "unknown",
};

/* ---- --list ---- */

static int list_table(struct session *s, struct error *err)
{
	static const char *const headings[] = { "PORT", "DOOR", "OPEN" };
	_cleanup_(table_done) struct table table = TABLE_INIT(headings);

	vec_foreach(struct meta_door, d, &s->box.meta.doors) {
		table_cellf(&table, "%u", (unsigned)d->port);
		table_cellf(&table, "127.0.0.1:%u", (unsigned)d->host);
		table_cell(&table, states[door_state(s->conn, &s->box, d)]);
	}
	return output_table(&table, err);
}

static int list_json(struct session *s, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	vec_foreach(struct meta_door, d, &s->box.meta.doors) {
		enum door_state state = door_state(s->conn, &s->box, d);
		json_t *o = json_object();

		if (json_add_new(list, o, err) < 0 || json_set_u64(o, "port", d->port, err) < 0 ||
			json_set_text(o, "address", "127.0.0.1", err) < 0 ||
			json_set_u64(o, "host_port", d->host, err) < 0)
			return -1;
		if (state != DOOR_UNKNOWN && json_set_bool(o, "open", state == DOOR_OPEN, err) < 0)
			return -1;
	}
	return output_listing(1, "doors", TAKE(list), err);
}

static int list_doors(struct session *s, struct error *err)
{
	if (s->global.json)
		return list_json(s, err);
	if (s->box.meta.doors.len == 0) {
		session_note(s, "'%s' has no doors; open one: box expose %s PORT", s->box.name,
			s->box.name);
		return 0;
	}
	return list_table(s, err);
}

/* ---- opening and shutting ---- */

static int read_port(const char *text, const char *what, uint16_t *ret, struct error *err)
{
	uint64_t port;

	if (parse_u64(text, 1, 65535, what, &port, err) < 0)
		return -1;
	*ret = (uint16_t)port;
	return 0;
}

static int open_door(struct session *s, const struct call *call, struct error *err)
{
	struct door_report report = { 0 };
	struct meta_door door = { 0 };

	if (read_port(call->args[1], "PORT", &door.port, err) < 0 ||
		read_port(call->args[call->count - 1], call->count == 3 ? "HOSTPORT" : "PORT",
			&door.host, err) < 0 ||
		session_change(s, err) < 0 ||
		door_open(s->conn, s->box.name, &door, &report, err) < 0)
		return -1;
	if (!report.running)
		session_note(s, "'%s' is stopped: the door opens when it starts", s->box.name);
	else if (report.state == DOOR_UNKNOWN)
		session_note(s,
			"the host is another machine: the door is on its own 127.0.0.1, and whether it is open can be seen there alone");
	return output_line(err, "127.0.0.1:%u -> port %u of %s", (unsigned)door.host,
		(unsigned)door.port, s->box.name);
}

static int shut_door(struct session *s, uint64_t port, struct error *err)
{
	struct door_report report = { 0 };

	if (port > 65535)
		return error_set(err, ERROR_USAGE, "a port is a number from 1 to 65535");
	if (session_change(s, err) < 0 ||
		door_shut(s->conn, s->box.name, (uint16_t)port, &report, err) < 0)
		return -1;
	return output_line(err, "127.0.0.1:%u -> port %u of %s: shut", (unsigned)report.door.host,
		(unsigned)report.door.port, s->box.name);
}

int cmd_expose(struct session *s, const struct call *call, struct error *err)
{
	const struct expose_options *options = call->options;
	bool ports = call->count > 1;

	if (ports + options->list + !!options->remove > 1)
		return error_set(err, ERROR_USAGE,
			"a PORT, --list and --remove exclude each other: box expose BOX PORT [HOSTPORT]");
	if (options->list)
		return list_doors(s, err);
	if (options->remove)
		return shut_door(s, options->remove, err);
	if (!ports)
		return error_set(
			err, ERROR_USAGE, "PORT is missing: box expose BOX PORT [HOSTPORT]");
	return open_door(s, call, err);
}

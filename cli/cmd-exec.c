/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box exec: one command in a box, its arguments unchanged. */
#include "cli/enter.h"

struct exec_options {
	const char *user;
	uint64_t timeout_ms;
	bool tty;
};

static const struct option_row rows[] = {
	{
		.name = "user",
		.arg = "USER",
		.help = "run as this user of the box, instead of the box's own",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct exec_options, user),
	},
	{
		.name = "timeout",
		.arg = "TIME",
		.help = "end the command after this time (90s, 5m, 2h) and exit with 124",
		.kind = OPTION_DURATION,
		.offset = offsetof(struct exec_options, timeout_ms),
	},
	{
		.name = "tty",
		.help = "give the command a terminal, even when our streams are none",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct exec_options, tty),
	},
};
const struct option_table cmd_exec_options = OPTION_TABLE(struct exec_options, rows);

int cmd_exec(struct session *s, const struct call *call, struct error *err)
{
	const struct exec_options *options = call->options;
	const struct enter enter = {
		.argv = call->args + 1,
		.user = options->user ? options->user : s->box.meta.user,
		.timeout_ms = options->timeout_ms,
		.force_tty = options->tty,
	};

	return enter_box(s, &s->box, &enter, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box run: one box for one command.
 *
 * Theory: the box is ephemeral (vmm/new.h): this process holds its lock, and a box whose lock's holder is
 * dead is removed by the next command. So however this process ends, the box goes, once: at the end of
 * cmd_run, or by recovery after a SIGKILL. Signals are noted while the box is made, sent to the command
 * while it runs, and held back while the box is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "cli/enter.h"
#include "cli/interrupt.h"
#include "cli/making.h"
#include "vmm/remove.h"

struct run_options {
	const char *template, *from, *name, *name_file;
	uint64_t timeout_ms;
	bool keep, tty, cold;
};

static const struct option_row rows[] = {
	{
		.name = "template",
		.arg = "TEMPLATE",
		.help = "what the box is made of (default: blank)",
		.kind = OPTION_TEXT,
		.complete = WORD_TEMPLATE,
		.offset = offsetof(struct run_options, template),
	},
	{
		.name = "from",
		.arg = "BOX[/LABEL]",
		.help = "clone a box, as it is or as it was at a snapshot, instead of a template",
		.kind = OPTION_TEXT,
		.complete = WORD_BOX_OR_LABEL,
		.offset = offsetof(struct run_options, from),
	},
	{
		.name = "name",
		.arg = "NAME",
		.help = "the box's name, instead of one that is chosen",
		.kind = OPTION_NAME,
		.offset = offsetof(struct run_options, name),
	},
	{
		.name = "name-file",
		.arg = "FILE",
		.help = "write the box's name there before the command starts",
		.kind = OPTION_TEXT,
		.complete = WORD_FILE,
		.offset = offsetof(struct run_options, name_file),
	},
	{
		.name = "keep",
		.help = "leave the box when the command has ended",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct run_options, keep),
	},
	{
		.name = "timeout",
		.arg = "TIME",
		.help = "end the command after this time (90s, 5m, 2h) and exit with 124",
		.kind = OPTION_DURATION,
		.offset = offsetof(struct run_options, timeout_ms),
	},
	{
		.name = "tty",
		.help = "give the command a terminal, even when our streams are none",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct run_options, tty),
	},
	{
		.name = "cold",
		.help = "boot the box, though there is a warm image to start from",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct run_options, cold),
	},
};
const struct option_table cmd_run_options = OPTION_TABLE(struct run_options, rows);

/* Callers poll for this file: it has the whole name or is not there. */
static bool write_name(struct session *s, const char *path, const char *name)
{
	struct error why = { 0 };
	char line[BOX_NAME_MAX + 1];
	int len = snprintf(line, sizeof(line), "%s\n", name);

	if (file_replace(AT_FDCWD, path, line, (size_t)len, 0644, &why) == 0)
		return true;
	session_warn(s, "the name of box '%s' cannot be written: %s", name, why.text);
	return false;
}

/* Removal is finished before a signal counts; what cannot be removed is left to the next command. */
static void discard(struct session *s, struct box_hold *hold)
{
	sigset_t held, before;
	struct error why = { 0 };

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &held, &before);
	virt_interrupt_flag(NULL);
	if (box_discard(hold, &s->observer, &why) < 0)
		session_warn(s,
			"box '%s' is not removed yet, the next command that changes boxes will: %s",
			hold->box.name, why.text);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static int run_in(
	struct session *s, const struct box *box, const struct call *call, struct error *err)
{
	const struct run_options *options = call->options;
	const struct enter enter = {
		.argv = call->count ? call->args : NULL,
		.user = box->meta.user,
		.timeout_ms = options->timeout_ms,
		.force_tty = options->tty,
	};
	bool written = options->name_file && write_name(s, options->name_file, box->name);
	int ret;

	log_debug("run: box '%s' of template '%s', image '%s'", box->name, box->meta.template,
		box->meta.image);
	ret = enter_box(s, box, &enter, err);
	if (written && unlink(options->name_file) < 0 && errno != ENOENT)
		session_warn(s, "cannot remove '%s': %s", options->name_file, strerror(errno));
	return ret;
}

int cmd_run(struct session *s, const struct call *call, struct error *err)
{
	const struct run_options *options = call->options;
	_cleanup_making_ struct making making = { 0 };
	_cleanup_new_report_ struct new_report report = { 0 };
	int ret;

	if (making_open(s, options->template, options->from, &making, err) < 0)
		return -1;
	making.request.name = options->name;
	making.request.ephemeral = !options->keep;
	if (making_run(s, &making, options->cold, &report, err) < 0)
		return -1;
	/* A source is not held for as long as the command runs. */
	clone_done(&making.clone);
	if (options->keep)
		return box_find(s->conn, report.name, &s->box, err) < 0
			       ? -1
			       : run_in(s, &s->box, call, err);
	ret = run_in(s, &report.hold.box, call, err);
	discard(s, &report.hold);
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box cp: files and folders in and out of a box; vmm/copy.h does it. */
#include <string.h>

#include "base/parse.h"
#include "cli/interrupt.h"
#include "cli/session.h"
#include "vmm/copy.h"

enum { WARNINGS_MAX = 20 };

struct cp_options {
	const char *user;
	uint64_t timeout_ms, max_size, max_entries;
	bool skip_unsafe;
};

static const struct option_row rows[] = {
	{
		.name = "user",
		.arg = "USER",
		.help = "read and write as this user of the box, instead of the box's own",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct cp_options, user),
	},
	{
		.name = "timeout",
		.arg = "TIME",
		.help = "give up after this time (90s, 5m, 2h)",
		.kind = OPTION_DURATION,
		.offset = offsetof(struct cp_options, timeout_ms),
	},
	{
		.name = "skip-unsafe",
		.help = "from a box: leave out what would be refused, and say so",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct cp_options, skip_unsafe),
	},
	{
		.name = "max-size",
		.arg = "SIZE",
		.help = "from a box: refuse more than this, 64GiB if not given",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct cp_options, max_size),
	},
	{
		.name = "max-entries",
		.arg = "N",
		.help = "from a box: refuse more files and folders than this, a million if not given",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct cp_options, max_entries),
	},
};
const struct option_table cmd_cp_options = OPTION_TABLE(struct cp_options, rows);

/* One side, as it was written. */
struct side {
	char box[BOX_NAME_MAX]; /* "": this side */
	const char *path; /* lent from the command line */
};

/* BOX:path, where BOX could be the name of a box; everything else is a path here. */
static int side_parse(const char *word, struct side *ret, struct error *err)
{
	size_t len = strcspn(word, ":/");

	*ret = (struct side){ .path = word };
	if (word[len] != ':' || !len || word[0] == '.')
		return 0;
	if (len >= sizeof(ret->box))
		len = sizeof(ret->box) - 1;
	memcpy(ret->box, word, len);
	ret->path = word + len + 1;
	if (parse_box_name(ret->box, err) == 0)
		return 0;
	return error_hint(err, "; a file here whose name has a colon is written with './'");
}

static int sides_check(const struct side *from, const struct side *to, struct error *err)
{
	if (*from->box && *to->box)
		return error_set(
			err, ERROR_USAGE, "from box to box takes two steps, by way of a file here");
	if (!*from->box && !*to->box)
		return error_set(err, ERROR_USAGE,
			"neither side is in a box: box cp BOX:PATH PATH, or box cp PATH BOX:PATH");
	if (str_equal((*from->box ? to : from)->path, ""))
		return error_set(err, ERROR_USAGE, "an empty path");
	return 0;
}

struct watcher {
	struct session *session;
	size_t warnings;
};

static void on_progress(uint64_t done, uint64_t total, void *data)
{
	const struct watcher *w = data;

	progress_bytes(&w->session->progress, done, total);
}

static void on_left_out(const char *text, void *data)
{
	struct watcher *w = data;

	if (++w->warnings <= WARNINGS_MAX)
		session_warn(w->session, "left out: %s", text);
}

static int copy(struct session *s, struct guest *g, const struct side *from, const struct side *to,
	const struct cp_options *options, struct error *err)
{
	struct watcher watcher = { .session = s };
	const struct copy_observer observer = {
		.progress = on_progress,
		.left_out = on_left_out,
		.data = &watcher,
	};
	const struct copy_options copy_options = {
		.user = options->user ? options->user : s->box.meta.user,
		.timeout_ms = options->timeout_ms,
		.interrupt_fd = interrupt_fd(),
		.max_bytes = options->max_size,
		.max_entries = options->max_entries,
		.skip_unsafe = options->skip_unsafe,
	};
	int ret;

	progress_begin(&s->progress, "cp", "copy",
		*from->box ? "copying from the box" : "copying to the box");
	ret = *from->box ? copy_from_box(g, from->path, to->path, &copy_options, &observer, err)
			 : copy_to_box(g, from->path, to->path, &copy_options, &observer, err);
	progress_end(&s->progress);
	if (watcher.warnings > WARNINGS_MAX)
		session_warn(s, "left out: and %zu more", watcher.warnings - WARNINGS_MAX);
	return ret;
}

int cmd_cp(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_(guest_close_p) struct guest *guest = NULL;
	const struct guest_wait wait = { .interrupt_fd = interrupt_fd() };
	struct side from, to;

	if (side_parse(call->args[0], &from, err) < 0 || side_parse(call->args[1], &to, err) < 0 ||
		sides_check(&from, &to, err) < 0 ||
		session_find_box(s, *from.box ? from.box : to.box, NEED_RUNNING, err) < 0)
		return -1;
	guest = guest_open(s->box.dom, &wait, err);
	if (!guest)
		return -1;
	if (copy(s, guest, &from, &to, call->options, err) < 0)
		return error_wrap(err, "cannot copy '%s' to '%s'", call->args[0], call->args[1]);
	return 0;
}

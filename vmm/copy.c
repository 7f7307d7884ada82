/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: a copy has two ends, a script in the box and box-copy here, and a pipe between guest_exec and
 * box-copy. guest_exec runs libvirt's loop in this thread; box-copy is waited for in another, and an
 * eventfd tells the loop of its end. What the script says on stderr is read from a pipe by the same loop.
 *
 * Whose failure is told: the end that failed first is the cause, the other one only saw its pipe close. A
 * box that goes on when its reader is gone is given a while, and then the session is given up.
 */
#include "vmm/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/copy-name.h"
#include "vmm/copy-place.h"
#include "vmm/copy-script.h"
#include "vmm/copy-side.h"
#include "vmm/guest-catch.h"
#include "vmm/virt.h"

enum {
	ENTRIES_DEFAULT = 1000000,
	STALL_MS = 120000, /* tar of a tree with nothing but holes says nothing for a while */
	GRACE_MS = 5000,
	SIDE_EXTRA_MS =
		30000, /* behind a time limit, which the box keeps and this side makes sure of */
	WORDS_MAX = 600,
	PIPE_BYTES = 1048576,
};
#define BYTES_DEFAULT (64ull << 30)

static const struct copy_observer nobody = { 0 };

/* ---- what the box says ---- */

/* What is watched while guest_exec runs. */
struct watches {
	struct guest *guest; /* lent */
	struct copy_side *side; /* lent; NULL: none */
	struct guest_catch words; /* on the script's stderr */
	int ended, interrupt, grace; /* of libvirt's loop; -1: none */
};

#define WATCHES_INIT                                                                  \
	{                                                                             \
		.words = GUEST_CATCH_INIT, .ended = -1, .interrupt = -1, .grace = -1, \
	}

static void on_ended(int watch, int fd, int events, void *data)
{
	const struct watches *w = data;

	(void)fd;
	(void)events;
	virEventUpdateHandle(watch, 0);
	/* When all is packed the box still has to take it. */
	if (copy_side_failed(w->side))
		virEventUpdateTimeout(w->grace, GRACE_MS);
}

static void on_grace(int timer, void *data)
{
	const struct watches *w = data;

	virEventUpdateTimeout(timer, -1);
	guest_abandon(w->guest);
}

static void on_interrupt(int watch, int fd, int events, void *data)
{
	const struct watches *w = data;

	(void)fd;
	(void)events;
	virEventUpdateHandle(watch, 0);
	guest_abandon(w->guest);
}

static void unwatch(int *watch)
{
	if (*watch >= 0)
		(void)virEventRemoveHandle(*watch);
	*watch = -1;
}

static void watches_done(struct watches *w)
{
	unwatch(&w->ended);
	unwatch(&w->interrupt);
	if (w->grace >= 0)
		(void)virEventRemoveTimeout(w->grace);
	guest_catch_done(&w->words);
}

static int watches_open(struct watches *w, struct guest *g, struct copy_side *side,
	int interrupt_fd, struct error *err)
{
	w->guest = g;
	w->side = side;
	if (guest_catch_open(&w->words, WORDS_MAX, err) < 0)
		return -1;
	w->grace = virEventAddTimeout(-1, on_grace, w, NULL);
	if (w->grace < 0)
		return error_virt(err, "cannot set a timer");
	if (side)
		w->ended = virEventAddHandle(
			copy_side_ended_fd(side), VIR_EVENT_HANDLE_READABLE, on_ended, w, NULL);
	if (interrupt_fd > 0)
		w->interrupt = virEventAddHandle(
			interrupt_fd, VIR_EVENT_HANDLE_READABLE, on_interrupt, w, NULL);
	if ((side && w->ended < 0) || (interrupt_fd > 0 && w->interrupt < 0))
		return error_virt(err, "cannot watch a descriptor");
	return 0;
}

/* ---- a script in the box ---- */

struct script {
	const char *text; /* of copy-script.h */
	const char *args[5]; /* NULL-terminated */
	int stdin_fd, stdout_fd; /* lent; -1: none */
};

/* 0 with *ret whenever the script ended, however that was; its words are in w. */
static int run_script(struct watches *w, const struct copy_options *o, const struct script *s,
	struct guest_result *ret, struct error *err)
{
	const char *argv[9] = { "/bin/sh", "-c", s->text, "box-cp" };
	const struct guest_exec request = {
		.argv = argv,
		.user = o->user,
		.timeout_ms = o->timeout_ms,
		.stdin_fd = s->stdin_fd,
		.stdout_fd = s->stdout_fd,
		.stderr_fd = w->words.end,
		.signal_fd = -1,
	};

	for (size_t i = 0; s->args[i]; i++)
		argv[4 + i] = s->args[i];
	if (guest_exec(w->guest, &request, ret, err) < 0)
		return -1;
	guest_catch_finish(&w->words);
	return 0;
}

static int script_verdict(struct watches *w, const struct guest_result *result, struct error *err)
{
	_cleanup_str_ struct str words = STR_INIT;
	int status = guest_result_status(result);

	if (result->outcome == GUEST_TIMED_OUT)
		return error_set(err, ERROR_TIMEOUT, "the time limit ran out");
	if (result->outcome == GUEST_NOT_EXECUTABLE)
		return error_set(
			err, ERROR_FAILED, "the box cannot run /bin/sh: %s", result->detail);
	if (status == 0 || status == COPY_SCRIPT_CHANGED)
		return 0;
	guest_catch_words(&w->words, &words);
	if (words.len)
		return error_set(err, ERROR_FAILED, "the box says: %s", str_get(&words));
	return error_set(err, ERROR_FAILED, "it ended in the box with status %d", status);
}

/* What a script that succeeded says may be worth knowing: "socket ignored". */
static void pass_words_on(struct watches *w, const struct copy_observer *observer)
{
	_cleanup_str_ struct str words = STR_INIT;

	guest_catch_words(&w->words, &words);
	if (words.len && observer->left_out)
		observer->left_out(str_get(&words), observer->data);
}

/* Absolute, or beginning with "./": so that it is no option, and has a slash. Given. */
static char *guest_path(const char *path, struct error *err)
{
	if (path[0] == '~' && (!path[1] || path[1] == '/'))
		path += 1 + (path[1] == '/');
	else if (path[0] == '/')
		return str_dup(path, err);
	return str_format(err, "./%s", path);
}

static int stream(
	struct guest *g, const struct script *s, const struct copy_options *o, struct error *err)
{
	_cleanup_(watches_done) struct watches w = WATCHES_INIT;
	struct guest_result result;

	if (watches_open(&w, g, NULL, o->interrupt_fd, err) < 0 ||
		run_script(&w, o, s, &result, err) < 0)
		return -1;
	/* A reader that has had enough is no failure. */
	if (s->stdout_fd >= 0 && guest_result_status(&result) == 128 + 13)
		return 0;
	return script_verdict(&w, &result, err);
}

/* ---- both ends ---- */

/* The pipe between guest_exec and the side, as large as we may have it. */
static int open_pipe(int pair[2], struct error *err)
{
	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot make a pipe");
	(void)fcntl(pair[0], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

/*
 * Start the side, run the script against it. ours is this process's end of the pipe between them, taken:
 * closing it after the script has ended is what ends the side.
 */
static int run_both(struct guest *g, struct copy_side *side, const struct script *s, int ours,
	const struct copy_options *o, struct error *err)
{
	_cleanup_(watches_done) struct watches w = WATCHES_INIT;
	_cleanup_close_ int pipe_end = ours;
	struct error box_err = { 0 }, side_err = { 0 };
	struct guest_result result;
	bool side_first;
	int box_ret;

	if (copy_side_start(side, err) < 0)
		return -1;
	box_ret = watches_open(&w, g, side, o->interrupt_fd, &box_err);
	if (box_ret == 0)
		box_ret = run_script(&w, o, s, &result, &box_err);
	side_first = copy_side_failed(side);
	if (box_ret == 0)
		box_ret = script_verdict(&w, &result, &box_err);
	(void)close(fd_take(&pipe_end));
	if (copy_side_join(side, &side_err) < 0 && (side_first || box_ret == 0)) {
		*err = side_err;
		return -1;
	}
	if (box_ret < 0) {
		*err = box_err;
		return -1;
	}
	pass_words_on(&w, side->observer);
	return 0;
}

/* ---- from a box ---- */

static int unpack_here(struct guest *g, const char *path, const struct copy_place *place,
	const struct copy_options *o, const struct copy_observer *observer, struct error *err)
{
	_cleanup_free_ char *cwd = copy_place_staging(place, err);
	_cleanup_(copy_side_done) struct copy_side side = { .in_fd = -1, .out_fd = -1 };
	struct script script = { .text = copy_script_out, .args = { path }, .stdin_fd = -1 };
	char entries[24], bytes[24], stall[24];
	uint64_t room = o->max_bytes;
	int pair[2];

	if (!cwd || (!room && copy_place_room(place, &room, err) < 0) || open_pipe(pair, err) < 0)
		return -1;
	if (!o->max_bytes)
		room = MIN(room, BYTES_DEFAULT);
	(void)snprintf(entries, sizeof(entries), "%llu",
		(unsigned long long)(o->max_entries ? o->max_entries : ENTRIES_DEFAULT));
	(void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)room);
	(void)snprintf(stall, sizeof(stall), "%d", STALL_MS);
	side.argv[0] = "unpack";
	side.argv[1] = entries;
	side.argv[2] = bytes;
	side.argv[3] = stall;
	side.argv[4] = o->skip_unsafe ? "skip" : "strict";
	side.cwd = cwd;
	side.in_fd = pair[0];
	side.timeout_ms = o->timeout_ms ? o->timeout_ms + SIDE_EXTRA_MS : 0;
	side.interrupt_fd = o->interrupt_fd;
	side.observer = observer;
	script.stdout_fd = pair[1];
	return run_both(g, &side, &script, pair[1], o, err);
}

int copy_from_box(struct guest *g, const char *path, const char *to,
	const struct copy_options *options, const struct copy_observer *observer, struct error *err)
{
	_cleanup_free_ char *source = guest_path(path, err);
	_cleanup_copy_place_ struct copy_place place = { .fd = -1 };
	size_t name_len;
	const char *name;

	if (!source)
		return -1;
	if (str_equal(to, "-"))
		return stream(g,
			&(struct script){ .text = copy_script_cat,
				.args = { source },
				.stdin_fd = -1,
				.stdout_fd = STDOUT_FILENO },
			options, err);
	/* The name is the one that the person wrote, never one that the box says. */
	name = copy_name_last(source, &name_len);
	if (copy_place_open(to, name, name_len, &place, err) < 0 ||
		unpack_here(g, source, &place, options, observer ? observer : &nobody, err) < 0)
		return -1;
	return copy_place_commit(&place, err);
}

/* ---- to a box ---- */

/* 1: the box's tar knows pax and sparse files; 0: it does not. */
static int ask_for_tar(struct guest *g, const struct copy_options *o, struct error *err)
{
	_cleanup_(watches_done) struct watches w = WATCHES_INIT;
	const struct script script = { .text = copy_script_tar, .stdin_fd = -1, .stdout_fd = -1 };
	struct guest_result result;

	if (watches_open(&w, g, NULL, o->interrupt_fd, err) < 0 ||
		run_script(&w, o, &script, &result, err) < 0)
		return -1;
	return guest_result_status(&result) == 0;
}

static int pack_here(struct guest *g, const char *from, bool tree, const char *path,
	const struct copy_options *o, const struct copy_observer *observer, struct error *err)
{
	_cleanup_(copy_side_done) struct copy_side side = { .in_fd = -1, .out_fd = -1 };
	size_t name_len;
	const char *last = copy_name_last(from, &name_len);
	_cleanup_free_ char *name = str_format(err, "%.*s", (int)name_len, last);
	struct script script = { .text = copy_script_in,
		.args = { path, name, tree ? "tree" : "file" },
		.stdout_fd = -1 };
	int gnu = name ? ask_for_tar(g, o, err) : -1, pair[2];

	if (gnu < 0 || open_pipe(pair, err) < 0)
		return -1;
	script.args[3] = gnu ? COPY_SCRIPT_GNU : "";
	side.argv[0] = "pack";
	side.argv[1] = from;
	side.argv[2] = gnu ? "pax" : "plain";
	side.out_fd = pair[1];
	side.timeout_ms = o->timeout_ms ? o->timeout_ms + SIDE_EXTRA_MS : 0;
	side.interrupt_fd = o->interrupt_fd;
	side.observer = observer;
	script.stdin_fd = pair[0];
	return run_both(g, &side, &script, pair[0], o, err);
}

static int save_stream(
	struct guest *g, int fd, const char *path, const struct copy_options *o, struct error *err)
{
	return stream(g,
		&(struct script){ .text = copy_script_save,
			.args = { path },
			.stdin_fd = fd,
			.stdout_fd = -1 },
		o, err);
}

int copy_to_box(struct guest *g, const char *from, const char *path,
	const struct copy_options *options, const struct copy_observer *observer, struct error *err)
{
	_cleanup_free_ char *target = guest_path(path, err);
	_cleanup_close_ int fifo = -1;
	struct stat st;

	if (!target)
		return -1;
	if (str_equal(from, "-"))
		return save_stream(g, STDIN_FILENO, target, options, err);
	if (stat(from, &st) < 0)
		return error_errno(err, errno, "cannot read '%s'", from);
	if (S_ISFIFO(st.st_mode)) {
		fifo = open(from, O_RDONLY | O_CLOEXEC);
		return fifo < 0 ? error_errno(err, errno, "cannot read '%s'", from)
				: save_stream(g, fifo, target, options, err);
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return error_set(err, ERROR_INVALID, "'%s' is neither file nor folder", from);
	return pack_here(
		g, from, S_ISDIR(st.st_mode), target, options, observer ? observer : &nobody, err);
}

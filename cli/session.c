/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/interrupt.h"

enum { ANSWER_MAX = 64 };

static bool env_is_on(const char *name)
{
	const char *value = getenv(name);

	return value && *value && !str_equal(value, "0");
}

void session_init(struct session *s, const struct command *command, const struct call *call,
	char *const *argv)
{
	enum progress_mode mode;

	*s = (struct session){ .command = command, .argv = argv, .global = call->global };
	s->in_tty = isatty(STDIN_FILENO);
	s->out_tty = isatty(STDOUT_FILENO);
	s->err_tty = isatty(STDERR_FILENO);
	s->global.timing |= env_is_on("BOX_TIMING");
	mode = s->global.quiet ? PROGRESS_QUIET : s->err_tty ? PROGRESS_LIVE : PROGRESS_PLAIN;
	progress_init(&s->progress, STDERR_FILENO, mode, s->global.timing);
	s->observer = progress_observer(&s->progress);
}

void session_done(struct session *s)
{
	progress_done(&s->progress);
	box_done(&s->box);
	if (s->conn)
		(void)virConnectClose(s->conn);
	s->conn = NULL;
}

virConnectPtr session_virt(struct session *s, struct error *err)
{
	if (!s->conn)
		s->conn = virt_open(s->global.connect, err);
	return s->conn;
}

/* A word as a shell would need it written. */
static void append_quoted(struct str *into, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_./=:@%+,";

	if (*word && !word[strspn(word, plain)]) {
		str_append(into, word);
		return;
	}
	str_append_char(into, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_append(into, "'\\''");
		else
			str_append_char(into, *word);
	}
	str_append_char(into, '\'');
}

/* This command line with --force in place of --no-input. */
static void append_answer(struct session *s, struct str *into)
{
	str_append(into, "box");
	for (size_t i = 1; s->argv[i]; i++) {
		if (str_equal(s->argv[i], "--no-input"))
			continue;
		str_append_char(into, ' ');
		append_quoted(into, s->argv[i]);
		if (i == 1)
			str_append(into, " --force");
	}
}

/* A byte from standard input; libvirt's daemon is kept content while a person thinks. */
static ssize_t tended_read(struct session *s, char *c, struct error *err)
{
	ssize_t got;

	if (s->conn && virt_wait_readable(s->conn, STDIN_FILENO, UINT64_MAX, err) < 0)
		return -1;
	got = read(STDIN_FILENO, c, 1);
	if (got < 0)
		error_errno(err, errno, "cannot read the answer");
	return got;
}

/* A line from standard input, without reading past it. 0 at end of input, else 1. */
static int read_answer(struct session *s, char *buf, size_t len, struct error *err)
{
	size_t n = 0;
	char c = '\0';

	while (c != '\n') {
		ssize_t got = tended_read(s, &c, err);

		if (got < 0)
			return -1;
		if (got == 0)
			return 0;
		if (c != '\n' && n < len - 1)
			buf[n++] = c;
	}
	buf[n] = '\0';
	return 1;
}

static bool is_yes(const char *answer)
{
	static const char *const yes[] = { "y", "Y", "yes", "Yes", "YES" };

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		if (str_equal(answer, yes[i]))
			return true;
	return false;
}

int session_confirm(struct session *s, const char *act, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	char answer[ANSWER_MAX] = "";
	int got;

	if (s->global.force)
		return 0;
	if (s->global.no_input) {
		append_answer(s, &text);
		return error_set(err, ERROR_USAGE, "cannot %s without an answer; to say yes: %s",
			act, str_get(&text));
	}
	if (!s->in_tty)
		return error_set(err, ERROR_USAGE,
			"refusing to %s: standard input is no terminal to ask on; add --force",
			act);
	str_printf(&text, "box: %s? this cannot be undone. [y/N] ", act);
	progress_pause(&s->progress);
	(void)!write(STDERR_FILENO, str_get(&text), text.len);
	got = read_answer(s, answer, sizeof(answer), err);
	if (got == 0)
		(void)!write(STDERR_FILENO, "\n", 1);
	progress_resume(&s->progress);
	if (got < 0)
		return -1;
	return got && is_yes(answer) ? 0 : error_set(err, ERROR_FAILED, "aborted");
}

/* All arguments, "a, b", or the one that the digit in "{1}" numbers. */
static void append_arguments(const struct call *call, char which, struct str *into)
{
	for (size_t i = 0; i < call->count; i++) {
		if (which != '}' && i != (size_t)(which - '1'))
			continue;
		str_append(into, which == '}' && i ? ", " : "");
		str_append_escaped(into, call->args[i], strlen(call->args[i]), false);
	}
}

/* The row's wording with the arguments in place of "{}", or one of them in place of "{1}", "{2}". */
static int confirm_row(struct session *s, const struct call *call, struct error *err)
{
	const char *rest = s->command->confirm, *gap;
	_cleanup_str_ struct str act = STR_INIT;

	while ((gap = strchr(rest, '{'))) {
		str_append_len(&act, rest, (size_t)(gap - rest));
		append_arguments(call, gap[1], &act);
		rest = strchr(gap, '}') + 1;
	}
	str_append(&act, rest);
	if (str_ok(&act, err) < 0)
		return -1;
	return session_confirm(s, str_get(&act), err);
}

static int need_state(struct session *s, unsigned needs, struct error *err)
{
	const char *name = s->box.name;
	enum box_state state;

	if (!(needs & (NEED_STOPPED | NEED_RUNNING)))
		return 0;
	if (box_get_state(&s->box, &state, err) < 0)
		return -1;
	if ((needs & NEED_STOPPED) && state != BOX_STOPPED)
		return error_set(err, ERROR_BUSY, "box '%s' is %s; stop it first: box down %s",
			name, box_state_name(state), name);
	if (!(needs & NEED_RUNNING) || state == BOX_RUNNING)
		return 0;
	if (state == BOX_PAUSED)
		return error_set(err, ERROR_BUSY,
			"box '%s' is paused; let it run on: box virsh %s -- resume", name, name);
	s->fault = FAULT_BOX_STOPPED;
	return error_set(
		err, ERROR_BUSY, "box '%s' is stopped; start it: box start %s", name, name);
}

int session_find_box(struct session *s, const char *name, unsigned needs, struct error *err)
{
	box_done(&s->box);
	if (box_find(s->conn, name, &s->box, err) < 0) {
		if (err->kind == ERROR_NOT_FOUND)
			s->fault = FAULT_BOX_MISSING;
		return -1;
	}
	return need_state(s, needs, err);
}

static int need_boxes(struct session *s, const struct call *call, struct error *err)
{
	for (size_t i = 0; i < call->count; i++) {
		_cleanup_box_ struct box box = { 0 };

		if (box_find(s->conn, call->args[i], &box, err) < 0)
			return -1;
	}
	return 0;
}

int session_prepare(struct session *s, const struct call *call, struct error *err)
{
	unsigned needs = s->command->needs;

	/* The commands that run something in a box pass signals on to it, in their own way. */
	if (!(needs & RUN_CONTRACT)) {
		if (interrupt_watch(err) < 0)
			return -1;
		virt_interrupt_flag(interrupt_flag());
	}
	s->fault = (needs & NEED_BOX) ? FAULT_AGENT_UNREACHABLE : FAULT_START_FAILED;
	if ((needs & NEED_ROOT) && geteuid() != 0)
		return error_set(err, ERROR_DENIED,
			"'box %s' changes the host and must be run as root", s->command->name);
	if ((needs & (NEED_VIRT | NEED_BOX | NEED_BOXES)) && !session_virt(s, err))
		return -1;
	if ((needs & NEED_BOX) && session_find_box(s, call->args[0], needs, err) < 0)
		return -1;
	if ((needs & NEED_BOXES) && need_boxes(s, call, err) < 0)
		return -1;
	return (needs & CONFIRM) ? confirm_row(s, call, err) : 0;
}

void session_warn(struct session *s, const char *fmt, ...)
{
	_cleanup_str_ struct str text = STR_INIT, shown = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	str_append_escaped(&shown, str_get(&text), text.len, true);
	progress_message(&s->progress, "warning: %s", str_get(&shown));
}

void session_note(struct session *s, const char *fmt, ...)
{
	va_list ap;

	if (s->global.quiet)
		return;
	va_start(ap, fmt);
	progress_messagev(&s->progress, fmt, ap);
	va_end(ap);
}

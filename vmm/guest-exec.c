/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: the same as in the agent. Watches only set flags; a round of steps moves what can be moved
 * without waiting; a turn of the loop ends when one of the things that are missing is there. What is
 * watched is decided before each turn: stdin only while there is credit and room for what it gives, an
 * output only while something is held for it, so nothing spins and nothing is read that cannot be sent.
 *
 * Descriptors belong to the caller, and are shared with whatever else has them open: their O_NONBLOCK is
 * not ours to set. A pipe or terminal is opened anew through /proc/self/fd, which gives flags of our
 * own; where that is refused, writes are kept to what a pipe takes without waiting once it is writable.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/frame-stream.h"
#include "base/clock.h"
#include "base/fd.h"
#include "vmm/guest-session.h"
#include "vmm/virt.h"

enum {
	START_MS = 30000, /* for the request to be taken */
	OVERTIME_MS = 20000, /* after a time limit, for the box to act on it */
	SIGNALS_MAX = 3,
};

/* One of the caller's descriptors in the loop. */
struct tap {
	int fd; /* -1: none */
	int own; /* owned: opened anew; -1: fd is used */
	int watch; /* -1: cannot be watched */
	int events; /* watched for */
	bool ready;
	bool patient; /* it never waits: worth trying again without asking */
	size_t most; /* bytes per write */
};

struct pump {
	struct guest *g;
	const struct guest_exec *request;
	struct frame_outlet in;
	struct frame_inlet out, errs;
	struct tap in_tap, out_tap, err_tap, signal_tap;
	bool started, exited;
	unsigned signals;
	uint64_t overtime; /* deadline for the box to act on its time limit; 0: none */
	struct guest_result result;
};

static void on_tap(int watch, int fd, int events, void *data)
{
	struct tap *tap = data;

	(void)watch;
	(void)fd;
	(void)events;
	tap->ready = true;
}

/*
 * Flags of our own for a pipe or terminal. A regular file needs none, since it does not wait for anybody;
 * what else there is, is used as it is.
 */
static void open_anew(struct tap *tap, int mode)
{
	struct stat st = { 0 };
	char path[32];

	(void)fstat(tap->fd, &st);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", tap->fd);
		tap->own = open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	} else {
		tap->patient = S_ISREG(st.st_mode);
	}
	tap->patient |= tap->own >= 0;
	tap->most = tap->patient ? SIZE_MAX : PIPE_BUF;
}

static int tap_open(struct tap *tap, int fd, int mode, struct error *err)
{
	*tap = (struct tap){ .fd = fd, .own = -1, .watch = -1, .most = SIZE_MAX };
	if (fd < 0 || fcntl(fd, F_GETFD) < 0) {
		tap->fd = -1;
		return 0;
	}
	if (mode >= 0)
		open_anew(tap, mode);
	tap->watch = virEventAddHandle(tap->own >= 0 ? tap->own : fd, 0, on_tap, tap, NULL);
	return tap->watch < 0 ? error_virt(err, "cannot watch descriptor %d", fd) : 0;
}

static int tap_fd(const struct tap *tap)
{
	return tap->own >= 0 ? tap->own : tap->fd;
}

static void tap_close(struct tap *tap)
{
	if (tap->watch >= 0)
		(void)virEventRemoveHandle(tap->watch);
	cleanup_close_p(&tap->own);
	*tap = (struct tap){ .fd = -1, .own = -1, .watch = -1 };
}

static void tap_want(struct tap *tap, int events)
{
	if (tap->watch < 0 || tap->events == events)
		return;
	tap->events = events;
	virEventUpdateHandle(tap->watch, events);
}

static void pump_done(struct pump *p)
{
	tap_close(&p->in_tap);
	tap_close(&p->out_tap);
	tap_close(&p->err_tap);
	tap_close(&p->signal_tap);
	frame_inlet_done(&p->out);
	frame_inlet_done(&p->errs);
}

/* It has nothing to carry: the command gets the box's own, which is what it is here, and no pipe. */
static bool is_null(int fd)
{
	struct stat null, st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev;
}

static int pump_open(struct pump *p, struct guest *g, const struct guest_exec *r, struct error *err)
{
	*p = (struct pump){ .g = g, .request = r };
	p->in_tap = p->out_tap = p->err_tap = p->signal_tap = (struct tap){
		.fd = -1, .own = -1, .watch = -1
	};
	if (tap_open(&p->in_tap, is_null(r->stdin_fd) && !(r->flags & GUEST_TTY) ? -1 : r->stdin_fd,
		    O_RDONLY, err) < 0 ||
		tap_open(&p->out_tap, r->stdout_fd, O_WRONLY, err) < 0 ||
		tap_open(&p->err_tap, r->stderr_fd, O_WRONLY, err) < 0 ||
		tap_open(&p->signal_tap, r->signal_fd > 0 ? r->signal_fd : -1, -1, err) < 0)
		return -1;
	frame_outlet_open(&p->in, FRAME_STDIN);
	if (frame_inlet_open(&p->out, FRAME_STDOUT, err) < 0)
		return -1;
	return frame_inlet_open(&p->errs, FRAME_STDERR, err);
}

/* ---- the request ---- */

static unsigned wire_flags(const struct pump *p)
{
	const struct guest_exec *r = p->request;

	return (r->flags & GUEST_TTY ? EXEC_TTY : 0u) | (r->flags & GUEST_LOGIN ? EXEC_LOGIN : 0u) |
	       (r->flags & GUEST_SHELL ? EXEC_SHELL : 0u) | (p->in_tap.fd >= 0 ? EXEC_STDIN : 0u);
}

static void put_texts(struct str *fields, enum field_tag tag, const char *const *texts)
{
	for (; texts && *texts; texts++)
		field_put_text(fields, tag, *texts);
}

static int send_request(struct pump *p, struct error *err)
{
	_cleanup_str_ struct str fields = STR_INIT;
	const struct guest_exec *r = p->request;
	uint8_t size[4];

	put_texts(&fields, FIELD_ARG, r->argv);
	put_texts(&fields, FIELD_ENV, r->env);
	if (r->cwd)
		field_put_text(&fields, FIELD_CWD, r->cwd);
	if (r->user)
		field_put_text(&fields, FIELD_USER, r->user);
	field_put_u32(&fields, FIELD_FLAGS, wire_flags(p));
	if (r->timeout_ms)
		field_put_u32(
			&fields, FIELD_TIMEOUT, (uint32_t)MIN(r->timeout_ms, (uint64_t)UINT32_MAX));
	if (r->rows && r->cols) {
		frame_set_u16(size, (uint16_t)MIN(r->rows, 65535u));
		frame_set_u16(size + 2, (uint16_t)MIN(r->cols, 65535u));
		field_put(&fields, FIELD_WINDOW_SIZE, size, sizeof(size));
	}
	if (guest_send(p->g, FRAME_EXEC, &fields, clock_ms() + START_MS, err) < 0)
		return -1;
	if (p->in_tap.fd < 0)
		frame_outlet_eof(&p->in, &p->g->writer);
	if (r->timeout_ms)
		p->overtime = clock_ms() + r->timeout_ms + OVERTIME_MS;
	return 0;
}

/* ---- frames from the box ---- */

static int take_exit(struct pump *p, const struct frame *frame, struct error *err)
{
	const uint8_t *b = frame->payload;

	if (frame->len != 3 || !p->started || b[0] > FRAME_SIGNALLED || b[2] > 1 ||
		(b[0] == FRAME_SIGNALLED && (!b[1] || b[1] > 127)))
		return guest_unexpected(frame, err);
	p->exited = true;
	p->out.eof = p->errs.eof = true;
	p->result.code = b[1];
	p->result.outcome = b[2]                      ? GUEST_TIMED_OUT
			    : b[0] == FRAME_SIGNALLED ? GUEST_SIGNALLED
						      : GUEST_EXITED;
	return 0;
}

static int take_refused(struct pump *p, const struct frame *frame, struct error *err)
{
	enum refuse_reason reason;
	struct error why = { 0 };
	int errnum;

	(void)guest_refused(frame, &reason, &errnum, &why);
	if (why.kind == ERROR_INVALID || p->started)
		return guest_unexpected(frame, err);
	if (reason != REFUSE_EXEC) {
		*err = why;
		if (reason == REFUSE_CWD)
			error_wrap(err, "cannot enter '%s' in the box",
				p->request->cwd ? p->request->cwd : "~");
		else if (reason != REFUSE_USER)
			error_wrap(err, "the box cannot run the command");
		return -1;
	}
	p->exited = true;
	p->out.eof = p->errs.eof = true;
	p->result.outcome = GUEST_NOT_EXECUTABLE;
	p->result.code = errnum ? errnum : ENOEXEC;
	(void)snprintf(p->result.detail, sizeof(p->result.detail), "%s", strerror(p->result.code));
	return 0;
}

static int take_stream(struct pump *p, const struct frame *frame, struct error *err)
{
	const uint8_t *b = frame->payload;

	if (frame->type == FRAME_CREDIT && frame->len == 5 && b[0] == FRAME_STDIN)
		return frame_outlet_credit(&p->in, frame_get_u32(b + 1), err);
	if (frame->type == FRAME_CLOSE && frame->len == 1 && b[0] == FRAME_STDIN) {
		p->in.closed = true;
		return 0;
	}
	if (frame->type == FRAME_EOF && frame->len == 1 && b[0] == FRAME_STDOUT && !p->out.eof) {
		p->out.eof = true;
		return 0;
	}
	if (frame->type == FRAME_EOF && frame->len == 1 && b[0] == FRAME_STDERR && !p->errs.eof) {
		p->errs.eof = true;
		return 0;
	}
	return guest_unexpected(frame, err);
}

static int take_frame(struct pump *p, const struct frame *frame, struct error *err)
{
	if (p->exited)
		return guest_unexpected(frame, err);
	switch (frame->type) {
	case FRAME_STARTED:
		if (p->started || frame->len != 4)
			return guest_unexpected(frame, err);
		p->started = true;
		return 0;
	case FRAME_STDOUT:
	case FRAME_STDERR:
		if (!p->started)
			return guest_unexpected(frame, err);
		if (frame_inlet_take(frame->type == FRAME_STDOUT ? &p->out : &p->errs, frame, err) <
			0)
			return error_wrap(err, "the agent of the box sent");
		return 0;
	case FRAME_EXIT:
		return take_exit(p, frame, err);
	case FRAME_REFUSED:
		return take_refused(p, frame, err);
	default:
		return take_stream(p, frame, err);
	}
}

/* ---- steps: 1 when something moved, 0, -1 ---- */

static int step_frames(struct pump *p, struct error *err)
{
	struct frame frame;
	int found, moved = 0;

	while (frame_writer_can_answer(&p->g->writer) &&
		(found = guest_next(p->g, &frame, err)) != 0) {
		if (found < 0 || take_frame(p, &frame, err) < 0)
			return -1;
		moved = 1;
	}
	return moved;
}

static int step_input(struct pump *p)
{
	ssize_t n;

	if (p->in_tap.fd < 0 || !p->in_tap.ready || !p->started ||
		!frame_outlet_room(&p->in, &p->g->writer))
		return 0;
	n = frame_outlet_read(&p->in, &p->g->writer, tap_fd(&p->in_tap));
	p->in_tap.ready = p->in_tap.patient && n > 0;
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		/* The end; an input that cannot be read has none either. */
		frame_outlet_eof(&p->in, &p->g->writer);
		tap_close(&p->in_tap);
	}
	return 1;
}

static int step_output(struct pump *p, struct frame_inlet *in, struct tap *tap)
{
	int moved;

	if (!in->len)
		return 0;
	/* Nobody wants it: it is taken and dropped, so that the command goes on. */
	if (tap->fd < 0) {
		in->consumed += (uint32_t)in->len;
		in->head = in->len = 0;
		frame_inlet_grant(in, &p->g->writer);
		return 1;
	}
	if (!tap->ready)
		return 0;
	moved = frame_inlet_write(in, tap_fd(tap), tap->most);
	tap->ready = tap->patient && moved > 0;
	if (moved < 0) {
		frame_inlet_close(in, &p->g->writer);
		return 1;
	}
	frame_inlet_grant(in, &p->g->writer);
	return moved;
}

static void forward_resize(struct pump *p)
{
	struct winsize size = { 0 };
	uint8_t payload[4];

	if (!(p->request->flags & GUEST_TTY) || ioctl(p->request->tty_fd, TIOCGWINSZ, &size) < 0)
		return;
	frame_set_u16(payload, size.ws_row);
	frame_set_u16(payload + 2, size.ws_col);
	frame_put(&p->g->writer, FRAME_RESIZE, 0, payload, sizeof(payload));
}

static int forward_signal(struct pump *p, int signal, struct error *err)
{
	bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;

	if (signal == SIGWINCH) {
		forward_resize(p);
		return 0;
	}
	if (ends && (p->exited || ++p->signals >= SIGNALS_MAX))
		return error_set(err, ERROR_INTERRUPTED, "interrupted");
	frame_put(&p->g->writer, FRAME_SIGNAL, 0, &(uint8_t){ (uint8_t)signal }, 1);
	return 0;
}

static int step_signals(struct pump *p, struct error *err)
{
	struct signalfd_siginfo info;

	if (p->signal_tap.fd < 0 || !p->signal_tap.ready || !frame_writer_can_answer(&p->g->writer))
		return 0;
	p->signal_tap.ready = false;
	/* One a turn: the descriptor may be a blocking one. */
	if (read(p->signal_tap.fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return forward_signal(p, (int)info.ssi_signo, err) < 0 ? -1 : 1;
}

static bool is_finished(const struct pump *p)
{
	return p->exited && frame_inlet_finished(&p->out) && frame_inlet_finished(&p->errs);
}

static void want(struct pump *p)
{
	bool in = p->started && frame_outlet_room(&p->in, &p->g->writer);

	tap_want(&p->in_tap, in ? VIR_EVENT_HANDLE_READABLE : 0);
	tap_want(&p->out_tap, p->out.len ? VIR_EVENT_HANDLE_WRITABLE : 0);
	tap_want(&p->err_tap, p->errs.len ? VIR_EVENT_HANDLE_WRITABLE : 0);
	tap_want(&p->signal_tap, VIR_EVENT_HANDLE_READABLE);
}

/* The box had its time limit, and then some, and does not end the command. */
static bool is_overdue(const struct pump *p)
{
	return p->overtime && clock_ms() >= p->overtime && !p->exited && !p->out.len &&
	       !p->errs.len;
}

static int pump_round(struct pump *p, struct error *err)
{
	int moved = step_frames(p, err), n;

	if (moved < 0)
		return -1;
	n = step_signals(p, err);
	if (n < 0)
		return -1;
	moved |= n | step_input(p) | step_output(p, &p->out, &p->out_tap) |
		 step_output(p, &p->errs, &p->err_tap);
	if (is_finished(p))
		return 0;
	/* After its EXIT the box may go away; what it sent is still to be written. */
	n = p->exited ? 0 : guest_pump(p->g, err);
	return n < 0 ? -1 : moved | n;
}

/* Waiting for our own reader only: the channel is out of it. */
static int turn(struct pump *p, struct error *err)
{
	bool ended = p->g->ended;
	int ret;

	want(p);
	if (p->exited)
		p->g->ended = false;
	/* The time limit is over when the output is with our reader: it decides. */
	ret = guest_turn(p->g, p->exited || p->out.len || p->errs.len ? 0 : p->overtime, err);
	p->g->ended = ended;
	return ret;
}

static int pump_run(struct pump *p, struct error *err)
{
	if (send_request(p, err) < 0)
		return -1;
	while (!is_finished(p)) {
		int moved = pump_round(p, err);

		if (moved < 0)
			return -1;
		if (is_overdue(p)) {
			p->result.outcome = GUEST_TIMED_OUT;
			return 0;
		}
		if (!moved && !is_finished(p) && turn(p, err) < 0)
			return -1;
	}
	return 0;
}

int guest_exec(struct guest *g, const struct guest_exec *request, struct guest_result *ret,
	struct error *err)
{
	_cleanup_(pump_done) struct pump p = { 0 };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int result;

	(void)sigaction(SIGPIPE, &ignore, &before);
	result = pump_open(&p, g, request, err) < 0 ? -1 : pump_run(&p, err);
	(void)sigaction(SIGPIPE, &before, NULL);
	if (result < 0)
		return -1;
	*ret = p.result;
	return 0;
}

int guest_result_status(const struct guest_result *r)
{
	switch (r->outcome) {
	case GUEST_EXITED:
		return r->code;
	case GUEST_SIGNALLED:
		return 128 + r->code;
	case GUEST_TIMED_OUT:
		return 124;
	default:
		return 127;
	}
}

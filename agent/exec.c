/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every turn of the loop and every write to the port costs a short command more than its own work does, so
 * there are as few as can be:
 *
 *	The agent holds the writing ends of stdout and stderr until the command has ended. So the end of
 *	each is not an event of its own: what is told at the end of the command is told in one write.
 *
 *	STARTED waits a moment for what the command has to say, unless the host has input for it, which
 *	it sends when it has seen STARTED.
 */
#include "agent/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#include "agent/login-memory.h"
#include "base/clock.h"
#include "base/fd.h"

enum {
	PIPE_BYTES = 262144,
	TELL_MS = 10,
	TTY_LEFT = 131072, /* more than a terminal can hold after its last writer's exit */
};

/* Our ends of the command's streams, theirs are closed after the fork. */
struct stdio {
	int ours[3], theirs[3]; /* -1: none */
};

static void stdio_done(struct stdio *s)
{
	for (int i = 0; i < 3; i++) {
		cleanup_close_p(&s->ours[i]);
		cleanup_close_p(&s->theirs[i]);
	}
}

/* One pipe; number 0 is the command's input. */
static int stdio_pipe(struct stdio *s, int number, struct error *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot make a pipe");
	/* Fewer turns for bulk data. A user's limit on pipe memory may refuse it: no matter. */
	(void)fcntl(pair[0], F_SETPIPE_SZ, PIPE_BYTES);
	s->theirs[number] = pair[number ? 1 : 0];
	s->ours[number] = pair[number ? 0 : 1];
	return fd_set_nonblock(s->ours[number], err);
}

static int stdio_pipes(struct stdio *s, const struct exec_request *r, struct error *err)
{
	if (r->flags & EXEC_STDIN) {
		if (stdio_pipe(s, 0, err) < 0)
			return -1;
	} else {
		s->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (s->theirs[0] < 0)
			return error_errno(err, errno, "cannot open '/dev/null'");
	}
	return stdio_pipe(s, 1, err) < 0 ? -1 : stdio_pipe(s, 2, err);
}

/* The slave is the user's, so that programs may open their terminal by name. */
static void tty_prepare(int slave, const struct exec_request *r, const struct account *a)
{
	struct winsize size = { .ws_row = r->rows, .ws_col = r->cols };
	struct termios t;

	if (geteuid() == 0) {
		(void)!fchown(slave, a->uid, account_group("", "tty", a->gid));
		(void)fchmod(slave, 0620);
	}
	if (tcgetattr(slave, &t) == 0) {
		t.c_iflag |= IUTF8;
		(void)tcsetattr(slave, TCSANOW, &t);
	}
	if (r->rows && r->cols)
		(void)ioctl(slave, TIOCSWINSZ, &size);
}

static int stdio_tty(
	struct stdio *s, const struct exec_request *r, const struct account *a, struct error *err)
{
	int unlock = 0;

	s->ours[1] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (s->ours[1] < 0)
		return error_errno(err, errno, "cannot make a terminal");
	if (ioctl(s->ours[1], TIOCSPTLCK, &unlock) < 0)
		return error_errno(err, errno, "cannot unlock a terminal");
	s->theirs[0] = ioctl(s->ours[1], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->theirs[0] < 0)
		return error_errno(err, errno, "cannot open a terminal");
	tty_prepare(s->theirs[0], r, a);
	return 0;
}

static int open_streams(struct exec *e, struct stdio *s, bool in, int epoll, struct error *err)
{
	struct source *const sources[] = { &e->in, &e->out, &e->errs };

	for (int i = 0; i < 3; i++) {
		int fd = fd_take(&s->ours[i]);

		if (fd >= 0 && source_open(sources[i], epoll, fd, err) < 0)
			return -1;
	}
	if (in && frame_inlet_open(&e->stdin_data, FRAME_STDIN, err) < 0)
		return -1;
	frame_outlet_open(&e->stdout_data, FRAME_STDOUT);
	frame_outlet_open(&e->stderr_data, FRAME_STDERR);
	return 0;
}

static int start_process(
	struct exec *e, const struct process_spec *spec, int epoll, struct error *err)
{
	int report;

	if (process_spawn(&e->process, spec, epoll, &report, err) < 0)
		return -1;
	return source_open(&e->report, epoll, report, err);
}

static int exec_open(struct exec *e, const struct exec_request *r, const struct account *a,
	const struct process_spec *wanted, int epoll, struct error *err)
{
	_cleanup_(stdio_done) struct stdio s = { { -1, -1, -1 }, { -1, -1, -1 } };
	_cleanup_(environment_done) struct text_vec env = VEC_INIT;
	struct process_spec spec = *wanted; /* ours: it points to env */

	e->tty = r->flags & EXEC_TTY;
	e->fed = e->tty || r->flags & EXEC_STDIN;
	if ((e->tty ? stdio_tty(&s, r, a, err) : stdio_pipes(&s, r, err)) < 0)
		return -1;
	if (account_environment("", a, &env, err) < 0)
		return -1;
	if (e->tty && environment_set(&env, "TERM=xterm", err) < 0)
		return -1;
	spec.env_file = -1;
	if (spec.login && !spec.shell && spec.program &&
		login_recall("", a, spec.env, &env, &spec.env_file))
		spec.login = false;
	spec.login_env = &env;
	for (int i = 0; i < 3; i++)
		spec.stdio[i] = e->tty ? s.theirs[0] : s.theirs[i];
	if (open_streams(e, &s, e->fed, epoll, err) < 0 || start_process(e, &spec, epoll, err) < 0)
		return -1;
	if (!e->tty) {
		e->held[0] = fd_take(&s.theirs[1]);
		e->held[1] = fd_take(&s.theirs[2]);
	}
	return 0;
}

int exec_start(struct exec *e, const struct exec_request *request, int epoll, const char *root,
	const char *program, enum refuse_reason *ret_reason, struct error *err)
{
	_cleanup_(account_done) struct account a = { 0 };
	struct process_spec spec = {
		.args = &request->args,
		.env = &request->env,
		.account = &a,
		.cwd = request->cwd,
		.program = program,
		.login = request->flags & EXEC_LOGIN,
		.shell = request->flags & EXEC_SHELL,
		.tty = request->flags & EXEC_TTY,
	};

	*e = (struct exec){ .process.pidfd = SOURCE_NONE,
		.in = SOURCE_NONE,
		.out = SOURCE_NONE,
		.errs = SOURCE_NONE,
		.report = SOURCE_NONE,
		.held = { -1, -1 } };
	*ret_reason = REFUSE_USER;
	if (account_find(root, request->user ? request->user : "root", &a, err) < 0)
		return -1;
	*ret_reason = REFUSE_SYSTEM;
	if (exec_open(e, request, &a, &spec, epoll, err) < 0) {
		struct process left;

		exec_drop(e, epoll, &left);
		if (left.pid) {
			(void)kill(left.pid, SIGKILL);
			(void)waitpid(left.pid, NULL, 0);
			source_close(&left.pidfd, epoll);
		}
		return -1;
	}
	if (request->timeout_ms)
		e->deadline = clock_ms() + request->timeout_ms;
	return 0;
}

static void let_go(struct exec *e)
{
	cleanup_close_p(&e->held[0]);
	cleanup_close_p(&e->held[1]);
}

void exec_drop(struct exec *e, int epoll, struct process *ret_process)
{
	int terminal = e->tty ? e->out.fd : -1;

	if (e->process.pid)
		process_hang_up(&e->process, terminal);
	source_close(&e->in, epoll);
	source_close(&e->out, epoll);
	source_close(&e->errs, epoll);
	source_close(&e->report, epoll);
	let_go(e);
	frame_inlet_done(&e->stdin_data);
	process_move(ret_process, &e->process, epoll);
}

/* ---- from the host ---- */

static int frame_stream(struct exec *e, const struct frame *frame, struct frame_writer *w,
	int epoll, struct error *err)
{
	struct frame_outlet *out;
	struct source *source;

	if (frame->len < 1)
		return error_set(
			err, ERROR_INVALID, "a cut %s frame", frame_type_name(frame->type));
	if (frame->type == FRAME_EOF && frame->payload[0] == FRAME_STDIN && frame->len == 1) {
		e->stdin_data.eof = true;
		return 0;
	}
	out = frame->payload[0] == FRAME_STDOUT   ? &e->stdout_data
	      : frame->payload[0] == FRAME_STDERR ? &e->stderr_data
						  : NULL;
	if (out && frame->type == FRAME_CREDIT && frame->len == 5)
		return frame_outlet_credit(out, frame_get_u32(frame->payload + 1), err);
	if (!out || frame->type != FRAME_CLOSE || frame->len != 1)
		return error_set(
			err, ERROR_INVALID, "a malformed %s frame", frame_type_name(frame->type));
	/* Nobody reads it: the command gets SIGPIPE, or loses its terminal. */
	out->closed = true;
	source = out == &e->stdout_data ? &e->out : &e->errs;
	if (e->tty && source == &e->out)
		frame_inlet_close(&e->stdin_data, w);
	source_close(source, epoll);
	return 0;
}

static int frame_signal(struct exec *e, const struct frame *frame, struct error *err)
{
	const int allowed[] = { SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGKILL,
		SIGTSTP, SIGCONT };

	for (size_t i = 0; frame->len == 1 && i < ARRAY_LEN(allowed); i++) {
		if (frame->payload[0] == allowed[i]) {
			process_signal(&e->process, allowed[i], e->tty ? e->out.fd : -1);
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID, "a signal that cannot be sent");
}

static int frame_resize(struct exec *e, const struct frame *frame, struct error *err)
{
	struct winsize size = { 0 };

	if (frame->len != 4)
		return error_set(err, ERROR_INVALID, "a malformed RESIZE frame");
	size.ws_row = frame_get_u16(frame->payload);
	size.ws_col = frame_get_u16(frame->payload + 2);
	if (e->tty && e->out.fd >= 0)
		(void)ioctl(e->out.fd, TIOCSWINSZ, &size);
	return 0;
}

int exec_frame(struct exec *e, const struct frame *frame, struct frame_writer *w, int epoll,
	struct error *err)
{
	switch (frame->type) {
	case FRAME_STDIN:
		return frame_inlet_take(&e->stdin_data, frame, err);
	case FRAME_SIGNAL:
		return frame_signal(e, frame, err);
	case FRAME_RESIZE:
		return frame_resize(e, frame, err);
	default:
		return frame_stream(e, frame, w, epoll, err);
	}
}

/* ---- steps ---- */

static struct source *input_of(struct exec *e)
{
	return e->tty ? &e->out : &e->in;
}

/* A terminal has no end of file of its own: it is a character at the start of a line. */
static void input_end(struct exec *e, int epoll)
{
	struct termios t;

	if (e->eof_sent || !frame_inlet_finished(&e->stdin_data) || !e->stdin_data.data)
		return;
	e->eof_sent = true;
	if (!e->tty)
		source_close(&e->in, epoll);
	else if (e->out.fd >= 0 && tcgetattr(e->out.fd, &t) == 0 && t.c_lflag & ICANON)
		(void)!write(e->out.fd, &t.c_cc[VEOF], 1);
}

static void step_input(struct exec *e, struct frame_writer *w, int epoll, bool *progress)
{
	struct source *s = input_of(e);
	int moved;

	/* The command has closed its input: tell the host, which need not read its own any more. */
	if (!e->tty && s->fd >= 0 && s->hangup && frame_writer_can_answer(w)) {
		frame_inlet_close(&e->stdin_data, w);
		source_close(s, epoll);
		return;
	}
	if (s->fd >= 0 && s->writable && e->stdin_data.len) {
		size_t held = e->stdin_data.len;

		moved = frame_inlet_write(&e->stdin_data, s->fd, SIZE_MAX);
		if (moved < 0) {
			s->hangup = true; /* EPIPE, EIO */
			s->writable = !e->tty;
		} else if (!moved) {
			s->writable = false;
		}
		*progress |= e->stdin_data.len != held || moved < 0;
		frame_inlet_grant(&e->stdin_data, w);
	}
	input_end(e, epoll);
}

static void step_output(struct exec *e, struct source *s, struct frame_outlet *out, size_t *left,
	struct frame_writer *w, int epoll, bool *progress)
{
	size_t room = frame_outlet_room(out, w);
	ssize_t n;

	if (s->fd < 0 || !s->readable || !room)
		return;
	n = frame_outlet_read(out, w, s->fd);
	if (n > 0) {
		*progress = true;
		if (!e->ended)
			return;
		/* A process that the command left behind may write for ever. */
		*left -= MIN(*left, (size_t)n);
		if (*left)
			return;
	} else if (!e->ended && (e->tty || (n < 0 && errno == EAGAIN))) {
		/*
		 * A terminal that nobody has open now says EIO; it may be opened again, and closing our end
		 * would kill the command with SIGHUP while it is about to exit.
		 */
		s->readable = false;
		return;
	}
	*progress = true;
	source_close(s, epoll);
	frame_outlet_eof(out, w);
}

/* The report pipe: ends when the command has begun, says why if it could not. */
static void step_report(struct exec *e, int epoll, uint64_t now, bool *progress)
{
	ssize_t n;

	if (e->report.fd < 0 || !e->report.readable)
		return;
	n = read(e->report.fd, (uint8_t *)&e->failure + e->failure_len,
		sizeof(e->failure) - e->failure_len);
	if (n < 0) {
		e->report.readable = false;
		return;
	}
	*progress = true;
	e->failure_len += (size_t)n;
	if (n > 0 && e->failure_len < sizeof(e->failure))
		return;
	source_close(&e->report, epoll);
	if (e->failure_len)
		return;
	e->running = true;
	e->started_pid = (uint32_t)e->process.pid;
	e->tell_at = now + (e->fed ? 0 : TELL_MS);
}

/* True when STARTED was put, which comes before all else. */
static bool step_started(struct exec *e, struct frame_writer *w, uint64_t now, bool *progress)
{
	uint8_t pid[4];

	if (!e->tell_at)
		return true;
	if (!e->ended && !e->out.readable && !e->errs.readable && now < e->tell_at)
		return false;
	if (!frame_writer_can_answer(w)) {
		e->tell_at = now + TELL_MS;
		return false;
	}
	e->tell_at = 0;
	frame_set_u32(pid, e->started_pid);
	frame_put(w, FRAME_STARTED, 0, pid, sizeof(pid));
	*progress = true;
	return true;
}

static size_t unread(const struct source *s)
{
	int bytes = 0;

	return s->fd >= 0 && ioctl(s->fd, FIONREAD, &bytes) == 0 ? (size_t)MAX(bytes, 0) : 0;
}

static void step_end(struct exec *e, int epoll, bool *progress)
{
	if (e->report.fd >= 0 || !process_reap(&e->process, epoll, e->timed_out, &e->status))
		return;
	*progress = true;
	e->ended = true;
	let_go(e);
	e->out_left = e->tty ? TTY_LEFT : unread(&e->out);
	e->err_left = unread(&e->errs);
	/* One last look at each, even if it was empty a moment ago. */
	e->out.readable = e->errs.readable = true;
	frame_inlet_done(&e->stdin_data);
	e->stdin_data.closed = true;
	e->stdin_data.granted = FRAME_WINDOW;
	source_close(&e->in, epoll);
}

static void put_exit(const struct exec *e, struct frame_writer *w)
{
	bool signalled = WIFSIGNALED(e->status);
	uint8_t payload[3] = { signalled ? FRAME_SIGNALLED : FRAME_EXITED,
		(uint8_t)(signalled ? WTERMSIG(e->status) : WEXITSTATUS(e->status)), e->timed_out };

	frame_put(w, FRAME_EXIT, 0, payload, sizeof(payload));
}

enum exec_state exec_step(
	struct exec *e, struct frame_writer *w, int epoll, uint64_t now, bool *progress)
{
	step_report(e, epoll, now, progress);
	if (e->deadline && now >= e->deadline && e->process.pid) {
		e->deadline = 0;
		e->timed_out = true;
		process_terminate(&e->process, e->tty ? e->out.fd : -1);
	}
	process_tick(&e->process, now);
	step_end(e, epoll, progress);
	if (e->failure_len)
		return e->ended ? EXEC_ENDED : EXEC_RUNS;
	if (!e->running || !step_started(e, w, now, progress))
		return EXEC_RUNS;
	if (!e->ended)
		step_input(e, w, epoll, progress);
	step_output(e, &e->out, &e->stdout_data, &e->out_left, w, epoll, progress);
	step_output(e, &e->errs, &e->stderr_data, &e->err_left, w, epoll, progress);
	if (!e->ended || e->out.fd >= 0 || e->errs.fd >= 0 || !frame_writer_can_answer(w))
		return EXEC_RUNS;
	put_exit(e, w);
	return EXEC_ENDED;
}

uint64_t exec_deadline(const struct exec *e)
{
	return deadline_min(e->deadline, deadline_min(e->tell_at, e->process.next_at));
}

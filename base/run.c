/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: the child is made with fork and execvp; a close-on-exec pipe carries the errno of a failed
 * exec back, so "no such program" is told apart from "the program failed". The parent polls stderr
 * and stdout together until both are closed and the child is gone; a pidfd wakes it, so it never
 * sleeps and looks. A grandchild that keeps the pipes open does not keep us: once the child has ended,
 * what is there is read and the rest is left.
 */
#include "base/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"

enum {
	TAIL_MAX = 600,
	LINE_MAX_BYTES = 4096,
	OUT_LINE_MAX_BYTES = 65536,
	KILL_AFTER_MS = 2000,
	CLEAN_UP_MS = 10000
};

struct child {
	const struct run *run;
	pid_t pid;
	int pidfd, out, errs; /* -1 when closed */
	struct str tail, line, out_line;
	bool overflow, terminated, interrupted;
	uint64_t deadline; /* milliseconds of CLOCK_MONOTONIC, 0: none */
};

static void child_done(struct child *c)
{
	if (c->pidfd >= 0)
		(void)close(c->pidfd);
	if (c->out >= 0)
		(void)close(c->out);
	if (c->errs >= 0)
		(void)close(c->errs);
	str_done(&c->tail);
	str_done(&c->line);
	str_done(&c->out_line);
}

/* In the child, after fork: only async-signal-safe calls from here to exec. */
NORETURN static void exec_child(const struct run *run, int out, int errs, int report)
{
	int in = run->stdin_fd > 0 ? run->stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;
	int errnum;

	sigemptyset(&none);
	for (int sig = 1; sig < 32; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(errs, 2) >= 0 &&
		(!run->cwd || chdir(run->cwd) == 0)) {
		if (run->env)
			execvpe(run->argv[0], (char *const *)run->argv, (char *const *)run->env);
		else
			execvp(run->argv[0], (char *const *)run->argv);
	}
	errnum = errno;
	(void)!write(report, &errnum, sizeof(errnum));
	_exit(127);
}

static int pipe_open(int pair[2], struct error *err)
{
	return pipe2(pair, O_CLOEXEC) < 0 ? error_errno(err, errno, "cannot make a pipe") : 0;
}

static int child_start(struct child *c, struct error *err)
{
	const struct run *run = c->run;
	int out[2] = { -1, -1 }, errs[2] = { -1, -1 }, report[2] = { -1, -1 };
	int errnum = 0, ret = -1;

	if (pipe_open(out, err) < 0 || pipe_open(errs, err) < 0 || pipe_open(report, err) < 0)
		goto out;
	c->pid = fork();
	if (c->pid < 0) {
		error_errno(err, errno, "cannot start '%s'", run->argv[0]);
		goto out;
	}
	if (c->pid == 0)
		exec_child(run, run->stdout_fd > 0 ? run->stdout_fd : out[1], errs[1], report[1]);
	(void)close(report[1]);
	report[1] = -1;
	if (read(report[0], &errnum, sizeof(errnum)) == sizeof(errnum)) {
		(void)waitpid(c->pid, NULL, 0);
		error_errno(err, errnum, "cannot start '%s'", run->argv[0]);
		goto out;
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0) {
		error_errno(err, errno, "cannot watch '%s'", run->argv[0]);
		(void)kill(-c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
		goto out;
	}
	c->out = fd_take(&out[0]);
	c->errs = fd_take(&errs[0]);
	c->deadline = run->timeout_ms ? clock_ms() + run->timeout_ms : 0;
	ret = 0;
out:
	for (int i = 0; i < 2; i++) {
		cleanup_close_p(&out[i]);
		cleanup_close_p(&errs[i]);
		cleanup_close_p(&report[i]);
	}
	return ret;
}

static void take_line(struct child *c)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_append_escaped(&text, str_get(&c->line), c->line.len, false);
	str_clear(&c->line);
	if (c->run->line)
		c->run->line(str_get(&text), c->run->data);
	if (!text.len)
		return;
	if (c->tail.len)
		str_append(&c->tail, "; ");
	str_append(&c->tail, str_get(&text));
	if (c->tail.len > TAIL_MAX && c->tail.data) {
		size_t cut = c->tail.len - TAIL_MAX;

		memmove(c->tail.data, c->tail.data + cut, TAIL_MAX + 1);
		c->tail.len = TAIL_MAX;
	}
}

static void take_errs(struct child *c, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r' || c->line.len >= LINE_MAX_BYTES)
			take_line(c);
		if (bytes[i] != '\n' && bytes[i] != '\r')
			str_append_char(&c->line, bytes[i]);
	}
}

/* A line of stdout is ended by its newline, by the end of the stream, or by being too long. */
static void take_out_line(struct child *c)
{
	c->run->out_line(str_get(&c->out_line), c->out_line.len, c->run->data);
	str_clear(&c->out_line);
}

static void take_out_lines(struct child *c, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != '\n')
			str_append_char(&c->out_line, bytes[i]);
		if (bytes[i] == '\n' || c->out_line.len >= OUT_LINE_MAX_BYTES)
			take_out_line(c);
	}
}

static void take_out(struct child *c, const char *bytes, size_t len)
{
	size_t max = c->run->output_max ? c->run->output_max : 1024 * 1024;

	if (c->run->out_line)
		take_out_lines(c, bytes, len);
	if (!c->run->output)
		return;
	if (c->run->output->len + len > max)
		c->overflow = true;
	else
		str_append_len(c->run->output, bytes, len);
}

/* Read what is there from *fd; at end of file close it. */
static void drain(struct child *c, int *fd, void (*take)(struct child *, const char *, size_t))
{
	char buf[16384];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		take(c, buf, (size_t)n);
	else if (n == 0 || errno != EINTR) {
		(void)close(*fd);
		*fd = -1;
	}
}

/* Milliseconds that poll may wait; past the deadline the child is signalled. */
static int wait_ms(struct child *c, bool *timed_out)
{
	uint64_t now = clock_ms();

	if (!c->deadline)
		return -1;
	if (now < c->deadline)
		return (int)MIN(c->deadline - now, 60000u);
	*timed_out = !c->interrupted;
	(void)kill(-c->pid, c->terminated ? SIGKILL : SIGTERM);
	c->terminated = true;
	c->deadline = now + KILL_AFTER_MS;
	return KILL_AFTER_MS;
}

static void child_interrupt(struct child *c)
{
	c->interrupted = c->terminated = true;
	c->deadline = clock_ms() + CLEAN_UP_MS;
	(void)kill(-c->pid, SIGTERM);
}

static int child_wait(struct child *c, bool *timed_out, struct error *err)
{
	bool ended = false;

	while (!ended || c->out >= 0 || c->errs >= 0) {
		bool watch = c->run->interrupt_fd > 0 && !c->interrupted;
		struct pollfd fds[4] = {
			{ .fd = c->out, .events = POLLIN },
			{ .fd = c->errs, .events = POLLIN },
			{ .fd = ended ? -1 : c->pidfd, .events = POLLIN },
			{ .fd = watch ? c->run->interrupt_fd : -1, .events = POLLIN },
		};
		int n = poll(fds, 4, ended ? 0 : wait_ms(c, timed_out));

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot wait for '%s'", c->run->argv[0]);
		if (n == 0 && ended)
			break;
		if (n <= 0)
			continue;
		if (fds[0].revents)
			drain(c, &c->out, take_out);
		if (fds[1].revents)
			drain(c, &c->errs, take_errs);
		if (fds[2].revents)
			ended = true;
		if (fds[3].revents && !ended)
			child_interrupt(c);
	}
	if (c->line.len)
		take_line(c);
	if (c->out_line.len)
		take_out_line(c);
	return 0;
}

static int child_verdict(struct child *c, bool timed_out, int *ret_status, struct error *err)
{
	const char *name = c->run->argv[0], *tail = str_get(&c->tail);
	const char *colon = c->tail.len ? ": " : "";
	int status = 0, code;

	if (waitpid(c->pid, &status, 0) < 0)
		return error_errno(err, errno, "cannot wait for '%s'", name);
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (ret_status)
		*ret_status = code;
	if (c->interrupted && code)
		return error_set(
			err, ERROR_INTERRUPTED, "'%s' was interrupted%s%s", name, colon, tail);
	if (timed_out)
		return error_set(err, ERROR_TIMEOUT, "'%s' took too long%s%s", name, colon, tail);
	if (c->overflow)
		return error_set(err, ERROR_INVALID, "'%s' printed more than was expected", name);
	if (WIFSIGNALED(status))
		return error_set(err, ERROR_FAILED, "'%s' was ended by signal %d%s%s", name,
			WTERMSIG(status), colon, tail);
	if (code)
		return error_set(err, ERROR_FAILED, "'%s' failed with exit status %d%s%s", name,
			code, colon, tail);
	return c->run->output ? str_ok(c->run->output, err) : 0;
}

int run_program(const struct run *run, int *ret_status, struct error *err)
{
	_cleanup_(child_done) struct child c = {
		.run = run,
		.pidfd = -1,
		.out = -1,
		.errs = -1,
		.tail = STR_INIT,
		.line = STR_INIT,
		.out_line = STR_INIT,
	};
	bool timed_out = false;

	if (ret_status)
		*ret_status = -1;
	if (child_start(&c, err) < 0)
		return -1;
	if (child_wait(&c, &timed_out, err) < 0) {
		(void)kill(-c.pid, SIGKILL);
		(void)waitpid(c.pid, NULL, 0);
		return -1;
	}
	return child_verdict(&c, timed_out, ret_status, err);
}

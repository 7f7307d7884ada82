/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/identity.h"
#include "base/fd.h"

enum { ANSWER_MAX = 262144, ANSWER_HEADER = 5 };

NORETURN static void become_worker(
	worker_fn *run, const char *root, const struct str *request, int input, int output)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	/* 0 to 2 are /dev/null, so that programs it starts disturb nobody; 3 and 4 are ours. */
	if (dup2(input, 3) < 0 || dup2(output, 4) < 0)
		_exit(1);
	for (int i = 0; i < 3; i++)
		(void)dup2(null, i);
	(void)syscall(SYS_close_range, 5, ~0U, 0);
	(void)fcntl(3, F_SETFD, FD_CLOEXEC);
	(void)fcntl(4, F_SETFD, FD_CLOEXEC);
	_exit(run(root, request, 3, 4));
}

static int watch_process(struct process *p, pid_t pid, int epoll, struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		error_errno(err, errno, "cannot watch a process");
	if (fd < 0 || source_open(&p->pidfd, epoll, fd, err) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return -1;
	}
	p->pid = pid;
	return 0;
}

/* The ends of the two pipes, [0] read and [1] write. */
struct pipes {
	int in[2], out[2];
};

static void pipes_done(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		cleanup_close_p(&p->in[i]);
		cleanup_close_p(&p->out[i]);
	}
}

/* Above the numbers that the worker wants for itself, so that its dup2 calls cannot collide. */
static int raise_fds(int pair[2], struct error *err)
{
	for (int i = 0; i < 2; i++) {
		int fd = fcntl(pair[i], F_DUPFD_CLOEXEC, 10);

		if (fd < 0)
			return error_errno(err, errno, "cannot make a pipe");
		(void)close(pair[i]);
		pair[i] = fd;
	}
	return 0;
}

static int pipes_open(struct pipes *p, struct error *err)
{
	if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot make a pipe");
	if (raise_fds(p->in, err) < 0 || raise_fds(p->out, err) < 0)
		return -1;
	if (fd_set_nonblock(p->in[1], err) < 0 || fd_set_nonblock(p->out[0], err) < 0)
		return -1;
	return 0;
}

int worker_start(struct worker *w, worker_fn *run, const char *root, const struct str *request,
	int epoll, struct error *err)
{
	_cleanup_(pipes_done) struct pipes p = { { -1, -1 }, { -1, -1 } };
	pid_t pid;

	*w = (struct worker){ .process.pidfd = SOURCE_NONE,
		.output = SOURCE_NONE,
		.control = SOURCE_NONE,
		.bytes = STR_INIT };
	if (pipes_open(&p, err) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return error_errno(err, errno, "cannot start a process");
	if (pid == 0)
		become_worker(run, root, request, p.in[0], p.out[1]);
	if (watch_process(&w->process, pid, epoll, err) < 0)
		return -1;
	if (source_open(&w->control, epoll, fd_take(&p.in[1]), err) < 0 ||
		source_open(&w->output, epoll, fd_take(&p.out[0]), err) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		source_close(&w->process.pidfd, epoll);
		source_close(&w->control, epoll);
		return -1;
	}
	return 0;
}

int worker_answer(int output, const struct str *fields, bool last)
{
	struct error err = { 0 };
	uint8_t header[ANSWER_HEADER];

	frame_set_u32(header, (uint32_t)fields->len);
	header[4] = last;
	if (str_ok(fields, &err) < 0 ||
		fd_write_all(output, header, sizeof(header), "an answer", &err) < 0 ||
		fd_write_all(output, fields->data, fields->len, "an answer", &err) < 0)
		return -1;
	return 0;
}

/* Cut one answer off the front of what was read. */
static enum worker_state cut_answer(struct worker *w, struct str *into)
{
	bool last;
	size_t len;

	if (w->bytes.len < ANSWER_HEADER)
		return WORKER_BUSY;
	len = frame_get_u32((const uint8_t *)w->bytes.data);
	last = w->bytes.data[4];
	if (len > ANSWER_MAX)
		return WORKER_BROKEN;
	if (w->bytes.len < ANSWER_HEADER + len)
		return WORKER_BUSY;
	str_append_len(into, w->bytes.data + ANSWER_HEADER, len);
	w->bytes.len -= ANSWER_HEADER + len;
	memmove(w->bytes.data, w->bytes.data + ANSWER_HEADER + len, w->bytes.len);
	return last ? WORKER_LAST_ANSWER : WORKER_ANSWERED;
}

enum worker_state worker_step(struct worker *w, int epoll, struct str *into)
{
	enum worker_state state;
	char buf[4096];

	while (w->output.fd >= 0 && w->output.readable) {
		ssize_t n = read(w->output.fd, buf, sizeof(buf));

		if (n > 0) {
			str_append_len(&w->bytes, buf, (size_t)n);
			continue;
		}
		w->output.readable = false;
		if (n == 0)
			source_close(&w->output, epoll);
	}
	state = cut_answer(w, into);
	return state == WORKER_BUSY && w->output.fd < 0 ? WORKER_BROKEN : state;
}

void worker_finish(struct worker *w, int epoll)
{
	source_close(&w->control, epoll);
}

void worker_drop(struct worker *w, int epoll, struct process *ret_process)
{
	source_close(&w->control, epoll);
	source_close(&w->output, epoll);
	str_done(&w->bytes);
	process_move(ret_process, &w->process, epoll);
}

int worker_identity(const char *root, const struct str *request, int input, int output)
{
	_cleanup_str_ struct str answer = STR_INIT;
	struct error err = { 0 };

	(void)input;
	if (identity_apply(root, str_get(request), request->len, &answer, &err) < 0) {
		str_clear(&answer);
		field_put_text(&answer, FIELD_NAME, "identity");
		field_put_text(&answer, FIELD_ERROR, err.text);
	}
	return worker_answer(output, &answer, true) < 0;
}

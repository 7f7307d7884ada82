/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/drill-link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "probe/serve.h"
#include "vmm/virt.h"

enum { GO_MS = 3000, SENDING_MAX = 1 << 20 };

/* ---- the process ---- */

NORETURN static void exec_child(const char *const *argv, int in, int out, int errs, int report)
{
	int errnum;
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < 32; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0);
	if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(errs, 2) >= 0)
		execvp(argv[0], (char *const *)argv);
	errnum = errno;
	(void)!write(report, &errnum, sizeof(errnum));
	_exit(127);
}

static void close_pair(int pair[2])
{
	cleanup_close_p(&pair[0]);
	cleanup_close_p(&pair[1]);
}

/* Four pipes: in, out, errs, and the one that tells of a failed exec. */
static int open_pipes(int pipes[4][2], struct error *err)
{
	for (int i = 0; i < 4; i++)
		pipes[i][0] = pipes[i][1] = -1;
	for (int i = 0; i < 4; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) < 0)
			return error_errno(err, errno, "cannot make a pipe");
	}
	return 0;
}

static int start(struct drill_link *l, const char *const *argv, int pipes[4][2], struct error *err)
{
	int errnum = 0;

	l->pid = fork();
	if (l->pid < 0) {
		l->pid = 0;
		return error_errno(err, errno, "cannot start '%s'", argv[0]);
	}
	if (l->pid == 0)
		exec_child(argv, pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]);
	cleanup_close_p(&pipes[3][1]);
	pipes[3][1] = -1;
	if (read(pipes[3][0], &errnum, sizeof(errnum)) != sizeof(errnum))
		return 0;
	(void)waitpid(l->pid, NULL, 0);
	l->pid = 0;
	return error_errno(err, errnum, "cannot start '%s'", argv[0]);
}

int drill_link_open(struct drill_link *l, const char *const *argv, struct error *err)
{
	int pipes[4][2], ret = -1;

	if (open_pipes(pipes, err) == 0 && start(l, argv, pipes, err) == 0) {
		l->in = fd_take(&pipes[0][1]);
		l->out = fd_take(&pipes[1][0]);
		l->errs = fd_take(&pipes[2][0]);
		if (fd_set_nonblock(l->in, err) == 0 && fd_set_nonblock(l->out, err) == 0 &&
			fd_set_nonblock(l->errs, err) == 0)
			ret = 0;
	}
	for (int i = 0; i < 4; i++)
		close_pair(pipes[i]);
	if (ret < 0)
		drill_link_close(l);
	return ret;
}

static void link_shut(struct drill_link *l)
{
	cleanup_close_p(&l->in);
	cleanup_close_p(&l->out);
	cleanup_close_p(&l->errs);
	l->in = l->out = l->errs = -1;
	str_done(&l->sending);
}

/* Wait until the process has ended; whether it did in time. */
static bool wait_end(pid_t pid, int timeout_ms)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (pidfd >= 0 && poll(&p, 1, timeout_ms) <= 0)
		return false;
	return waitpid(pid, NULL, pidfd >= 0 ? 0 : WNOHANG) == pid;
}

void drill_link_close(struct drill_link *l)
{
	link_shut(l);
	if (l->pid && !wait_end(l->pid, l->patience_ms ? (int)l->patience_ms : GO_MS)) {
		(void)kill(-l->pid, SIGTERM);
		if (!wait_end(l->pid, GO_MS)) {
			(void)kill(-l->pid, SIGKILL);
			(void)waitpid(l->pid, NULL, 0);
		}
	}
	l->pid = 0;
}

bool drill_link_alive(const struct drill_link *l)
{
	return l->out >= 0;
}

/* ---- lines ---- */

void drill_link_send(struct drill_link *l, const char *fmt, ...)
{
	va_list ap;

	if (l->in < 0 || l->sending.len > SENDING_MAX)
		return;
	va_start(ap, fmt);
	str_vprintf(&l->sending, fmt, ap);
	va_end(ap);
	str_append_char(&l->sending, '\n');
}

/* Write what it takes; an end of its input is seen on its output soon enough. */
static void link_write(struct drill_link *l)
{
	void (*was)(int) = signal(SIGPIPE, SIG_IGN);
	ssize_t n = write(l->in, str_get(&l->sending), l->sending.len);

	(void)signal(SIGPIPE, was);
	if (n > 0) {
		memmove(l->sending.data, l->sending.data + n, l->sending.len - (size_t)n + 1);
		l->sending.len -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		cleanup_close_p(&l->in);
		l->in = -1;
		str_clear(&l->sending);
	}
}

static void take_line(const struct drill_wait *wait, size_t n)
{
	struct drill_link *l = &wait->links[n];
	char *text;
	unsigned long id;

	l->line[l->len] = '\0';
	l->len = 0;
	if (!l->hello) {
		l->hello = str_equal(l->line, l->greeting);
		return;
	}
	id = strtoul(l->line, &text, 10);
	if (text != l->line && *text == ' ' && id && id <= SERVE_IDS_MAX)
		wait->line(n, (unsigned)id, text + 1, wait->data);
}

static void take_output(const struct drill_wait *wait, size_t n)
{
	struct drill_link *l = &wait->links[n];
	char buf[4096];
	ssize_t got = read(l->out, buf, sizeof(buf));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		cleanup_close_p(&l->out);
		l->out = -1;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (buf[i] == '\n')
			take_line(wait, n);
		else if (l->len < sizeof(l->line) - 1)
			l->line[l->len++] = buf[i];
	}
}

static void take_errors(struct drill_link *l)
{
	_cleanup_str_ struct str text = STR_INIT;
	char buf[4096];
	ssize_t n = read(l->errs, buf, sizeof(buf));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		cleanup_close_p(&l->errs);
		l->errs = -1;
		return;
	}
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	str_append(&text, l->tail);
	if (l->tail[0])
		str_append(&text, "; ");
	str_append_escaped(&text, buf, (size_t)n, false);
	(void)snprintf(l->tail, sizeof(l->tail), "%s",
		str_get(&text) +
			(text.len >= sizeof(l->tail) ? text.len - sizeof(l->tail) + 1 : 0));
}

int drill_links_turn(const struct drill_wait *wait, unsigned timeout_ms, struct error *err)
{
	struct pollfd fds[LINKS_MAX * 3 + 1];
	size_t at = LINKS_MAX * 3;
	int n;

	for (size_t i = 0; i < LINKS_MAX; i++) {
		const struct drill_link *l = i < wait->count ? &wait->links[i] : NULL;

		fds[i * 3] = (struct pollfd){ .fd = l ? l->out : -1, .events = POLLIN };
		fds[i * 3 + 1] = (struct pollfd){ .fd = l ? l->errs : -1, .events = POLLIN };
		fds[i * 3 + 2] = (struct pollfd){
			.fd = l && l->sending.len ? l->in : -1,
			.events = POLLOUT,
		};
	}
	fds[at] = (struct pollfd){ .fd = wait->interrupt_fd, .events = POLLIN };
	n = poll(fds, at + 1, (int)MIN(timeout_ms, VIRT_ANSWER_MS));
	if (n < 0 && errno != EINTR)
		return error_errno(err, errno, "cannot wait for the probes");
	virt_answer();
	if (n > 0 && fds[at].revents)
		return error_set(err, ERROR_INTERRUPTED, "interrupted");
	for (size_t i = 0; n > 0 && i < wait->count; i++) {
		if (fds[i * 3 + 1].revents)
			take_errors(&wait->links[i]);
		if (fds[i * 3].revents)
			take_output(wait, i);
		if (fds[i * 3 + 2].revents && wait->links[i].in >= 0)
			link_write(&wait->links[i]);
	}
	return n > 0 || n < 0; /* a signal is something, too: the caller looks at its clock */
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

enum {
	HANGUP_GRACE_MS =
		10000, /* what a shell may take to hang up its jobs and save its history */
	TERM_GRACE_MS = 5000,
};

void process_signal(const struct process *p, int signal, int terminal)
{
	pid_t foreground = terminal >= 0 ? tcgetpgrp(terminal) : -1;

	if (!p->pid)
		return;
	/* INT and QUIT are for who is in front, as if the key had been pressed; others are for all. */
	if (foreground > 1 && foreground != p->pid) {
		(void)kill(-foreground, signal);
		if (signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP)
			return;
	}
	(void)kill(-p->pid, signal);
}

void process_hang_up(struct process *p, int terminal)
{
	process_signal(p, SIGHUP, terminal);
	process_signal(p, SIGCONT, terminal);
	p->next_signal = SIGTERM;
	p->next_at = clock_ms() + HANGUP_GRACE_MS;
}

void process_terminate(struct process *p, int terminal)
{
	process_signal(p, SIGTERM, terminal);
	process_signal(p, SIGCONT, terminal);
	p->whole_session = true;
	p->next_signal = SIGKILL;
	p->next_at = clock_ms() + TERM_GRACE_MS;
}

/* The session that a process belongs to, from the 6th field of its stat; 0 when it is gone. */
static pid_t session_of(const char *pid)
{
	char path[64], text[512], *at;
	int fd, session = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	at = strrchr(text, ')'); /* the command's name may hold anything */
	if (!at || sscanf(at + 1, " %*c %*d %*d %d", &session) != 1)
		return 0;
	return session;
}

static void kill_session(pid_t session)
{
	DIR *proc = opendir("/proc");

	for (struct dirent *d = proc ? readdir(proc) : NULL; d; d = readdir(proc)) {
		if (isdigit((unsigned char)d->d_name[0]) && session_of(d->d_name) == session)
			(void)kill((pid_t)strtol(d->d_name, NULL, 10), SIGKILL);
	}
	if (proc)
		(void)closedir(proc);
}

void process_tick(struct process *p, uint64_t now)
{
	if (!p->next_at || now < p->next_at)
		return;
	(void)kill(-p->pid, p->next_signal);
	if (p->next_signal == SIGTERM) {
		p->next_signal = SIGKILL;
		p->next_at = now + TERM_GRACE_MS;
		return;
	}
	if (p->whole_session)
		kill_session(p->pid);
	p->next_at = 0;
}

int process_reap(struct process *p, int epoll, bool kill_group, int *ret_status)
{
	siginfo_t info = { 0 };

	if (!p->pidfd.readable)
		return 0;
	p->pidfd.readable = false;
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return 0;
	/* Before reaping: until then the number cannot be another group's. */
	if (kill_group)
		(void)kill(-p->pid, SIGKILL);
	(void)waitpid(p->pid, ret_status, 0);
	source_close(&p->pidfd, epoll);
	p->pid = 0;
	p->next_at = 0;
	return 1;
}

void process_move(struct process *to, struct process *from, int epoll)
{
	*to = *from;
	source_move(&to->pidfd, &from->pidfd, epoll);
	*from = (struct process){ .pidfd = SOURCE_NONE };
}

int process_dump_environment(int fd)
{
	for (char **entry = environ; *entry; entry++) {
		size_t len = strlen(*entry) + 1;
		struct error err = { 0 };

		if (fd_write_all(fd, *entry, len, "the environment", &err) < 0)
			return -1;
	}
	return 0;
}

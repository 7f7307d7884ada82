/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that the agent starts for the host: made in a session of their own, as another user, on
 * pipes or a pseudo-terminal; signalled as a group; ended in steps (hang up, terminate, kill) by
 * deadlines and not by waiting.
 */
#ifndef AGENT_PROCESS_H
#define AGENT_PROCESS_H

#include <sys/types.h>

#include "agent/account.h"
#include "agent/source.h"

/* What process_spawn needs; all lent. */
struct process_spec {
	const struct text_vec *args; /* ignored with shell */
	const struct text_vec *env; /* of the request: wins over the login environment */
	const struct account *account;
	const struct text_vec *login_env; /* from account_environment */
	const char *cwd; /* NULL: the user's home, "/" when that cannot be entered */
	const char *program; /* path of this program, for asking login shells; NULL: do not */
	bool login, shell;
	int env_file; /* where the login environment is to be remembered, above 4; -1: nowhere */
	bool tty; /* stdio[0] is the slave of a terminal, to be the controlling one */
	int stdio[3]; /* become 0, 1, 2 */
};

/* What a child that could not become the command writes to the report pipe. */
struct process_failure {
	uint32_t reason; /* enum refuse_reason */
	uint32_t errnum;
};

struct process {
	pid_t pid; /* leader of its own session and group; 0: none */
	struct source pidfd; /* readable: it has ended */
	uint64_t next_at; /* deadline of next_signal, 0: none */
	int next_signal;
	bool whole_session; /* KILL goes to every process of the session, not just the group */
};

/*
 * Fork, and become the command in the child. *ret_report is the read end of a pipe (non-blocking):
 * end of file says that the command runs, a struct process_failure that it does not. An error means
 * that there is no child. The loop knows ret by its address afterwards.
 */
int process_spawn(struct process *ret, const struct process_spec *spec, int epoll, int *ret_report,
	struct error *err) MUST_CHECK;

/* To the process group, and to the foreground group of the terminal (its master; -1: none). */
void process_signal(const struct process *p, int signal, int terminal);

/* As a closed terminal would: HUP and CONT; a leader that is still there later is ended. */
void process_hang_up(struct process *p, int terminal);

/* TERM now, KILL to the whole session after a grace time. */
void process_terminate(struct process *p, int terminal);

/* Send what is due at time now. */
void process_tick(struct process *p, uint64_t now);

/*
 * 1: it has ended, is reaped and *ret_status is its wait status (the pidfd is closed); 0: not yet.
 * With kill_group what is left of the group is killed first.
 */
int process_reap(struct process *p, int epoll, bool kill_group, int *ret_status) MUST_CHECK;

/* Hand it over to another struct. */
void process_move(struct process *to, struct process *from, int epoll);

/* `box-agent environ FD`: write this process's environment, NUL after each, to FD. */
int process_dump_environment(int fd);

#endif

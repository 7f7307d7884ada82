/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent: its ports, what it knows about the guest, processes it is seeing to their end; the loop. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/session.h"

enum { AGENT_PORTS_MAX = 16, AGENT_LINGER_MAX = 64 };

struct agent {
	int epoll;
	const char *root; /* lent: "" or the folder that stands for "/" in tests */
	const char *program; /* lent: path of this program */
	struct stages stages;
	struct session sessions[AGENT_PORTS_MAX]; /* their addresses do not change */
	size_t len;
	struct source uevents; /* ports that appear later; none with given descriptors */
	struct process lingering[AGENT_LINGER_MAX];
};

int agent_open(
	struct agent *a, const char *root, const char *program, struct error *err) MUST_CHECK;
void agent_done(struct agent *a);

/* Serve on fd, which is taken. */
int agent_add(struct agent *a, int fd, const char *name, struct error *err) MUST_CHECK;

/* Serve on every port named box.agent.N, now and when more appear. */
int agent_add_ports(struct agent *a, struct error *err) MUST_CHECK;

/* Until every port is gone (never, while ports are looked for) and every process has ended. */
int agent_run(struct agent *a, struct error *err) MUST_CHECK;

/* See this process to its end (its pid may be 0: nothing to do). */
void agent_linger(struct agent *a, struct process *p);

#endif

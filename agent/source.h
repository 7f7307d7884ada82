/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A descriptor in the agent's loop. It is watched edge-triggered for everything, once; events do
 * nothing but set flags, and the steps of sessions (agent/session.c) do the work and clear them when
 * a call says EAGAIN. So no descriptor is ever armed and disarmed, a step may do as little as it likes
 * and come back, and nothing is freed while events that name it are being read.
 */
#ifndef AGENT_SOURCE_H
#define AGENT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct source {
	int fd; /* owned; -1: none */
	bool readable, writable, hangup; /* set by the loop, cleared by who finds EAGAIN */
};

#define SOURCE_NONE                     \
	{                               \
		-1, false, false, false \
	}

/*
 * Watch fd from now on; it must be non-blocking. Takes fd, also when it fails. The loop keeps the
 * address of s: it must not move (source_move).
 */
int source_open(struct source *s, int epoll, int fd, struct error *err) MUST_CHECK;

/* Hand the descriptor over to another struct; flags are seen anew. */
void source_move(struct source *to, struct source *from, int epoll);

/* Stop watching and close. Nothing happens when it is not open. */
void source_close(struct source *s, int epoll);

/* Set flags from an epoll_event's events. */
void source_event(struct source *s, uint32_t events);

/* The earlier of two deadlines, of which 0 stands for none. */
static inline uint64_t deadline_min(uint64_t a, uint64_t b)
{
	return !a ? b : !b || a < b ? a : b;
}

#endif

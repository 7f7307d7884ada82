/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This side's end of a copy while it runs: box-copy, which packs or unpacks, in a thread that waits for it.
 * A thread, because the calling one is in libvirt's event loop meanwhile.
 */
#ifndef VMM_COPY_SIDE_H
#define VMM_COPY_SIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "vmm/copy-archive.h"

enum { COPY_SIDE_ARGS = 7 };

struct copy_side {
	const char *argv[COPY_SIDE_ARGS]; /* lent; NULL-terminated, without the program */
	const char *cwd; /* lent; NULL: stay */
	int in_fd, out_fd; /* owned from copy_side_start on; -1: none */
	uint64_t timeout_ms; /* 0: none */
	int interrupt_fd; /* lent; 0: none; ends it when readable */
	/* Called in the thread. */
	const struct copy_observer *observer;
	/* Private from here. */
	char *program; /* owned */
	pthread_t thread;
	bool running;
	int ended_fd; /* owned; an eventfd; -1: none */
	atomic_bool failed;
	int result;
	struct error told, err;
};

/* Start it. The descriptors are taken, also when it fails. */
int copy_side_start(struct copy_side *side, struct error *err) MUST_CHECK;

/* Readable when it has ended: lent. */
int copy_side_ended_fd(const struct copy_side *side);

/* It has ended and failed. */
bool copy_side_failed(struct copy_side *side);

/* Wait for its end. 0, or -1 with what it said. */
int copy_side_join(struct copy_side *side, struct error *err) MUST_CHECK;

/* Joins, whatever comes of it. Zeroed and never started is fine. */
void copy_side_done(struct copy_side *side);

#endif

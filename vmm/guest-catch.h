/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command in a box writes, caught in memory while guest_exec runs: a pipe, whose read end libvirt's
 * loop watches. Bounded: what is more than was asked for is read and dropped, so that the command goes on.
 */
#ifndef VMM_GUEST_CATCH_H
#define VMM_GUEST_CATCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"

struct guest_catch {
	int fd, end; /* owned; -1: none. end is for guest_exec */
	int watch; /* of libvirt's loop; -1: none */
	size_t max;
	bool overflow; /* there was more */
	struct str text; /* owned; the guest's bytes */
};

#define GUEST_CATCH_INIT                          \
	{                                         \
		.fd = -1, .end = -1, .watch = -1, \
	}

/* Open an initial one. It must not move until guest_catch_done. */
int guest_catch_open(struct guest_catch *c, size_t max, struct error *err) MUST_CHECK;

/* guest_exec has ended: take what the loop has not come to. */
void guest_catch_finish(struct guest_catch *c);

/* The text as one line, fit for a terminal, its lines joined with "; ". */
void guest_catch_words(const struct guest_catch *c, struct str *into);

void guest_catch_done(struct guest_catch *c);
#define _cleanup_guest_catch_ _cleanup_(guest_catch_done)

#endif

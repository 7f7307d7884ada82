/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An operation as a list of steps {name, do, undo}. steps_run drives progress, --timing and fault
 * injection from the same list, so that no operation has its own copy of any of them.
 *
 * A step that fails is taken as not done; the steps before it are undone in reverse order, and the
 * error of the failed step stands. An undo cannot fail: it does what it can and logs at debug level.
 * Each do must leave the world unchanged when it fails; each undo must accept a half-done step of a
 * killed process (it is what recovery calls).
 *
 * Fault injection, for tests: BOX_FAULT=<operation>.<step>[:fail|:kill|:stop] makes the run fail, kill
 * itself with SIGKILL, or stop itself with SIGSTOP and go on when it is continued (meanwhile something
 * else can break), right AFTER that step was done. BOX_FAULT=<operation>.0 stands for "before the first
 * step".
 */
#ifndef BASE_STEPS_H
#define BASE_STEPS_H

#include <stdint.h>

#include "base/error.h"

struct step {
	const char *name; /* for --timing and BOX_FAULT: "volume" */
	const char *doing; /* for progress: "creating the disk"; NULL: shown to nobody */
	int (*run)(void *ctx, struct error *err);
	void (*undo)(void *ctx); /* NULL: nothing to undo */
};

/* Who is told about steps. All members may be NULL. Times are in microseconds. */
struct steps_observer {
	void (*begin)(const char *operation, const struct step *step, void *data);
	void (*end)(const char *operation, const struct step *step, uint64_t usec, void *data);
	/* what was done, and timed, elsewhere: it has no begin and no end here */
	void (*took)(const char *operation, const char *step, uint64_t usec, void *data);
	void *data;
};

/* Run count steps with ctx. observer may be NULL. */
int steps_run(const char *operation, const struct step *steps, size_t count, void *ctx,
	const struct steps_observer *observer, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What people see while steps run (base/steps.h), in one of three ways:
 *
 *	live    on a terminal: one line that is drawn again ten times a second, with the time the step has
 *	        taken and, for transfers, bytes and rate; it is erased at the end of the step, and stays as a
 *	        plain line with its time when the step took a second or more
 *	plain   elsewhere: one line when a step begins
 *	quiet   nothing
 *
 * In each way timing prints a line when a step ends, and a total in progress_done:
 *
 *	box: timing new.volume 12.3 ms
 *
 * This writes to the descriptor it is given and is meant for cli/ and the mains of helper programs;
 * libraries are handed its observer. A live progress has a thread of its own that draws, so that a
 * step may block for minutes in a library call. Functions may be called from one thread at a time.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/steps.h"

enum progress_mode { PROGRESS_QUIET, PROGRESS_PLAIN, PROGRESS_LIVE };

enum { PROGRESS_DEPTH_MAX = 4, PROGRESS_TEXT_MAX = 120 };

struct progress_step {
	char name[64]; /* "new.volume" */
	char doing[PROGRESS_TEXT_MAX]; /* "" is not shown */
	char detail[PROGRESS_TEXT_MAX]; /* what of it is going on; "": not known */
	uint64_t begun; /* microseconds of CLOCK_MONOTONIC */
	uint64_t done_bytes, total_bytes; /* 0 and 0: no transfer; total 0: not known */
};

/* Everything is private. A zeroed one is quiet and may be passed to progress_done. */
struct progress {
	int fd; /* lent */
	enum progress_mode mode;
	bool timing;
	uint64_t started;
	struct progress_step stack[PROGRESS_DEPTH_MAX]; /* the innermost is shown */
	unsigned depth; /* may exceed PROGRESS_DEPTH_MAX: deeper steps are timed as nothing */
	bool drawn; /* a live line is on the screen */
	bool drawing, stop; /* the thread exists; it is asked to end */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

/* Begin; write to fd, which must stay open until progress_done. Without a thread live becomes plain. */
void progress_init(struct progress *p, int fd, enum progress_mode mode, bool timing);

/* End the thread, erase the live line, print the total of timing. Safe on a zeroed one. */
void progress_done(struct progress *p);

/* The observer to hand to steps_run; it points at p. */
struct steps_observer progress_observer(struct progress *p);

/* A step that somebody else runs, such as a helper program; nested ones end in reverse order. */
void progress_begin(struct progress *p, const char *operation, const char *name, const char *doing);
void progress_end(struct progress *p);

/* With timing: a step that was done and timed elsewhere, such as in a guest. */
void progress_took(struct progress *p, const char *operation, const char *name, uint64_t usec);

/* How far the innermost step's transfer is. total 0: not known. */
void progress_bytes(struct progress *p, uint64_t done, uint64_t total);

/*
 * What of the innermost step is going on ("cloud-init modules-config"): shown behind it in the live
 * line, and as a line of its own in plain mode. Said twice in a row, it is shown once. Fit for a terminal.
 */
void progress_detail(struct progress *p, const char *detail);

/*
 * A line "box: text" that must not be mixed up with the live line: a warning, a note. It is printed in
 * every mode. The text must be safe for a terminal already (str_append_escaped).
 */
void progress_message(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void progress_messagev(struct progress *p, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Erase the live line until progress_resume: somebody else is about to use the terminal. */
void progress_pause(struct progress *p);
void progress_resume(struct progress *p);

#endif

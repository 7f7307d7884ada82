/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that take their time (identity, freeze, power) run in a forked copy of the agent, so that
 * the loop goes on serving other sessions and a stuck ioctl holds up nobody. The worker writes answers,
 * each a little-endian u32 length, one byte that says whether it is the last, and
 * that many bytes of fields, to its output; its input tells it by
 * end of file that it is to finish (the host said THAW, or is gone).
 */
#ifndef AGENT_WORKER_H
#define AGENT_WORKER_H

#include "agent/frame-field.h"
#include "agent/process.h"
#include "base/str.h"

struct worker {
	struct process process;
	struct source output, control;
	struct str bytes; /* read and not yet cut into answers */
};

/* What runs in the worker; its return value is the exit status. input and output are blocking. */
typedef int worker_fn(const char *root, const struct str *request, int input, int output);

int worker_start(struct worker *w, worker_fn *run, const char *root, const struct str *request,
	int epoll, struct error *err) MUST_CHECK;

/* In a worker: write one answer. */
int worker_answer(int output, const struct str *fields, bool last);

enum worker_state { WORKER_BUSY, WORKER_ANSWERED, WORKER_LAST_ANSWER, WORKER_BROKEN };

/* The next answer, if there is one, is appended to into. BROKEN: it ended without its last answer. */
enum worker_state worker_step(struct worker *w, int epoll, struct str *into);

/* Tell it to finish. */
void worker_finish(struct worker *w, int epoll);

/* Forget it: it is told to finish, and given to *ret_process if it still runs. */
void worker_drop(struct worker *w, int epoll, struct process *ret_process);

/* The requests. */
worker_fn worker_identity, worker_freeze, worker_power;

#endif

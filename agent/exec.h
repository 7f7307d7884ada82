/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that a session runs: its request, its process, and its streams tied to frames.
 *
 * Order on the wire: STARTED or REFUSED first; stdout and stderr data; EOF of each; EXIT last. After
 * EXIT or REFUSED the session may run another.
 */
#ifndef AGENT_EXEC_H
#define AGENT_EXEC_H

#include "agent/frame-field.h"
#include "agent/frame-stream.h"
#include "agent/process.h"

struct exec_request {
	struct text_vec args, env; /* each text owned */
	char *cwd, *user; /* owned; NULL: not given */
	uint32_t flags; /* enum exec_flag */
	uint32_t timeout_ms; /* 0: none */
	uint16_t rows, cols; /* 0: unknown */
};

/* From the fields of an EXEC. ERROR_INVALID for anything malformed or contradictory. */
int exec_request_read(
	const void *bytes, size_t len, struct exec_request *ret, struct error *err) MUST_CHECK;
void exec_request_done(struct exec_request *r);

struct exec {
	struct process process;
	struct source in, out, errs,
		report; /* with a terminal only out, its master, for both ways */
	struct frame_inlet stdin_data;
	struct frame_outlet stdout_data, stderr_data;
	uint64_t deadline; /* of the request's time limit, 0: none */
	size_t out_left, err_left; /* after the end: what may still be read */
	int status; /* wait status, when ended */
	int held[2]; /* where its output and its errors go, -1: none; see agent/exec.c */
	uint32_t started_pid;
	uint64_t tell_at; /* when STARTED is due, 0: it was put, or nothing runs yet */
	bool tty, fed, running, ended, timed_out, eof_sent;
	struct process_failure failure;
	size_t failure_len; /* bytes of it that came */
};

/*
 * Start. root is "" or the folder that stands for "/" in tests (accounts only); program is the path of
 * this program. An error, with *ret_reason, means that nothing runs: answer REFUSED.
 */
int exec_start(struct exec *e, const struct exec_request *request, int epoll, const char *root,
	const char *program, enum refuse_reason *ret_reason, struct error *err) MUST_CHECK;

enum exec_state { EXEC_RUNS, EXEC_ENDED /* EXIT was put, or REFUSED is due */ };

/*
 * Move what can be moved: everything between streams and frames, time limits, the end. *progress is
 * set when something moved. EXEC_ENDED with e->failure_len != 0 means that the exec failed.
 */
enum exec_state exec_step(
	struct exec *e, struct frame_writer *w, int epoll, uint64_t now, bool *progress);

/* Frames of the host that concern a command. ERROR_INVALID: the session is to be dropped. */
int exec_frame(struct exec *e, const struct frame *frame, struct frame_writer *w, int epoll,
	struct error *err) MUST_CHECK;

/* The next moment at which exec_step has something to do by itself, 0: none. */
uint64_t exec_deadline(const struct exec *e);

/*
 * Close everything. If the process still runs it has been hung up as by a closed terminal and is
 * given to *ret_process for the agent to see it end; else ret_process->pid is 0.
 */
void exec_drop(struct exec *e, int epoll, struct process *ret_process);

#endif

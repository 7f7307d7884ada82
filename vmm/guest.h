/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way into a box: a session with its guest agent, and the requests one can make in it, one after
 * another. Everything runs in libvirt's event loop, in this thread, without ever blocking on one stream
 * only.
 *
 * EVERY BYTE FROM THE GUEST IS HOSTILE. A frame that cannot be, data beyond the credit given, an answer
 * that was not asked for, end the session with ERROR_INVALID; memory is bounded by the windows of
 * agent/frame.h; a frame that is begun must be finished within half a minute. Text from the guest in
 * errors and results is escaped.
 *
 * Errors of all functions: ERROR_UNREACHABLE (no agent answers, or the box went away), ERROR_BUSY (all
 * ports are in use, at opening), ERROR_INVALID (the agent talks nonsense), ERROR_TIMEOUT,
 * ERROR_INTERRUPTED.
 */
#ifndef VMM_GUEST_H
#define VMM_GUEST_H

#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

struct guest;

/* How long to wait, for functions that wait. */
struct guest_wait {
	uint64_t timeout_ms; /* 0: 10 seconds */
	int interrupt_fd; /* lent; readable means: give up with ERROR_INTERRUPTED. 0: none */
};

/*
 * Open a session: the first free port, and the greeting, which waits for the agent to come up. Text and
 * kind tell "does not run", "no free port" and "does not answer" apart.
 */
struct guest *guest_open(
	virDomainPtr dom, const struct guest_wait *wait, struct error *err) MUST_CHECK;

/* The same over a stream socket, which is taken, also when it fails. */
struct guest *guest_open_fd(int fd, const struct guest_wait *wait, struct error *err) MUST_CHECK;

/* End the session: what still runs in it is hung up in the box. NULL is fine. */
void guest_close(struct guest *g);
DEFINE_CLEANUP(struct guest *, guest_close);

/*
 * For a callback of the loop, while a request is under way: give it up. It fails with ERROR_INTERRUPTED;
 * closing is all that can be done with the session then.
 */
void guest_abandon(struct guest *g);

/* ---- commands ---- */

enum guest_exec_flag {
	GUEST_TTY = 1, /* a terminal in the box; output is all on stdout */
	GUEST_LOGIN = 2, /* the environment of a login shell */
	GUEST_SHELL = 4, /* an interactive login shell; argv must be NULL */
};

struct guest_exec {
	const char *const *argv; /* NULL-terminated, passed exactly; NULL with GUEST_SHELL */
	const char *const
		*env; /* NULL-terminated "NAME=value", over the login environment; or NULL */
	const char *cwd; /* absolute; NULL: the user's home */
	const char *user; /* NULL: root */
	unsigned flags; /* enum guest_exec_flag */
	uint64_t timeout_ms; /* 0: none. Enforced in the box: TERM, KILL 5 s later */
	/*
	 * Lent; -1: none (stdin reads as empty, output is dropped). They may be blocking; their flags are
	 * not changed. stderr is not used with GUEST_TTY.
	 */
	int stdin_fd, stdout_fd, stderr_fd;
	unsigned rows, cols; /* of the terminal; 0: unknown */
	/*
	 * A signalfd, lent; 0 or -1: none. INT, TERM, HUP, QUIT, USR1, USR2, TSTP and CONT are sent on
	 * to the command; WINCH takes the size of tty_fd there. The third INT, TERM, HUP or QUIT without an
	 * end gives up (ERROR_INTERRUPTED).
	 */
	int signal_fd, tty_fd;
};

enum guest_outcome {
	GUEST_EXITED, /* code is its exit status */
	GUEST_SIGNALLED, /* code is the signal that killed it */
	GUEST_TIMED_OUT, /* timeout_ms ran out */
	GUEST_NOT_EXECUTABLE, /* it could not be started; code is the errno, detail says it */
};

struct guest_result {
	enum guest_outcome outcome;
	int code;
	char detail[256]; /* for GUEST_NOT_EXECUTABLE: text for people */
};

/*
 * Run a command to its end, moving its streams. 0 with *ret when it ran, or could not be executed
 * (GUEST_NOT_EXECUTABLE). An unknown user is ERROR_NOT_FOUND, a working directory that cannot be entered
 * and other reasons of the box are ERROR_FAILED. A reader of stdout_fd that goes away closes the
 * command's stdout (it gets SIGPIPE). SIGPIPE of this process is ignored meanwhile.
 */
int guest_exec(struct guest *g, const struct guest_exec *request, struct guest_result *ret,
	struct error *err) MUST_CHECK;

/* The exit status that box itself ends with: 0-255, 124 timed out, 127 not executable, 128 + signal. */
int guest_result_status(const struct guest_result *r);

/* ---- first boot ---- */

enum guest_state { GUEST_RUNNING, GUEST_USABLE, GUEST_FAILED };

struct guest_stage {
	enum guest_state state;
	const char *name; /* "boot", "cloud-init modules-config", ..., escaped; lent for the call */
	const char
		*text; /* of a failure: module, error, last output lines; escaped, lines kept; "" */
	uint32_t uptime_ms; /* of the guest */
};
typedef void guest_stage_fn(const struct guest_stage *stage, void *data);

/*
 * Wait until the box is usable, told of each stage as it happens (stage may be NULL). user, if not NULL,
 * must exist for that. 0: usable; ERROR_FAILED with the box's own words: its first boot failed.
 */
int guest_wait_ready(struct guest *g, const char *user, const struct guest_wait *wait,
	guest_stage_fn *stage, void *data, struct error *err) MUST_CHECK;

/* ---- items: questions and answers of the form NAME=value ---- */

struct guest_item {
	char *name; /* owned, escaped */
	char *value; /* owned, escaped; NULL: failed */
	char *error; /* owned, escaped; NULL: did not fail */
};
VEC_DEFINE(guest_items, struct guest_item);
void guest_items_free(struct guest_items *items);
#define _cleanup_guest_items_ _cleanup_(guest_items_free)

/* The value of an item, lent; NULL when there is none. */
const char *guest_items_get(const struct guest_items *items, const char *name);

/* What the agent says of itself: agent, kernel, hostname, machine-id, boot-id, stage ... */
int guest_info(struct guest *g, const struct guest_wait *wait, struct guest_items *ret,
	struct error *err) MUST_CHECK;

/* An item of a new identity: agent/identity.h has the names and their values. */
struct guest_identity {
	const char *name, *value;
};

/*
 * Give the box a new identity, and get for each item what is in force afterwards. An item that failed
 * makes it ERROR_FAILED, naming the first; *ret is set then too, to see the others.
 */
int guest_identity(struct guest *g, const struct guest_identity *items, size_t count,
	const struct guest_wait *wait, struct guest_items *ret, struct error *err) MUST_CHECK;

/*
 * Bring the box's file systems to rest. The box thaws them by itself after freeze_ms, or when the session
 * ends. guest_thaw fails with ERROR_TIMEOUT when that had happened before it was asked.
 */
int guest_freeze(struct guest *g, uint32_t freeze_ms, const struct guest_wait *wait,
	struct error *err) MUST_CHECK;
int guest_thaw(struct guest *g, const struct guest_wait *wait, struct error *err) MUST_CHECK;

/* An orderly end by the box's init system; returns when that is under way. */
int guest_power(
	struct guest *g, bool reboot, const struct guest_wait *wait, struct error *err) MUST_CHECK;

/* Is the agent there? */
int guest_ping(struct guest *g, const struct guest_wait *wait, struct error *err) MUST_CHECK;

#endif

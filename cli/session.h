/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of one command: what the command line and the surroundings say, and what a command may need.
 * Made by main, handed to the command; a connection is opened when it is first asked for.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <stdbool.h>

#include "base/progress.h"
#include "base/steps.h"
#include "cli/command.h"
#include "cli/fault.h"
#include "vmm/box.h"
#include "vmm/virt.h"

struct session {
	const struct command *command;
	char *const *argv; /* the whole command line, lent */
	struct global_options global; /* --timing also stands for BOX_TIMING=1 */
	bool in_tty, out_tty, err_tty; /* is it a terminal */
	virConnectPtr conn; /* owned; NULL until session_virt */
	struct box
		box; /* owned; with NEED_BOX the box that the first argument names, else zeroed */
	struct progress progress;
	struct steps_observer observer; /* for steps_run: shows progress, prints timing */
	enum fault fault; /* of the stage that runs now; RUN_CONTRACT commands keep it true */
	int status; /* exit status when the command succeeds */
};

void session_init(struct session *s, const struct command *command, const struct call *call,
	char *const *argv);
void session_done(struct session *s);

/* Meet the needs of the command's row, in the order of enum need, up to the question. */
int session_prepare(struct session *s, const struct call *call, struct error *err) MUST_CHECK;

/*
 * For a command that learns from its words which box it needs: session->box is that one, in the state that
 * needs (NEED_RUNNING, NEED_STOPPED or 0) says. The connection must be there.
 */
int session_find_box(
	struct session *s, const char *name, unsigned needs, struct error *err) MUST_CHECK;

/* The connection, lent; opened now if it is not. NULL with err. */
virConnectPtr session_virt(struct session *s, struct error *err) MUST_CHECK;

/*
 * Ask "box: <act>? this cannot be undone. [y/N]". 0 means yes. --force: yes without asking. ERROR_USAGE
 * when nobody can be asked: under --no-input with the command line that would answer, without a terminal
 * on standard input naming the act. "aborted" (ERROR_FAILED) for any other answer and for end of input.
 */
int session_confirm(struct session *s, const char *act, struct error *err) MUST_CHECK;

/* "box: warning: ..." and "box: ..." on stderr; --quiet does not silence a warning. */
void session_warn(struct session *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void session_note(struct session *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif

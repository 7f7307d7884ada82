/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a failure is told: the exit status, and the line on stderr. Most commands print "box: <text>" and
 * exit 1, or 2 when they were asked wrong. The commands that run something in a box (RUN_CONTRACT)
 * pass that command's own status on, so when box itself is the cause they say so in one line that a
 * caller can look for, with a status of its own:
 *
 *	box: fault=box-missing detail="no such box: web"
 */
#ifndef CLI_FAULT_H
#define CLI_FAULT_H

#include "base/error.h"
#include "base/str.h"

/* What would be to blame if the next thing failed: session->fault, set before each stage. */
enum fault {
	FAULT_NONE = 0, /* not told apart yet: taken as FAULT_START_FAILED */
	FAULT_USAGE, /* exit 2 */
	FAULT_IMAGE_MISSING, /* 125 */
	FAULT_BOX_MISSING, /* 125 */
	FAULT_BOX_STOPPED, /* 125 */
	FAULT_START_FAILED, /* 126 */
	FAULT_AGENT_UNREACHABLE, /* 126 */
	FAULT_NOT_EXECUTABLE, /* 127 */
};

/* The exit status of a failed command outside the run contract: 2 for ERROR_USAGE, else 1. */
int fault_status_plain(const struct error *err);

/* The exit status of this fault. */
int fault_status(enum fault fault);

/* What the error itself says about the fault, where the stage does not: ERROR_USAGE is FAULT_USAGE. */
enum fault fault_of(enum fault stage, const struct error *err);

/* Append the fault line with its newline. The text is made one line, its quotes escaped. */
void fault_line(enum fault fault, const struct error *err, struct str *into);

#endif

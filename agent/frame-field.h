/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields: how requests and answers are encoded inside the payload of their frames.
 *
 *	tag[1] length[3, little-endian] bytes[length]     ... repeated
 *
 * A repeated tag is a list. Tags below FIELD_OPTIONAL must be understood, so that an old agent never
 * half-does a newer request; tags from FIELD_OPTIONAL on are skipped by who does not know them.
 */
#ifndef AGENT_FRAME_FIELD_H
#define AGENT_FRAME_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "agent/frame.h"
#include "base/error.h"
#include "base/str.h"

enum field_tag {
	/* EXEC */
	FIELD_ARG = 1, /* text, repeated, in order; may be empty. None with EXEC_SHELL */
	FIELD_ENV, /* "NAME=value", repeated; wins over the login environment */
	FIELD_CWD, /* absolute path; default: the user's home */
	FIELD_USER, /* name; default: root. In READY: a user that must exist to be usable */
	FIELD_FLAGS, /* u32, enum exec_flag */
	FIELD_TIMEOUT, /* u32 milliseconds; EXEC: then TERM, later KILL. FREEZE: then thaw */
	FIELD_WINDOW_SIZE, /* u16 rows, u16 columns */
	/* REFUSED */
	FIELD_REASON, /* u32, enum refuse_reason */
	FIELD_ERRNO, /* u32 Linux errno, if there is one */
	FIELD_TEXT, /* for people */
	/* IDENTITY and ANSWER: each FIELD_NAME begins an item, its FIELD_VALUE or FIELD_ERROR follow */
	FIELD_NAME,
	FIELD_VALUE,
	FIELD_ERROR,
	/* STAGE */
	FIELD_STATE, /* u32, enum stage_state */
	FIELD_STAGE, /* name: "cloud-init: modules-config" */
	FIELD_UPTIME, /* u32 milliseconds since the kernel started */
	FIELD_TAG_END,
	FIELD_OPTIONAL = 128,
};

enum exec_flag {
	EXEC_TTY = 1, /* a terminal of its own: stdout carries all output, stderr nothing */
	EXEC_LOGIN = 2, /* the environment a login shell would have (/etc/profile and friends) */
	EXEC_SHELL = 4, /* the user's shell as an interactive login shell; no arguments */
	EXEC_STDIN = 8, /* stdin will be fed; otherwise it is /dev/null (without EXEC_TTY) */
	EXEC_FLAGS = 15,
};

enum refuse_reason {
	REFUSE_EXEC, /* the program was not found or not executable: FIELD_ERRNO says why */
	REFUSE_USER, /* no such user */
	REFUSE_CWD, /* the working directory cannot be entered */
	REFUSE_SYSTEM, /* out of processes, memory, terminals ... */
	REFUSE_REQUEST, /* the request is malformed or comes at the wrong time */
	REFUSE_REASON_END,
};

enum stage_state { STAGE_RUNNING, STAGE_USABLE, STAGE_FAILED, STAGE_STATE_END };

/* Append one field. bytes may be NULL when len is 0. Failure is sticky in into (str_ok). */
void field_put(struct str *into, enum field_tag tag, const void *bytes, size_t len);
void field_put_text(struct str *into, enum field_tag tag, const char *text);
void field_put_u32(struct str *into, enum field_tag tag, uint32_t value);

struct field {
	uint8_t tag; /* enum field_tag */
	const uint8_t *bytes; /* lent from what is read */
	size_t len;
};

struct field_reader {
	const uint8_t *at, *end;
};

/*
 * 1: the next field is in *ret; 0: no more; -1 (ERROR_INVALID): cut off, or a tag that must be
 * understood and is not known. Unknown optional ones are skipped.
 */
int field_next(struct field_reader *r, struct field *ret, struct error *err) MUST_CHECK;

/* A field as a number (exactly 4 bytes), or as text without NUL, given. ERROR_INVALID otherwise. */
int field_u32(const struct field *f, uint32_t *ret, struct error *err) MUST_CHECK;
char *field_text(const struct field *f, struct error *err) MUST_CHECK;

#endif

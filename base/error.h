/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The error object. One is made in main (zeroed), passed last to every function that can fail,
 * filled where the failure is understood, prefixed on the way up and printed once.
 *
 * The convention, everywhere in this program:
 *   - a function that can fail returns 0 or -1 (or a pointer or NULL) and is MUST_CHECK; a look-up
 *     with three outcomes returns 1 / 0 / -1 and says so in its header;
 *   - on failure the error is filled, outputs are untouched and the world is as before;
 *     on success the error is untouched;
 *   - the text says what was attempted, the object in quotes, the reason from below, and what the
 *     person can do; no capital at the start, no full stop at the end;
 *   - failing never allocates.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>

#include "base/macro.h"

/* What sort of failure it is. Callers may branch on it; cli/ maps it to the exit status. */
enum error_kind {
	ERROR_NONE = 0,
	ERROR_FAILED, /* it went wrong: the default */
	ERROR_USAGE, /* asked wrong: exit 2 */
	ERROR_INVALID, /* input (YAML, XML, a frame, an archive) is not acceptable */
	ERROR_NOT_FOUND, /* the object does not exist, or is not ours */
	ERROR_EXISTS, /* the object exists already */
	ERROR_DENIED, /* not permitted to this user */
	ERROR_BUSY, /* somebody else holds it, or it is in the wrong state */
	ERROR_NO_SPACE, /* disk or pool is full */
	ERROR_TIMEOUT, /* a time limit ran out */
	ERROR_INTERRUPTED, /* INT, TERM or HUP ended it */
	ERROR_UNREACHABLE, /* libvirtd, the guest agent or a server does not answer */
};

struct error {
	enum error_kind kind;
	char text
		[1024]; /* for people; never compared; always NUL-terminated; may be cut with "..." */
};

/* Fill err. Always returns -1, so that callers write: return error_set(err, ...). */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_setv(struct error *err, enum error_kind kind, const char *fmt, va_list ap)
	PRINTF_LIKE(3, 0);

/*
 * Fill err from an errno value: the formatted text, ": ", strerror. The kind follows the errno
 * (ENOENT not found, EEXIST exists, EACCES and EPERM denied, ENOSPC and EDQUOT no space, EBUSY busy,
 * ETIMEDOUT timeout, EINTR interrupted, else failed). Returns -1.
 */
int error_errno(struct error *err, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put "prefix: " before the text that is there, keeping the kind. Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Append to the text that is there ("; the next step is ..."), keeping the kind. Returns -1. */
int error_hint(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Out of memory is an ordinary error. Returns -1. */
int error_oom(struct error *err);

/* Forget it: kind ERROR_NONE, empty text. For a failure that the caller has dealt with. */
void error_clear(struct error *err);

#endif

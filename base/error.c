/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A text that did not fit ends in "..." so that nobody takes a half sentence for a whole one. */
static void mark_cut(struct error *err, size_t wanted)
{
	if (wanted >= sizeof(err->text))
		memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

int error_setv(struct error *err, enum error_kind kind, const char *fmt, va_list ap)
{
	char text[sizeof(err->text)];
	int len = vsnprintf(text, sizeof(text), fmt, ap); /* err->text may be an argument */

	memcpy(err->text, text, sizeof(text));
	err->kind = kind;
	mark_cut(err, len < 0 ? 0 : (size_t)len);
	return -1;
}

int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_setv(err, kind, fmt, ap);
	va_end(ap);
	return -1;
}

static enum error_kind kind_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return ERROR_NOT_FOUND;
	case EEXIST:
		return ERROR_EXISTS;
	case EACCES:
	case EPERM:
		return ERROR_DENIED;
	case ENOSPC:
	case EDQUOT:
		return ERROR_NO_SPACE;
	case EBUSY:
		return ERROR_BUSY;
	case ETIMEDOUT:
		return ERROR_TIMEOUT;
	case EINTR:
		return ERROR_INTERRUPTED;
	default:
		return ERROR_FAILED;
	}
}

int error_errno(struct error *err, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_setv(err, kind_of_errno(errnum), fmt, ap);
	va_end(ap);
	return error_hint(err, ": %s", strerror(errnum));
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -1;
	len += snprintf(text + len, sizeof(text) - (size_t)len, ": %s", err->text);
	memcpy(err->text, text, sizeof(text));
	mark_cut(err, (size_t)len);
	return -1;
}

int error_hint(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)]; /* err->text may be an argument */
	size_t have = strlen(err->text);
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0)
		return -1;
	snprintf(err->text + have, sizeof(err->text) - have, "%s", text);
	mark_cut(err, have + (size_t)len);
	return -1;
}

int error_oom(struct error *err)
{
	return error_set(err, ERROR_FAILED, "out of memory");
}

void error_clear(struct error *err)
{
	err->kind = ERROR_NONE;
	err->text[0] = '\0';
}

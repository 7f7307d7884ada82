/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte string that is always NUL-terminated. Failure to allocate is sticky: builders
 * append freely and check once with str_ok or str_take.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/error.h"

struct str {
	char *data; /* owned; NULL until something is appended */
	size_t len; /* bytes, without the NUL */
	size_t cap;
	bool failed; /* an allocation failed; further appends do nothing */
};

#define STR_INIT                  \
	{                         \
		NULL, 0, 0, false \
	}

void str_done(struct str *s); /* frees the contents; safe on STR_INIT */
#define _cleanup_str_ _cleanup_(str_done)

void str_append(struct str *s, const char *text);
void str_append_len(struct str *s, const void *bytes, size_t len);
void str_append_char(struct str *s, char c);
void str_printf(struct str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_vprintf(struct str *s, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Forget the contents, keep the memory. */
void str_clear(struct str *s);

/* The text so far, lent; "" when empty. */
const char *str_get(const struct str *s);

/* 0, or -1 with "out of memory" when an append failed. */
int str_ok(const struct str *s, struct error *err) MUST_CHECK;

/* The text, given (free it); NULL with err when an append failed. s is empty afterwards. */
char *str_take(struct str *s, struct error *err) MUST_CHECK;

/*
 * Append len bytes that came from a guest, a server or another stranger so that they are harmless on
 * a terminal: printable ASCII and valid UTF-8 above U+009F stay, newline and tab stay if keep_lines,
 * everything else becomes \xNN. The one place where guest bytes are made fit for messages.
 */
void str_append_escaped(struct str *s, const void *bytes, size_t len, bool keep_lines);

/* A formatted string, given (free it); NULL with err when out of memory. */
char *str_format(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;

/* strdup with our error. */
char *str_dup(const char *text, struct error *err) MUST_CHECK;

bool str_equal(const char *a, const char *b); /* NULL equals only NULL */
bool str_starts(const char *text, const char *prefix);

/*
 * The row nearest to word (Levenshtein distance at most 2, less than the word's length), out of
 * count names; NULL when none is near. For "did you mean".
 */
const char *str_nearest(const char *word, const char *const *names, size_t count);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void str_done(struct str *s)
{
	free(s->data);
	*s = (struct str)STR_INIT;
}

static bool str_reserve(struct str *s, size_t more)
{
	size_t cap = s->cap ? s->cap : 64;
	char *data;

	if (s->failed)
		return false;
	if (more > SIZE_MAX / 4 - s->len) {
		s->failed = true;
		return false;
	}
	while (cap < s->len + more + 1)
		cap *= 2;
	if (cap == s->cap)
		return true;
	data = realloc(s->data, cap);
	if (!data) {
		s->failed = true;
		return false;
	}
	s->data = data;
	s->cap = cap;
	return true;
}

void str_append_len(struct str *s, const void *bytes, size_t len)
{
	if (!str_reserve(s, len))
		return;
	if (len)
		memcpy(s->data + s->len, bytes, len);
	s->len += len;
	s->data[s->len] = '\0';
}

void str_append(struct str *s, const char *text)
{
	str_append_len(s, text, strlen(text));
}

void str_append_char(struct str *s, char c)
{
	str_append_len(s, &c, 1);
}

void str_vprintf(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0) {
		s->failed = true;
		return;
	}
	if (!str_reserve(s, (size_t)len))
		return;
	vsnprintf(s->data + s->len, (size_t)len + 1, fmt, ap);
	s->len += (size_t)len;
}

void str_printf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(s, fmt, ap);
	va_end(ap);
}

void str_clear(struct str *s)
{
	s->len = 0;
	if (s->data)
		s->data[0] = '\0';
}

const char *str_get(const struct str *s)
{
	return s->data ? s->data : "";
}

int str_ok(const struct str *s, struct error *err)
{
	return s->failed ? error_oom(err) : 0;
}

char *str_take(struct str *s, struct error *err)
{
	char *data;

	str_append_len(s, "", 0);
	if (s->failed) {
		error_oom(err);
		return NULL;
	}
	data = s->data;
	*s = (struct str)STR_INIT;
	return data;
}

/* Length of the valid UTF-8 sequence at p that stands for U+00A0 or above, else 0. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t rune;

	if (p[0] < 0xc2 || p[0] > 0xf4 || left < len)
		return 0;
	rune = p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		rune = rune << 6 | (p[i] & 0x3f);
	}
	if (rune < least[len] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return 0;
	if (rune < 0xa0) /* C1 controls: terminals obey them too */
		return 0;
	/* Bidirectional and zero-width controls can make a line read as something else. */
	if ((rune >= 0x200b && rune <= 0x200f) || (rune >= 0x2028 && rune <= 0x202e) ||
		(rune >= 0x2060 && rune <= 0x206f) || rune == 0xfeff)
		return 0;
	return len;
}

void str_append_escaped(struct str *s, const void *bytes, size_t len, bool keep_lines)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len;) {
		size_t run = 1;

		if ((p[i] >= 0x20 && p[i] < 0x7f) || (keep_lines && (p[i] == '\n' || p[i] == '\t')))
			str_append_char(s, (char)p[i]);
		else if ((run = utf8_len(p + i, len - i)) > 0)
			str_append_len(s, p + i, run);
		else {
			str_printf(s, "\\x%02x", p[i]);
			run = 1;
		}
		i += run;
	}
}

char *str_format(struct error *err, const char *fmt, ...)
{
	_cleanup_str_ struct str s = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&s, fmt, ap);
	va_end(ap);
	return str_take(&s, err);
}

char *str_dup(const char *text, struct error *err)
{
	char *copy = strdup(text);

	if (!copy)
		error_oom(err);
	return copy;
}

bool str_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

enum { NEAREST_MAX = 64 }; /* longer words are never suggested for */

static unsigned distance(const char *a, size_t alen, const char *b, size_t blen)
{
	unsigned row[NEAREST_MAX + 1];

	for (size_t j = 0; j <= blen; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= alen; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= blen; j++) {
			unsigned above = row[j];
			unsigned swap = diagonal + (a[i - 1] != b[j - 1]);

			row[j] = MIN(swap, MIN(above, row[j - 1]) + 1);
			diagonal = above;
		}
	}
	return row[blen];
}

const char *str_nearest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t len = strlen(word);
	unsigned least = 3;

	if (len > NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t name_len = strlen(names[i]);
		unsigned d;

		if (name_len > NEAREST_MAX)
			continue;
		d = distance(word, len, names[i], name_len);
		if (d < least && d < len) {
			least = d;
			best = names[i];
		}
	}
	return best;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/status-json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 16, PATH_MAX_BYTES = 512, TEXT_MAX = 4096, ERRORS_MAX = 2048 };

struct walk {
	const char *at, *end;
	char path[PATH_MAX_BYTES];
	size_t path_len;
	unsigned depth;
	char text[TEXT_MAX + 1];
	json_value_fn *value;
	void *data;
	struct error *err;
};

static int walk_value(struct walk *w);

static int bad(struct walk *w)
{
	return error_set(w->err, ERROR_INVALID, "not a JSON document");
}

static void blanks(struct walk *w)
{
	while (w->at < w->end && strchr(" \t\r\n", *w->at) && *w->at)
		w->at++;
}

/* The next byte that is no blank, 0 at the end. */
static char peek(struct walk *w)
{
	blanks(w);
	return w->at < w->end ? *w->at : 0;
}

static size_t path_push(struct walk *w, const char *name)
{
	size_t before = w->path_len;
	int n = snprintf(
		w->path + before, sizeof(w->path) - before, "%s%s", before ? "/" : "", name);

	w->path_len = MIN(before + (size_t)MAX(n, 0), sizeof(w->path) - 1);
	return before;
}

static void path_pop(struct walk *w, size_t before)
{
	w->path_len = before;
	w->path[before] = 0;
}

/* \uXXXX; those above ASCII become '?', since the text is only shown. */
static int unicode(struct walk *w)
{
	char digits[5] = { 0 };
	unsigned long code;
	char *end;

	if (w->end - w->at < 4)
		return -1;
	memcpy(digits, w->at, 4);
	code = strtoul(digits, &end, 16);
	if (*end || !isxdigit((unsigned char)digits[0]))
		return -1;
	w->at += 4;
	return code && code < 128 ? (int)code : '?';
}

static int escape(struct walk *w)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *hit;
	char c = *w->at++;

	if (c == 'u')
		return unicode(w);
	hit = c ? strchr(from, c) : NULL;
	return hit ? to[hit - from] : -1;
}

/* At the opening quote; leaves the decoded text in w->text. */
static int string(struct walk *w)
{
	size_t n = 0;

	for (w->at++; w->at < w->end && *w->at != '"';) {
		int c = (unsigned char)*w->at++;

		if (c == '\\') {
			c = w->at < w->end ? escape(w) : -1;
			if (c < 0)
				return bad(w);
		}
		if (n < TEXT_MAX)
			w->text[n++] = (char)c;
	}
	if (w->at == w->end)
		return bad(w);
	w->at++;
	w->text[n] = 0;
	return 0;
}

static int word(struct walk *w)
{
	size_t n = 0;
	enum json_kind kind = isalpha((unsigned char)*w->at) ? JSON_LITERAL : JSON_NUMBER;

	while (w->at < w->end && (isalnum((unsigned char)*w->at) || strchr("+-.", *w->at)) &&
		*w->at && n < 64)
		w->text[n++] = *w->at++;
	w->text[n] = 0;
	if (!n)
		return bad(w);
	w->value(w->path, kind, w->text, w->data);
	return 0;
}

static int member_name(struct walk *w, unsigned index, bool object, size_t *ret_before)
{
	char number[16];

	if (!object) {
		(void)snprintf(number, sizeof(number), "%u", index);
		*ret_before = path_push(w, number);
		return 0;
	}
	if (peek(w) != '"' || string(w) < 0 || peek(w) != ':')
		return bad(w);
	w->at++;
	*ret_before = path_push(w, w->text);
	return 0;
}

static int container(struct walk *w)
{
	bool object = *w->at++ == '{';
	char close = object ? '}' : ']';

	if (++w->depth > DEPTH_MAX)
		return bad(w);
	for (unsigned index = 0; index || peek(w) != close; index++) {
		size_t before = 0;

		if (member_name(w, index, object, &before) < 0 || walk_value(w) < 0)
			return -1;
		path_pop(w, before);
		if (peek(w) == close)
			break;
		if (peek(w) != ',')
			return bad(w);
		w->at++;
	}
	w->at++;
	w->depth--;
	return 0;
}

static int walk_value(struct walk *w)
{
	switch (peek(w)) {
	case '{':
	case '[':
		return container(w);
	case '"':
		if (string(w) < 0)
			return -1;
		w->value(w->path, JSON_STRING, w->text, w->data);
		return 0;
	case 0:
		return bad(w);
	default:
		return word(w);
	}
}

int json_walk(const char *text, size_t len, json_value_fn *value, void *data, struct error *err)
{
	struct walk w = { .at = text, .end = text + len, .value = value, .data = data, .err = err };

	if (walk_value(&w) < 0)
		return -1;
	return peek(&w) || w.at < w.end ? bad(&w) : 0;
}

/* v1/<stage>/errors/<n> and v1/stage and v1/modules-final/finished */
static void status_value(const char *path, enum json_kind kind, const char *text, void *data)
{
	struct cloud_status *status = data;
	char stage[32];
	int end = 0;

	if (str_equal(path, "v1/stage") && kind == JSON_STRING) {
		(void)snprintf(status->stage, sizeof(status->stage), "%.60s", text);
	} else if (str_equal(path, "v1/modules-final/finished") && kind == JSON_NUMBER) {
		status->finished = true;
	} else if (kind == JSON_STRING &&
		   sscanf(path, "v1/%31[a-z-]/errors/%n", stage, &end) == 1 && end &&
		   status->errors.len < ERRORS_MAX) {
		if (status->errors.len)
			str_append_char(&status->errors, '\n');
		str_printf(&status->errors, "%s: ", stage);
		str_append_escaped(&status->errors, text, MIN(strlen(text), (size_t)1024), false);
	}
}

int cloud_status_read(const char *text, size_t len, struct cloud_status *ret, struct error *err)
{
	struct cloud_status status = { .errors = STR_INIT };

	if (json_walk(text, len, status_value, &status, err) < 0 ||
		str_ok(&status.errors, err) < 0) {
		str_done(&status.errors);
		return -1;
	}
	*ret = status;
	return 0;
}

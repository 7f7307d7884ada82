/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "agent/exec.h"

static int push_text(struct text_vec *v, const struct field *f, struct error *err)
{
	char *text = field_text(f, err);

	if (!text)
		return -1;
	if (text_vec_push(v, text, err) < 0) {
		free(text);
		return -1;
	}
	return 0;
}

static int set_text(char **into, const struct field *f, struct error *err)
{
	char *text = field_text(f, err);

	if (!text)
		return -1;
	free(*into);
	*into = text;
	return 0;
}

static int set_window(struct exec_request *r, const struct field *f, struct error *err)
{
	if (f->len != 4)
		return error_set(err, ERROR_INVALID, "a malformed window size");
	r->rows = frame_get_u16(f->bytes);
	r->cols = frame_get_u16(f->bytes + 2);
	return 0;
}

static int request_field(struct exec_request *r, const struct field *f, struct error *err)
{
	switch (f->tag) {
	case FIELD_ARG:
		return push_text(&r->args, f, err);
	case FIELD_ENV:
		return push_text(&r->env, f, err);
	case FIELD_CWD:
		return set_text(&r->cwd, f, err);
	case FIELD_USER:
		return set_text(&r->user, f, err);
	case FIELD_FLAGS:
		return field_u32(f, &r->flags, err);
	case FIELD_TIMEOUT:
		return field_u32(f, &r->timeout_ms, err);
	case FIELD_WINDOW_SIZE:
		return set_window(r, f, err);
	default:
		return error_set(err, ERROR_INVALID, "part %u does not belong in EXEC", f->tag);
	}
}

static int request_check(const struct exec_request *r, struct error *err)
{
	if (r->flags & ~(uint32_t)EXEC_FLAGS)
		return error_set(err, ERROR_INVALID, "unknown flags 0x%x in EXEC", r->flags);
	if (!!(r->flags & EXEC_SHELL) == !!r->args.len)
		return error_set(
			err, ERROR_INVALID, "EXEC needs arguments or a shell, and not both");
	if (r->args.len && !*r->args.items[0])
		return error_set(err, ERROR_INVALID, "the name of the command is empty");
	if (r->cwd && *r->cwd != '/')
		return error_set(err, ERROR_INVALID, "the working directory is not absolute");
	vec_foreach(char *, entry, &r->env) {
		if (**entry == '=' || !strchr(*entry, '='))
			return error_set(err, ERROR_INVALID, "an environment entry has no name");
	}
	return 0;
}

int exec_request_read(const void *bytes, size_t len, struct exec_request *ret, struct error *err)
{
	_cleanup_(exec_request_done) struct exec_request r = { 0 };
	const uint8_t *at = bytes;
	struct field_reader reader = { at, at + len };
	struct field f;
	int found;

	while ((found = field_next(&reader, &f, err)) > 0) {
		if (request_field(&r, &f, err) < 0)
			return -1;
	}
	if (found < 0 || request_check(&r, err) < 0)
		return -1;
	*ret = r;
	r = (struct exec_request){ 0 };
	return 0;
}

void exec_request_done(struct exec_request *r)
{
	environment_done(&r->args);
	environment_done(&r->env);
	free(r->cwd);
	free(r->user);
	*r = (struct exec_request){ 0 };
}

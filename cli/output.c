/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/*
 * SIGPIPE is ignored, for libvirt's sake. A reader of ours that went away ("box list | head") ends this
 * program as it would end any other.
 */
static int write_all(const char *bytes, size_t len, struct error *err)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE) {
			(void)signal(SIGPIPE, SIG_DFL);
			(void)raise(SIGPIPE);
		}
		if (n < 0)
			return error_errno(err, errno, "cannot write standard output");
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

int output_text(const char *text, struct error *err)
{
	return write_all(text, strlen(text), err);
}

int output_str(const struct str *text, struct error *err)
{
	return str_ok(text, err) < 0 ? -1 : write_all(str_get(text), text->len, err);
}

int output_line(struct error *err, const char *fmt, ...)
{
	_cleanup_str_ struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	str_append_char(&text, '\n');
	return output_str(&text, err);
}

int output_table(struct table *table, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (table_render(table, &text, err) < 0)
		return -1;
	return output_str(&text, err);
}

int output_json(const json_t *json, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (json_render(json, false, &text, err) < 0)
		return -1;
	return output_str(&text, err);
}

int output_listing(unsigned schema, const char *key, json_t *list, struct error *err)
{
	_cleanup_json_ json_t *document = json_object();

	if (json_set_u64(document, "schema", schema, err) < 0) {
		json_decref(list);
		return -1;
	}
	if (json_set_new(document, key, list, err) < 0)
		return -1;
	return output_json(document, err);
}

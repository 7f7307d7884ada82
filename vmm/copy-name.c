/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/copy-name.h"

#include <limits.h>
#include <string.h>

static int refuse(const char *raw, const char *why, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;

	str_append_escaped(&shown, raw, strnlen(raw, 200), false);
	return error_set(err, ERROR_INVALID, "'%s' %s", str_get(&shown), why);
}

static bool is(const char *part, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(part, text, len) == 0;
}

int copy_name_below(const char *raw, struct str *into, unsigned *ret_depth, struct error *err)
{
	size_t before = into->len;
	unsigned parts = 0;

	if (raw[0] == '/')
		return refuse(raw, "is an absolute path", err);
	if (strnlen(raw, COPY_NAME_MAX + 1) > COPY_NAME_MAX)
		return refuse(raw, "is too long a path", err);
	for (const char *part = raw; *part;) {
		size_t len = strcspn(part, "/");

		if (is(part, len, ".."))
			return refuse(raw, "climbs with '..'", err);
		if (len > NAME_MAX)
			return refuse(raw, "has too long a name in it", err);
		if (len && !is(part, len, ".")) {
			if (parts++)
				str_append_char(into, '/');
			str_append_len(into, part, len);
		}
		part += len + (part[len] == '/');
	}
	if (parts > COPY_DEPTH_MAX) {
		if (into->data)
			into->data[into->len = before] = '\0';
		return refuse(raw, "is too deep in folders", err);
	}
	if (str_ok(into, err) < 0)
		return -1;
	*ret_depth = parts ? parts - 1 : 0;
	return 0;
}

bool copy_name_controls(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;

	for (; *p; p++)
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f))
			return true;
	return false;
}

bool copy_link_stays(const char *target, unsigned depth)
{
	bool named = false;

	if (!*target || *target == '/')
		return false;
	while (*target) {
		size_t len = strcspn(target, "/");

		if (is(target, len, "..")) {
			if (named || !depth--)
				return false;
		} else if (len && !is(target, len, "."))
			named = true;
		target += len + (target[len] == '/');
	}
	return true;
}

const char *copy_name_last(const char *path, size_t *ret_len)
{
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/';)
		begin--;
	*ret_len = end - begin;
	if (is(path + begin, *ret_len, ".") || is(path + begin, *ret_len, ".."))
		*ret_len = 0;
	return path + begin;
}

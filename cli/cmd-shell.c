/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box shell, box root, box tmux: a person in a box. */
#include <string.h>

#include "cli/enter.h"

int cmd_shell(struct session *s, const struct call *call, struct error *err)
{
	const struct enter enter = { .user = s->box.meta.user };

	(void)call;
	return enter_box(s, &s->box, &enter, err);
}

/* Authorised by access to libvirt; needs no sudo inside. */
int cmd_root(struct session *s, const struct call *call, struct error *err)
{
	const struct enter enter = { .user = "root" };

	(void)call;
	return enter_box(s, &s->box, &enter, err);
}

static int check_session_name(const char *name, struct error *err)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	_cleanup_str_ struct str shown = STR_INIT;

	if (*name && name[0] != '-' && !name[strspn(name, allowed)])
		return 0;
	str_append_escaped(&shown, name, strlen(name), false);
	return error_set(err, ERROR_USAGE,
		"'%s' is no name for a session: letters, digits, '-' and '_', the first no '-'",
		str_get(&shown));
}

/* tmux draws with UTF-8 only when it believes that the terminal can; only we know that. */
static bool terminal_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

int cmd_tmux(struct session *s, const struct call *call, struct error *err)
{
	const char *name = call->count > 1 ? call->args[1] : "main";
	const char *argv[8] = { "tmux" };
	size_t count = 1;
	const struct enter enter = { .argv = argv, .user = s->box.meta.user };

	if (terminal_is_utf8())
		argv[count++] = "-u";
	argv[count++] = "new-session";
	argv[count++] = "-A"; /* attach if it is there */
	argv[count++] = "-s";
	argv[count++] = name;
	if (check_session_name(name, err) < 0)
		return -1;
	if (!s->in_tty || !s->out_tty)
		return error_set(err, ERROR_USAGE, "tmux needs a terminal to attach to");
	return enter_box(s, &s->box, &enter, err);
}

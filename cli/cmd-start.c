/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box start, box restart: one file, since they differ in a word. */
#include "cli/box-text.h"
#include "cli/output.h"

static int start_one(struct session *s, const char *name, void *data, struct error *err)
{
	const struct start_watch watch = session_start_watch(s);
	_cleanup_str_ struct str tail = STR_INIT;
	bool changed = false;

	(void)data;
	if (box_start(s->conn, name, &watch, &tail, &changed, err) < 0) {
		session_show_console(s, &tail);
		return -1;
	}
	return output_line(err, "%s: %s", name, changed ? "started" : "was running");
}

static int restart_one(struct session *s, const char *name, void *data, struct error *err)
{
	const struct start_watch watch = session_start_watch(s);
	_cleanup_str_ struct str tail = STR_INIT;

	(void)data;
	if (box_restart(s->conn, name, &watch, &tail, err) < 0) {
		session_show_console(s, &tail);
		return -1;
	}
	return output_line(err, "%s: restarted", name);
}

static int each(struct session *s, const struct call *call, box_act act, struct error *err)
{
	_cleanup_box_names_ struct box_names names = { 0 };

	if (session_change(s, err) < 0 || box_names_of_call(s, call, &names, err) < 0)
		return -1;
	return box_each(s, &names, act, NULL, err);
}

int cmd_start(struct session *s, const struct call *call, struct error *err)
{
	return each(s, call, start_one, err);
}

int cmd_restart(struct session *s, const struct call *call, struct error *err)
{
	return each(s, call, restart_one, err);
}

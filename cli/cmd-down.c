/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box down: ask the guest to shut down, or pull the plug. */
#include "cli/box-text.h"
#include "cli/output.h"

static int down_one(struct session *s, const char *name, void *data, struct error *err)
{
	const struct down_request request = {
		.force = s->global.force,
		.observer = &s->observer,
	};
	bool changed = false;

	(void)data;
	if (box_down(s->conn, name, &request, &changed, err) < 0)
		return -1;
	return output_line(err, "%s: %s", name, changed ? "stopped" : "was stopped");
}

int cmd_down(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_box_names_ struct box_names names = { 0 };

	if (session_change(s, err) < 0 || box_names_of_call(s, call, &names, err) < 0)
		return -1;
	return box_each(s, &names, down_one, NULL, err);
}

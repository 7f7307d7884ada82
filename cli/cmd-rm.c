/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box rm: remove boxes. Never takes "all". */
#include "cli/box-text.h"
#include "cli/output.h"
#include "vmm/remove.h"

static int remove_one(struct session *s, const char *name, void *data, struct error *err)
{
	(void)data;
	if (box_remove(s->conn, name, &s->observer, err) < 0) {
		/* it was there when the dispatcher looked: recovery, or somebody else, was quicker */
		if (err->kind != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	return output_line(err, "%s: removed", name);
}

int cmd_rm(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_box_names_ struct box_names names = { 0 };

	for (size_t i = 0; i < call->count; i++)
		if (str_equal(call->args[i], "all"))
			return error_set(err, ERROR_USAGE,
				"rm does not take 'all'; name the boxes to remove");
	if (session_change(s, err) < 0 || box_names_of_call(s, call, &names, err) < 0)
		return -1;
	return box_each(s, &names, remove_one, NULL, err);
}

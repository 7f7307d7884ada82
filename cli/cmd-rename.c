/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box rename: another name for a stopped box. */
#include "cli/box-text.h"
#include "cli/output.h"
#include "vmm/rename.h"

int cmd_rename(struct session *s, const struct call *call, struct error *err)
{
	if (session_change(s, err) < 0 ||
		box_rename(s->conn, s->box.name, call->args[1], &s->observer, err) < 0)
		return -1;
	return output_line(err, "renamed %s to %s", s->box.name, call->args[1]);
}

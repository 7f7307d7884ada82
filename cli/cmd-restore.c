/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box restore: go back to a snapshot. The question has been asked. */
#include "cli/box-text.h"
#include "cli/output.h"
#include "vmm/chain.h"

int cmd_restore(struct session *s, const struct call *call, struct error *err)
{
	const char *label = call->args[1];
	_cleanup_str_ struct str tail = STR_INIT;
	struct chain_report report = { 0 };
	struct start_watch watch;

	if (session_change(s, err) < 0)
		return -1;
	watch = session_start_watch(s);
	if (chain_restore(s->conn, s->box.name, label, &watch, &tail, &report, err) < 0) {
		session_show_console(s, &tail);
		return -1;
	}
	if (report.cold.kind)
		session_warn(s, "its memory is not restored, only its disk: %s", report.cold.text);
	return output_line(err, "%s: restored to %s%s", s->box.name, label,
		report.live      ? ", where it was"
		: report.running ? ", running again"
				 : "");
}

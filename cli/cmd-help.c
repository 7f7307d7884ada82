/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box help, box version. */
#include "cli/help.h"
#include "cli/output.h"
#include "cli/session.h"
#include "config.h"

int cmd_help(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	const struct command *command;

	if (s->global.json) {
		json_t *list = help_json(err);

		return list ? output_listing(1, "commands", list, err) : -1;
	}
	if (!call->count) {
		help_overview(&text);
	} else {
		command = command_get(call->args[0], err);
		if (!command)
			return -1;
		help_command(command, &text);
	}
	return output_str(&text, err);
}

int cmd_version(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_json_ json_t *document = NULL;

	(void)call;
	if (!s->global.json)
		return output_line(err, "box %s", BOX_VERSION);
	document = json_object();
	if (json_set_u64(document, "schema", 1, err) < 0 ||
		json_set_text(document, "version", BOX_VERSION, err) < 0)
		return -1;
	return output_json(document, err);
}

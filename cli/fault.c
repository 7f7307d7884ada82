/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/fault.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *name;
	int status;
} faults[] = {
	[FAULT_NONE] = { "start-failed", 126 },
	[FAULT_USAGE] = { "usage", 2 },
	[FAULT_IMAGE_MISSING] = { "image-missing", 125 },
	[FAULT_BOX_MISSING] = { "box-missing", 125 },
	[FAULT_BOX_STOPPED] = { "box-stopped", 125 },
	[FAULT_START_FAILED] = { "start-failed", 126 },
	[FAULT_AGENT_UNREACHABLE] = { "agent-unreachable", 126 },
	[FAULT_NOT_EXECUTABLE] = { "not-executable", 127 },
};
static_assert(ARRAY_LEN(faults) == FAULT_NOT_EXECUTABLE + 1, "a row for each fault");

int fault_status_plain(const struct error *err)
{
	return err->kind == ERROR_USAGE ? 2 : 1;
}

int fault_status(enum fault fault)
{
	return faults[fault].status;
}

enum fault fault_of(enum fault stage, const struct error *err)
{
	return err->kind == ERROR_USAGE ? FAULT_USAGE : stage;
}

void fault_line(enum fault fault, const struct error *err, struct str *into)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_append_escaped(&text, err->text, strlen(err->text), false);
	str_printf(into, "box: fault=%s detail=\"", faults[fault].name);
	for (const char *p = str_get(&text); *p; p++) {
		if (*p == '"' || (*p == '\\' && p[1] != 'x'))
			str_append_char(into, '\\');
		str_append_char(into, *p);
	}
	str_append(into, "\"\n");
}

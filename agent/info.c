/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/info.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include "agent/identity-item.h"
#include "agent/identity.h"
#include "config.h"

static void put(struct str *into, const char *name, const char *value)
{
	field_put_text(into, FIELD_NAME, name);
	field_put_text(into, FIELD_VALUE, value);
}

/* The first line of a file, if it can be read. */
static void put_file(
	const struct identity_context *c, const char *name, const char *path, struct str *into)
{
	_cleanup_str_ struct str line = STR_INIT;
	struct error ignored = { 0 };

	if (identity_line(c, path, &line, &ignored) == 0)
		put(into, name, str_get(&line));
}

void info_put(const char *root, const struct stages *stages, struct str *into)
{
	static const char *const states[] = { "running", "usable", "failed" };
	const struct identity_context c = { .root = root, .live = false };
	struct timespec up = { 0 };
	struct utsname name = { 0 };
	char text[64];

	(void)uname(&name);
	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	put(into, "agent", BOX_VERSION);
	(void)snprintf(text, sizeof(text), "%d", FRAME_VERSION);
	put(into, "protocol", text);
	put(into, "kernel", name.release);
	put(into, "hostname", name.nodename);
	put_file(&c, "machine-id", "/etc/machine-id", into);
	put_file(&c, "boot-id", "/proc/sys/kernel/random/boot_id", into);
	(void)snprintf(
		text, sizeof(text), "%lld", (long long)up.tv_sec * 1000 + up.tv_nsec / 1000000);
	put(into, "uptime", text);
	put(into, "state", states[stages->state]);
	put(into, "stage", stages->name);
	identity_put_network(&c, into);
	identity_put_record(root, into);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "mint/event.h"

int error_guestfs(struct error *err, guestfs_h *g, const char *what)
{
	const char *text = guestfs_last_error(g);
	_cleanup_str_ struct str safe = STR_INIT;
	enum error_kind kind = ERROR_FAILED;

	if (!text)
		text = "unknown error";
	str_append_escaped(&safe, text, strlen(text), false);
	if (guestfs_last_errno(g) == ENOSPC || strstr(text, "No space left on device"))
		kind = ERROR_NO_SPACE;
	return error_set(err, kind, "cannot %s: %s", what, str_get(&safe));
}

void launch_free_list(char **list)
{
	for (char **text = list; *text; text++)
		free(*text);
	free(list);
}

/* KVM is used where there is one, unless emulation was asked for. */
static bool emulate(void)
{
	const char *accel = getenv("BOX_ACCEL");

	return str_equal(accel, "tcg") || access("/dev/kvm", R_OK | W_OK) < 0;
}

static void tell_progress(guestfs_h *g, void *data, uint64_t event, int handle, int flags,
	const char *buf, size_t len, const uint64_t *array, size_t count)
{
	(void)g;
	(void)data;
	(void)event;
	(void)handle;
	(void)flags;
	(void)buf;
	(void)len;
	if (count >= 4)
		event_progress(array[2], array[3]);
}

guestfs_h *launch_new(struct error *err)
{
	_cleanup_(guestfs_close_p)
		guestfs_h *g = guestfs_create_flags(GUESTFS_CREATE_NO_CLOSE_ON_EXIT);

	if (!g) {
		error_oom(err);
		return NULL;
	}
	/* its own habit is to print */
	guestfs_set_error_handler(g, NULL, NULL);
	if (guestfs_set_backend(g, "direct") < 0 || guestfs_set_pgroup(g, 1) < 0 ||
		guestfs_set_smp(g, 2) < 0 ||
		(emulate() && guestfs_set_backend_setting(g, "force_tcg", "1") < 0)) {
		error_guestfs(err, g, "configure the appliance");
		return NULL;
	}
	(void)guestfs_set_event_callback(g, tell_progress, GUESTFS_EVENT_PROGRESS, 0, NULL);
	return TAKE(g);
}

static int add_disk(guestfs_h *g, const struct launch_disk *disk, struct error *err)
{
	struct guestfs_add_drive_opts_argv options = {
		.bitmask = GUESTFS_ADD_DRIVE_OPTS_FORMAT_BITMASK |
			   GUESTFS_ADD_DRIVE_OPTS_READONLY_BITMASK |
			   GUESTFS_ADD_DRIVE_OPTS_LABEL_BITMASK |
			   GUESTFS_ADD_DRIVE_OPTS_CACHEMODE_BITMASK,
		.format = disk->format,
		.readonly = disk->readonly,
		.label = disk->label,
		/* the finished file is flushed before it counts */
		.cachemode = "unsafe",
	};

	if (!disk->readonly) {
		options.bitmask |= GUESTFS_ADD_DRIVE_OPTS_DISCARD_BITMASK;
		options.discard = "besteffort";
	}
	return guestfs_add_drive_opts_argv(g, disk->path, &options) < 0
		       ? error_guestfs(err, g, "add a disk to the appliance")
		       : 0;
}

int launch_with(guestfs_h *g, const struct launch_disk *disks, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (disks[i].path && add_disk(g, &disks[i], err) < 0)
			return -1;
	if (guestfs_launch(g) < 0) {
		error_guestfs(err, g, "start the appliance");
		return error_hint(err, "; 'libguestfs-test-tool' shows why");
	}
	return 0;
}

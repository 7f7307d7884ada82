/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libguestfs's appliance: how it is started, and its errors as ours. Used by the mint alone. */
#ifndef MINT_LAUNCH_H
#define MINT_LAUNCH_H

#include <guestfs.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/macro.h"

DEFINE_CLEANUP(guestfs_h *, guestfs_close);

/* libguestfs makes a link of this folder for each labelled disk. */
#define LAUNCH_BY_LABEL "/dev/disk/guestfs/"

struct launch_disk {
	const char *path; /* NULL: no such disk */
	const char *label; /* at most 20 letters */
	const char *format;
	bool readonly;
};

/* A handle that does not print; close it. NULL with err. */
guestfs_h *launch_new(struct error *err) MUST_CHECK;

/* Start the appliance with these disks. */
int launch_with(
	guestfs_h *g, const struct launch_disk *disks, size_t count, struct error *err) MUST_CHECK;

/* A list of texts of libguestfs: the caller frees it and what is in it. */
void launch_free_list(char **list);
DEFINE_CLEANUP(char **, launch_free_list);

/* "cannot <what>: <libguestfs's reason>". Returns -1. */
int error_guestfs(struct error *err, guestfs_h *g, const char *what);

#endif

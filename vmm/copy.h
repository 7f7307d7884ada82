/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files in and out of a box: a tar stream through the guest agent, made or taken there by the box's own
 * tar, and here by box-copy (vmm/copy-archive.h). Modes, times, symbolic and hard links and holes are kept,
 * owners are not. All that comes from the box is hostile.
 *
 * A copy that fails leaves nothing under its final name: it arrives in a folder beside that place, and is
 * moved there in the end.
 *
 * Paths in the box: absolute, or below the user's home, which "", "~" and "~/..." stand for as well.
 */
#ifndef VMM_COPY_H
#define VMM_COPY_H

#include "vmm/copy-archive.h"
#include "vmm/guest.h"

struct copy_options {
	const char *user; /* of the box */
	uint64_t timeout_ms; /* 0: none */
	int interrupt_fd; /* lent; readable means: give up with ERROR_INTERRUPTED; 0: none */
	/* For what comes from a box. */
	uint64_t max_entries; /* 0: a million */
	uint64_t
		max_bytes; /* 0: 64 GiB, and not more than leaves a tenth of the file system free */
	bool skip_unsafe; /* leave out what is refused otherwise, and say so */
};

/*
 * Copy path of the box to to, which is "-" for standard output (then path must be a file, and its bytes
 * are all that is written). Into a folder that is there, or as to. observer may be NULL; its functions may
 * be called in another thread, while this one is in here. ERROR_INVALID: the archive was refused.
 */
int copy_from_box(struct guest *g, const char *path, const char *to,
	const struct copy_options *options, const struct copy_observer *observer,
	struct error *err) MUST_CHECK;

/* The other way; from is "-" for standard input, and a fifo is read in the same way. */
int copy_to_box(struct guest *g, const char *from, const char *path,
	const struct copy_options *options, const struct copy_observer *observer,
	struct error *err) MUST_CHECK;

#endif

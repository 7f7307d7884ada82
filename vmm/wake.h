/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting a box from memory instead of booting it. */
#ifndef VMM_WAKE_H
#define VMM_WAKE_H

#include "vmm/adopt.h"
#include "vmm/lifecycle.h"
#include "vmm/warm.h"

struct wake {
	virStoragePoolPtr pool; /* lent */
	const struct warm *warm; /* lent: its memory, which fits the box's definition */
	struct box
		*box; /* lent: stopped; its disk stands on the layer that belongs to that memory */
	uint64_t disk; /* bytes that the disk is to have; 0: as it is */
	enum adopt_as as;
	const struct start_watch *watch; /* lent */
	bool restored; /* out: the memory was restored, whatever came then */
};

/*
 * Restore it, have its guest take its identity, and let its disk grow: the operation "wake". On failure the box
 * may run or not, and its disk may have been written: the caller takes both back (wake_undo).
 */
int wake_box(struct wake *wake, struct error *err) MUST_CHECK;

/* Power the box off, and make the volume of its disk anew on backing: as if it had never been woken. */
int wake_undo(const struct wake *wake, const char *layer, const char *backing, uint64_t disk,
	struct error *err) MUST_CHECK;

#endif

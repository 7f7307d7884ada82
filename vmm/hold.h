/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of every operation that changes a box: find it, take its lock, read it again, and
 * finish or undo what a killed operation left. Afterwards the box is ours until box_hold_done.
 *
 *	_cleanup_hold_ struct box_hold hold = { 0 };
 *	if (box_hold(conn, name, LOCK_WAIT_MS, &hold, err) < 0)
 *		return -1;
 */
#ifndef VMM_HOLD_H
#define VMM_HOLD_H

#include "vmm/box.h"
#include "vmm/lock.h"

struct box_hold {
	virConnectPtr conn; /* lent */
	virStoragePoolPtr pool; /* owned */
	struct box_lock *lock; /* owned */
	struct box box; /* owned */
};

/* Gives the lock back. Safe on a zeroed one. */
void box_hold_done(struct box_hold *hold);
#define _cleanup_hold_ _cleanup_(box_hold_done)

/*
 * Errors of box_find, lock_take and box_recover; a box that a killed command left half made or half
 * removed is removed here, and then there is no such box. A newer schema is refused. ret is zeroed.
 */
int box_hold(virConnectPtr conn, const char *name, uint64_t wait_ms, struct box_hold *ret,
	struct error *err) MUST_CHECK;

/* The journal: what is in progress from now on; subject and layer may be NULL. */
int box_hold_begin(struct box_hold *hold, const char *operation, const char *subject,
	const char *layer, struct error *err) MUST_CHECK;

/* Nothing is in progress any more. */
int box_hold_end(struct box_hold *hold, struct error *err) MUST_CHECK;

#endif

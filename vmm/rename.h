/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another name for a box. */
#ifndef VMM_RENAME_H
#define VMM_RENAME_H

#include "base/steps.h"
#include "vmm/hold.h"

#define OPERATION_RENAMING "renaming" /* finished: subject is the new name */

/*
 * Give a stopped box another name, which is its guest's hostname from the next start on. All else
 * follows from its UUID and stays: layers, snapshots, address, tap, doors. ERROR_EXISTS when a domain
 * has that name, ERROR_BUSY when the box runs.
 */
int box_rename(virConnectPtr conn, const char *name, const char *new_name,
	const struct steps_observer *observer, struct error *err) MUST_CHECK;

/* What a killed rename left in a held box: a row of vmm/recover.c. */
int rename_recover(struct box_hold *hold, bool *ret_gone, struct error *err) MUST_CHECK;

#endif

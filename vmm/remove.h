/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removing a box and everything that is its alone. */
#ifndef VMM_REMOVE_H
#define VMM_REMOVE_H

#include "base/steps.h"
#include "vmm/hold.h"

/*
 * Remove the box: the guest is powered off; layers, seed, reservation, console log and the domain go;
 * layers that a clone stands on stay. The absence of all of it is seen. What fails half way is finished
 * by the next command (operation "removing"). observer may be NULL.
 */
int box_remove(virConnectPtr conn, const char *name, const struct steps_observer *observer,
	struct error *err) MUST_CHECK;

/* The same for a box that is held, whatever its state: undoing and recovery. Can be repeated. */
int box_discard(
	struct box_hold *hold, const struct steps_observer *observer, struct error *err) MUST_CHECK;

#endif

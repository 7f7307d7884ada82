/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a clone is made from: a box as it is now, or one of its snapshots. The source's lock is held
 * from clone_open to clone_done, so that no layer goes before the clone's disk stands on it. Making the
 * clone itself is new_box (vmm/new.h).
 */
#ifndef VMM_CLONE_H
#define VMM_CLONE_H

#include "vmm/chain.h"
#include "vmm/new.h"

struct clone {
	struct box_hold hold; /* owned: the source */
	char from[160]; /* "web" or "web/logged-in" */
	char label[64]; /* of the snapshot; "": none */
	bool as_it_is; /* no snapshot: its disk is frozen by clone_freeze */
	char layer[META_VOLUME_MAX]; /* what the clone's disk stands on, frozen or about to be */
	struct new_image image; /* the source's lineage; volume is the golden image's name */
	struct resources resources; /* the source's */
	struct chain_report report; /* after clone_freeze */
};

/*
 * Find the source, "BOX" or "BOX/LABEL", and hold it. Nothing is changed. ERROR_NOT_FOUND: no such box
 * or no such snapshot; ERROR_INVALID: its layers are not in order.
 */
int clone_open(
	virConnectPtr conn, const char *from, struct clone *ret, struct error *err) MUST_CHECK;

/* Freeze the source's disk if it is cloned as it is; else nothing. */
int clone_freeze(
	struct clone *clone, const struct steps_observer *observer, struct error *err) MUST_CHECK;

/* Let go of the source: when the clone's disk exists, or is not wanted. Safe on a zeroed one. */
void clone_done(struct clone *clone);
#define _cleanup_clone_ _cleanup_(clone_done)

/* The guest of this box has its own identity: ask its agent, which must answer. */
int clone_verify(struct box *box, struct error *err) MUST_CHECK;

#endif

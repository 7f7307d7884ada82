/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The boxes of a drill. Its own are made, kept and removed by a process each ("box __drill-box NAME"), so
 * that both boot at the same time: it holds the box's lock, the box is marked as one that goes with its
 * holder, and it goes when the keeper's input ends. So a drill that is killed takes its boxes along, and
 * those of a keeper that is killed are taken away by the next command that changes boxes.
 *
 * Lines between the two: the keeper says DRILL_BOX_HELLO, then "1 ready" when the box is usable; it is
 * told "door PORT HOSTPORT" or "shut PORT", and answers "2 ok" or "2 error TEXT".
 */
#ifndef CLI_DRILL_BOXES_H
#define CLI_DRILL_BOXES_H

#include "cli/session.h"
#include "vmm/drill-link.h"

#define DRILL_BOX_HELLO "box-drill 1"

struct drill_boxes {
	struct session *session; /* lent */
	char names[2][BOX_NAME_MAX]; /* DRILL_A, DRILL_B */
	bool own[2]; /* it is ours, with a keeper */
	struct drill_link keepers[2];
	bool installed[2];
	char probe[40]; /* path of box-probe in the boxes */
	char answer[300]; /* a keeper's last line */
	bool ready[2], answered;
};

void drill_boxes_init(struct drill_boxes *b, struct session *s);

/*
 * Make the peer, and the box too unless given is a box of the user's (NULL: none), and put the probe into
 * both. On failure boxes that were made are still to be removed: drill_boxes_remove, in each case.
 */
int drill_boxes_make(struct drill_boxes *b, const char *given, struct error *err) MUST_CHECK;

/* Open a door from hostport to the peer's port, or shut it. */
int drill_boxes_door(struct drill_boxes *b, bool open, uint16_t port, uint16_t host,
	struct error *err) MUST_CHECK;

/*
 * Take the probe out of a given box, and end the keepers. That our boxes are gone is seen; ERROR_FAILED
 * names what is left, and how to remove it.
 */
int drill_boxes_remove(struct drill_boxes *b, struct error *err) MUST_CHECK;

/*
 * The words that start "box-probe serve" in a box, NULL-terminated; argv of 12 is enough. Lent from b.
 */
void drill_boxes_argv(struct drill_boxes *b, size_t which, const char **argv);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading what box-probe prints. Pure. Lines from boxes are a hostile guest's: a line that is not
 * understood is a failed probe or no sight, never more, and texts that are kept are made harmless.
 */
#ifndef VMM_DRILL_EVIDENCE_H
#define VMM_DRILL_EVIDENCE_H

#include "vmm/drill-plan.h"

/* A line that item's probe printed. */
void drill_take_line(const struct drill_world *world, struct drill_item *item, const char *line);

/* The item's probe has ended with this status. */
void drill_take_end(struct drill_item *item, unsigned status);

/*
 * A line that a watcher at this place printed: "seen ...". Puts the sight with the item whose token it
 * is; a token of nobody is left out. Returns whether it was a sight of ours.
 */
bool drill_take_sight(const struct drill_world *world, struct drill_plan *plan,
	enum drill_place place, const char *line);

/* Whether the item was seen there. */
bool drill_item_seen(const struct drill_item *item, enum drill_where where);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building the list of a plan: for vmm/layer-plan.c and vmm/layer-merge.c alone. */
#ifndef VMM_LAYER_ACTION_H
#define VMM_LAYER_ACTION_H

#include "vmm/layer-plan.h"

/* NULL stands for "". */
struct layer_names {
	const char *volume, *backing, *label;
};

/* Empty, for this box. */
void layer_plan_begin(struct layer_plan *plan, const struct layer_box *box);

/* ret; the plan is emptied first if ret is -1. */
int layer_plan_finish(struct layer_plan *plan, int ret) MUST_CHECK;

/* A new action at the end, lent until the next is added; NULL with err. */
struct layer_action *layer_plan_add(
	struct layer_plan *plan, enum layer_action_kind kind, struct error *err) MUST_CHECK;
int layer_plan_add_named(struct layer_plan *plan, enum layer_action_kind kind,
	struct layer_names names, struct error *err) MUST_CHECK;
int layer_plan_add_intend(
	struct layer_plan *plan, const struct layer_intent *intent, struct error *err) MUST_CHECK;

/* CREATE the layer of this name on that one. */
int layer_plan_add_create(const struct layer_graph *g, const char *name, size_t backing,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/* DELETE each layer of which freed is set, lower ones first. freed is used up. */
int layer_plan_add_deletes(const struct layer_graph *g, bool *freed, struct layer_plan *plan,
	struct error *err) MUST_CHECK;

/* DELETE all that the change frees. */
int layer_plan_add_freed(const struct layer_graph *g, const struct layer_change *change,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/* The box stays as it is. */
struct layer_change layer_change_none(const struct layer_box *box);

#endif

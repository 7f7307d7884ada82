/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans over the layer graph: what has to be done to snapshot, restore, merge or remove, as a list of
 * actions in an order that is safe to be cut off anywhere. Pure. vmm/chain-run.c carries a plan out
 * through libvirt; the tests carry it out on a world in memory.
 */
#ifndef VMM_LAYER_PLAN_H
#define VMM_LAYER_PLAN_H

#include "vmm/layer-graph.h"

enum {
	LAYER_DEPTH_FLATTEN = 32, /* a deeper chain is shortened by merging what has no name */
	LAYER_DEPTH_COPY = 64, /* and a chain that stays deeper than this by copying */
	LAYER_PLAN_MAX = 4096, /* actions */
	LAYER_EMPTY_BYTES = 1 << 20, /* more than a new layer takes (about 200 KiB) */
};

/*
 * What is written into a box's own metadata before anything is changed, and taken out after the last
 * change: if the program dies, the next command for the box finds it and calls layer_plan_recover.
 */
enum layer_intent_kind {
	LAYER_INTENT_NONE = 0,
	LAYER_INTENT_SNAPSHOT, /* layer: the new top; label: the snapshot's, or "" */
	LAYER_INTENT_RESTORE, /* layer: the new top; old: the one that goes */
	LAYER_INTENT_RESTORE_RUNNING, /* the same; the box was running and is to run again */
	LAYER_INTENT_MERGE, /* old: the uppermost of the layers that may go */
	LAYER_INTENT_MERGE_DOWN, /* old is being written into layer, which it stands on, and goes */
};

struct layer_intent {
	enum layer_intent_kind kind;
	char label[LAYER_LABEL_MAX];
	char layer[LAYER_NAME_MAX];
	char old[LAYER_NAME_MAX];
};

enum layer_action_kind {
	LAYER_INTEND, /* write intent into the metadata */
	LAYER_CLEAR, /* take it out */
	LAYER_CREATE, /* make volume, empty, on backing, with capacity */
	LAYER_SWITCH, /* stopped box: its disk is volume now; label, unless "", names backing */
	LAYER_PIVOT, /* running box: its disk is volume now, which stands on backing */
	LAYER_RECORD, /* label, unless "", names backing */
	LAYER_FORGET, /* label goes */
	LAYER_MOVE, /* labels that named volume name backing */
	LAYER_STOP, /* power off */
	LAYER_START,
	LAYER_PULL, /* volume takes in all between it and backing ("" : all), then stands on that */
	LAYER_COMMIT, /* volume is written into backing; what stood on volume stands on backing */
	LAYER_DELETE, /* volume */
};

struct layer_action {
	enum layer_action_kind kind;
	char volume[LAYER_NAME_MAX];
	char backing[LAYER_NAME_MAX];
	char label[LAYER_LABEL_MAX];
	uint64_t capacity;
	struct layer_intent intent; /* INTEND */
	bool clear; /* SWITCH, RECORD: the intent goes with the same change */
	bool live; /* PULL: by the QEMU of the running box; COMMIT always is */
};

struct layer_plan {
	char uuid[LAYER_UUID_MAX]; /* of the one box that is changed */
	struct layer_action *items; /* owned */
	size_t len, cap;
	size_t commit; /* a failure before this action is undone, from it on only reported */
	uint64_t bytes; /* that the pool must have left */
	char note[256]; /* for the user: what was kept, and why; "" : nothing */
};

void layer_plan_done(struct layer_plan *plan); /* safe on a zeroed one */
#define _cleanup_layer_plan_ _cleanup_(layer_plan_done)

/*
 * Each fills a zeroed plan. box is one of g's and has passed layer_graph_check (unless said
 * otherwise). On failure the plan is empty.
 */

/*
 * Freeze the box's top and go on in a new layer. label NULL: nameless, for a clone of the box as it
 * is. The frozen layer is the backing of the first LAYER_CREATE. ERROR_EXISTS: label taken.
 */
int layer_plan_snapshot(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/* Go on in a new layer on the label's; what was written since goes unless a newer label has it. */
int layer_plan_restore(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/* The label goes; its layer goes too, is merged, or stays without a name (then note says why). */
int layer_plan_forget(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/* Delete the layers that only this box needs. The box need not have passed the check. */
int layer_plan_remove(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/*
 * Shorten the chain of the box's top if it is deeper than LAYER_DEPTH_FLATTEN: merge layers that have
 * no name and nobody else stands on; if it stays deeper than LAYER_DEPTH_COPY, copy everything above
 * the golden image into the top. An empty plan when there is nothing to do.
 */
int layer_plan_flatten(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, struct error *err) MUST_CHECK;

/*
 * Finish or undo what intent says; an empty plan when its kind is none. The box need not have passed
 * the check.
 */
int layer_plan_recover(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, struct layer_plan *plan, struct error *err) MUST_CHECK;

/*
 * DELETE what an operation that has done all else leaves over: its own plan was made before, and a box that
 * shared layers with this one may have gone since. The box need not have passed the check.
 */
int layer_plan_sweep(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, struct layer_plan *plan, struct error *err) MUST_CHECK;

/* The label of the box; ERROR_NOT_FOUND listing those that there are. Lent. */
const struct layer_label *layer_plan_label(
	const struct layer_box *box, const char *label, struct error *err) MUST_CHECK;

/* Copy text (NULL: "") into a field of an action or intent, which has room for it. */
void layer_copy_name(char *into, size_t size, const char *text);

/* A word for an action, for steps and messages: "create", "pivot". */
const char *layer_action_name(enum layer_action_kind kind);

#endif

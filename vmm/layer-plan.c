/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory. The world is volumes, and one domain a box; libvirt changes either of them whole or not at
 * all (a volume is created or deleted, a domain's XML with its metadata is replaced), and QEMU moves a
 * running box to another layer whole or not at all. Everything here is a sequence of such changes.
 *
 * Invariants, which every plan keeps between any two of its actions:
 *
 *  1. Every chain that a top or a label needs is complete.
 *  2. The top of a box is written by that box alone: nothing stands on it, no label names it.
 *     Between CREATE and SWITCH or PIVOT a new, empty layer stands on the top; it is nobody's, the
 *     box's lock is held, and recovery deletes it before anything else is done with the box.
 *  3. A layer that a label names or a layer stands on is frozen. Merging alone writes to one, and
 *     so that the content seen through every name stays: PULL adds to a layer what shows through it
 *     from below; COMMIT writes a layer into one that has no name and no other child.
 *  4. A layer is deleted only when no top, label, pin or other volume needs it. Lower ones first,
 *     so that a list of deletions that is cut off leaves what its upper end still leads to. Plans are made
 *     on a graph of before: what another box has given up since is found before the CLEAR (layer_plan_sweep).
 *  5. Only volumes called box-<uuid>-<n>.qcow2 are written or deleted. Golden images are not ours.
 *  6. An intent is written before the first change and taken out with the last. Cut off anywhere,
 *     every box and label has its content of before or of after, and the intent leads to all that
 *     is left over (layer_plan_recover). Without an intent nothing is ever swept: a layer that
 *     nobody needs may belong to a domain that its owner has undefined for a moment.
 *
 *	             snapshot                        restore S
 *	  top L2     L3 new top          L3 (T)      L4 new top on S's layer; L3 goes,
 *	  L1 (S)     L2 (T)              L2 (T)      L2 stays since T names it
 *	  golden     L1 (S)              L1 (S)
 *
 * Removing a snapshot merges by PULL into the layer above: it never touches what others stand on,
 * may be cut off anywhere (until it ends the layer stands where it stood), and the name goes after it.
 * In a running box QEMU pulls into the top alone; deeper down the layer above is COMMITted instead,
 * so there the name goes first. A layer above that another box stands on as well is left alone: the
 * removed snapshot's layer then stays without a name, to be merged by a later flatten.
 */
#include "vmm/layer-plan.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "vmm/layer-action.h"

const struct layer_label *layer_plan_label(
	const struct layer_box *box, const char *label, struct error *err)
{
	const struct layer_label *found = layer_box_label(box, label);

	if (found)
		return found;
	error_set(err, ERROR_NOT_FOUND, "box '%s' has no snapshot '%.80s'", box->name, label);
	if (box->labels_len == 0)
		error_hint(err, "; it has none: take one with 'box snapshot %s'", box->name);
	for (size_t i = 0; i < box->labels_len && i < 8; i++)
		error_hint(err, "%s%s", i ? ", " : "; it has ", box->labels[i].label);
	if (box->labels_len > 8)
		error_hint(err, " and %zu more", box->labels_len - 8);
	return NULL;
}

/* ---- snapshot ---- */

/* The box's next layer, by name. */
static void set_next(
	const struct layer_graph *g, const struct layer_box *box, struct layer_intent *intent)
{
	layer_name_format(box->uuid, layer_graph_next_number(g, box->uuid), intent->layer,
		sizeof(intent->layer));
}

/* Stopped: disk and label change in one definition of the domain. Running: QEMU first, label second. */
static int plan_snapshot(const struct layer_graph *g, const struct layer_box *box,
	const char *label, struct layer_plan *plan, struct error *err)
{
	struct layer_intent intent = { .kind = LAYER_INTENT_SNAPSHOT };
	struct layer_names names = { intent.layer, g->layers[box->top].name, label };

	set_next(g, box, &intent);
	layer_copy_name(intent.label, sizeof(intent.label), label);
	if (layer_plan_add_intend(plan, &intent, err) < 0 ||
		layer_plan_add_create(g, intent.layer, box->top, plan, err) < 0 ||
		layer_plan_add_named(plan, box->running ? LAYER_PIVOT : LAYER_SWITCH, names, err) <
			0)
		return -1;
	plan->commit = plan->len;
	if (box->running && layer_plan_add_named(plan, LAYER_RECORD, names, err) < 0)
		return -1;
	plan->items[plan->len - 1].clear = true;
	return 0;
}

int layer_plan_snapshot(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err)
{
	if (label && layer_box_label(box, label))
		return error_set(err, ERROR_EXISTS,
			"box '%s' has a snapshot '%s' already; choose another label, or remove that one: box snapshot %s --remove %s",
			box->name, label, box->name, label);
	if (label && box->labels_len >= LAYER_LABELS_MAX)
		return error_set(err, ERROR_FAILED,
			"box '%s' has %d snapshots, the most there may be; remove one", box->name,
			LAYER_LABELS_MAX);
	if (g->layers[box->top].depth >= LAYER_DEPTH_MAX)
		return error_set(err, ERROR_FAILED,
			"box '%s' stands on %d layers, the most there may be; stop it and remove a snapshot, which shortens the chain",
			box->name, LAYER_DEPTH_MAX);
	layer_plan_begin(plan, box);
	return layer_plan_finish(plan, plan_snapshot(g, box, label, plan, err));
}

/* ---- restore ---- */

static int plan_restore(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_label *label, struct layer_plan *plan, struct error *err)
{
	struct layer_intent intent = { .kind = LAYER_INTENT_RESTORE };
	struct layer_names names = { intent.layer, g->layers[label->layer].name, NULL };
	struct layer_change change = layer_change_none(box);

	if (box->running)
		intent.kind = LAYER_INTENT_RESTORE_RUNNING;
	set_next(g, box, &intent);
	layer_copy_name(intent.label, sizeof(intent.label), label->label);
	layer_copy_name(intent.old, sizeof(intent.old), g->layers[box->top].name);
	if (layer_plan_add_intend(plan, &intent, err) < 0 ||
		layer_plan_add_create(g, intent.layer, label->layer, plan, err) < 0)
		return -1;
	if (box->running && !layer_plan_add(plan, LAYER_STOP, err))
		return -1;
	if (layer_plan_add_named(plan, LAYER_SWITCH, names, err) < 0)
		return -1;
	if (box->running && !layer_plan_add(plan, LAYER_START, err))
		return -1;
	plan->commit = plan->len;
	change.top = label->layer;
	if (layer_plan_add_freed(g, &change, plan, err) < 0)
		return -1;
	return layer_plan_add(plan, LAYER_CLEAR, err) ? 0 : -1;
}

int layer_plan_restore(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err)
{
	const struct layer_label *found = layer_plan_label(box, label, err);

	if (!found)
		return -1;
	layer_plan_begin(plan, box);
	return layer_plan_finish(plan, plan_restore(g, box, found, plan, err));
}

/* ---- remove ---- */

int layer_plan_remove(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, struct error *err)
{
	struct layer_change change = layer_change_none(box);

	change.removed = true;
	layer_plan_begin(plan, box);
	return layer_plan_finish(plan, layer_plan_add_freed(g, &change, plan, err));
}

/* ---- recovery ---- */

/* The new layer is there, and its box has not moved to it. */
static bool is_waiting(const struct layer_graph *g, const struct layer_box *box, size_t layer)
{
	return layer < g->len && box->top < g->len && layer_graph_below(g, layer) == box->top &&
	       g->layers[layer].children == 0 && g->layers[layer].labels == 0 &&
	       g->layers[layer].tops == 0;
}

/*
 * QEMU or the definition got as far as the new top: then the label is recorded. Else, in a stopped box, the
 * move is made now: QEMU may have got there without libvirtd's hearing of it (chain_recover looks), and
 * whatever it has written is in the new layer. In a running box nothing has happened, and the new
 * layer, which nobody needs, goes. *ret_top: what the box has as its top then, or LAYER_NONE.
 */
static int recover_snapshot(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, struct layer_plan *plan, size_t *ret_top,
	struct error *err)
{
	size_t layer = layer_graph_find(g, intent->layer);
	size_t frozen = layer_graph_below(g, layer);
	struct layer_names names = { .volume = intent->layer, .label = intent->label };
	bool move = !box->running && is_waiting(g, box, layer);

	if (frozen == LAYER_NONE || (!move && box->top != layer))
		return 0;
	if (layer_box_label(box, intent->label)) {
		if (!move)
			return 0;
		names.label = NULL;
	}
	names.backing = g->layers[frozen].name;
	if (move)
		*ret_top = layer;
	return layer_plan_add_named(plan, move ? LAYER_SWITCH : LAYER_RECORD, names, err);
}

/*
 * The layer's only child was moved off it by QEMU and by nothing else: then all of it is in the layer
 * below, which has that child now. Its labels move down, so that nobody needs it.
 */
static int recover_merge_down(const struct layer_graph *g, const struct layer_intent *intent,
	struct layer_plan *plan, struct error *err)
{
	size_t upper = layer_graph_find(g, intent->old);
	size_t lower = upper == LAYER_NONE ? LAYER_NONE : layer_graph_below(g, upper);
	struct layer_names names = { .volume = intent->old, .backing = intent->layer };

	if (lower == LAYER_NONE || !str_equal(g->layers[lower].name, intent->layer) ||
		g->layers[upper].labels == 0 || g->layers[upper].children ||
		g->layers[upper].tops || g->layers[upper].kind != LAYER_BOX ||
		g->layers[lower].kind != LAYER_BOX || g->layers[lower].children < 2)
		return 0;
	if (layer_plan_add_named(plan, LAYER_MOVE, names, err) < 0)
		return -1;
	return layer_plan_add_named(
		plan, LAYER_DELETE, (struct layer_names){ .volume = intent->old }, err);
}

/* Of what the intent names, that which nobody needs when the box's new top is this (LAYER_NONE: as it is). */
static int add_left_over(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, size_t top, struct layer_plan *plan, struct error *err)
{
	struct layer_change change = layer_change_none(box);

	change.top = top;
	change.roots[0] = layer_graph_find(g, intent->layer);
	change.roots[1] = layer_graph_find(g, intent->old);
	return layer_plan_add_freed(g, &change, plan, err);
}

int layer_plan_sweep(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, struct layer_plan *plan, struct error *err)
{
	layer_plan_begin(plan, box);
	return layer_plan_finish(plan, add_left_over(g, box, intent, LAYER_NONE, plan, err));
}

static int plan_recover(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, struct layer_plan *plan, struct error *err)
{
	size_t top = LAYER_NONE;
	int ret = 0;

	switch (intent->kind) {
	case LAYER_INTENT_NONE:
		return 0;
	case LAYER_INTENT_SNAPSHOT:
		ret = recover_snapshot(g, box, intent, plan, &top, err);
		break;
	case LAYER_INTENT_MERGE_DOWN:
		ret = recover_merge_down(g, intent, plan, err);
		break;
	case LAYER_INTENT_RESTORE:
	case LAYER_INTENT_RESTORE_RUNNING:
	case LAYER_INTENT_MERGE:
		break; /* switched or not: of the two layers, the one that it does not stand on goes */
	}
	if (ret < 0 || add_left_over(g, box, intent, top, plan, err) < 0)
		return -1;
	if (intent->kind == LAYER_INTENT_RESTORE_RUNNING && !box->running &&
		!layer_plan_add(plan, LAYER_START, err))
		return -1;
	return layer_plan_add(plan, LAYER_CLEAR, err) ? 0 : -1;
}

int layer_plan_recover(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_intent *intent, struct layer_plan *plan, struct error *err)
{
	layer_plan_begin(plan, box);
	return layer_plan_finish(plan, plan_recover(g, box, intent, plan, err));
}

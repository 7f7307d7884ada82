/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans that merge layers: removing a snapshot, shortening a chain. Why so: vmm/layer-plan.c. */
#include <stdio.h>

#include "vmm/layer-action.h"

/* ---- merging ---- */

/* The one layer that stands on this one, if it is one. */
static size_t only_child(const struct layer_graph *g, size_t layer)
{
	for (size_t i = 0; g->layers[layer].children == 1 && i < g->len; i++)
		if (g->layers[i].backing == layer)
			return i;
	return LAYER_NONE;
}

/* Everything that stands on the layer, itself included, is this box's and no other's. */
static bool is_exclusive(const struct layer_graph *g, const struct layer_box *box, size_t layer)
{
	for (size_t i = 0; i < g->boxes_len; i++)
		if (&g->boxes[i] != box && layer_box_needs(g, &g->boxes[i], layer))
			return false;
	for (size_t i = 0; i < g->pins_len; i++)
		if (layer_graph_stands_on(g, layer_graph_find_path(g, g->pins[i].path), layer))
			return false;
	for (size_t i = 0; i < g->len; i++)
		if (layer_graph_stands_on(g, i, layer) && !layer_box_needs(g, box, i))
			return false;
	return g->layers[layer].kind == LAYER_BOX;
}

/* How the layer, which loses its last name, can be merged with the one layer on it. */
enum merge { MERGE_NOT, MERGE_PULL, MERGE_PULL_LIVE, MERGE_COMMIT };

static enum merge merge_how(const struct layer_graph *g, const struct layer_box *box, size_t layer,
	size_t labels_left, const char **ret_why)
{
	size_t child = only_child(g, layer);

	*ret_why = "a clone stands on it";
	if (g->layers[layer].kind != LAYER_BOX || g->layers[layer].tops ||
		g->layers[layer].fault != LAYER_SOUND)
		return MERGE_NOT;
	if (labels_left) {
		*ret_why = "another snapshot is the same layer";
		return MERGE_NOT;
	}
	if (child == LAYER_NONE && is_exclusive(g, box, layer)) {
		*ret_why = "more than one layer of the box stands on it";
		return MERGE_NOT;
	}
	if (child == LAYER_NONE || !is_exclusive(g, box, child))
		return MERGE_NOT;
	if (!box->running || !layer_graph_stands_on(g, box->top, child))
		return MERGE_PULL;
	if (child == box->top)
		return MERGE_PULL_LIVE;
	*ret_why = "the box runs and snapshots branch off above it";
	return g->layers[child].children == 1 ? MERGE_COMMIT : MERGE_NOT;
}

/* NULL: it stands on nothing. */
static const char *backing_name(const struct layer_graph *g, size_t layer)
{
	size_t below = layer_graph_below(g, layer);

	return below == LAYER_NONE ? NULL : g->layers[below].name;
}

static int add_pull(const struct layer_graph *g, size_t into, size_t last, bool live,
	struct layer_plan *plan, struct error *err)
{
	if (layer_plan_add_named(plan, LAYER_PULL,
		    (struct layer_names){ g->layers[into].name, backing_name(g, last), NULL },
		    err) < 0)
		return -1;
	plan->items[plan->len - 1].live = live;
	for (size_t i = layer_graph_below(g, into); i != LAYER_NONE; i = layer_graph_below(g, i)) {
		plan->bytes += g->layers[i].allocation;
		if (i == last)
			break;
	}
	return 0;
}

/* ---- forget ---- */

static int add_forget(struct layer_plan *plan, const struct layer_label *label, struct error *err)
{
	if (layer_plan_add_named(
		    plan, LAYER_FORGET, (struct layer_names){ .label = label->label }, err) < 0)
		return -1;
	plan->commit = plan->len;
	return 0;
}

static int add_delete(struct layer_plan *plan, const char *volume, struct error *err)
{
	return layer_plan_add_named(
		plan, LAYER_DELETE, (struct layer_names){ .volume = volume }, err);
}

/* After the intent: its layer goes into the one above. */
static int plan_pull(const struct layer_graph *g, const struct layer_label *label, bool live,
	struct layer_plan *plan, struct error *err)
{
	if (add_pull(g, only_child(g, label->layer), label->layer, live, plan, err) < 0 ||
		add_forget(plan, label, err) < 0)
		return -1;
	return add_delete(plan, g->layers[label->layer].name, err);
}

/* After the intent: the one above goes into its layer. */
static int plan_commit(const struct layer_graph *g, const struct layer_label *label,
	struct layer_plan *plan, struct error *err)
{
	size_t child = only_child(g, label->layer);
	struct layer_names down = { .volume = g->layers[child].name,
		.backing = g->layers[label->layer].name };

	plan->bytes = g->layers[child].allocation;
	if (add_forget(plan, label, err) < 0 ||
		layer_plan_add_named(plan, LAYER_COMMIT, down, err) < 0 ||
		layer_plan_add_named(plan, LAYER_MOVE, down, err) < 0)
		return -1;
	return add_delete(plan, down.volume, err);
}

/* After the intent: nothing to merge. What the label alone needed goes. */
static int plan_drop(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_label *label, struct layer_plan *plan, struct error *err)
{
	struct layer_change change = layer_change_none(box);

	change.label = label->label;
	if (add_forget(plan, label, err) < 0)
		return -1;
	return layer_plan_add_freed(g, &change, plan, err);
}

static int plan_forget(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_label *label, struct layer_plan *plan, struct error *err)
{
	const struct layer *layer = &g->layers[label->layer];
	struct layer_intent intent = { .kind = LAYER_INTENT_MERGE };
	enum merge how = MERGE_NOT;
	const char *why = NULL;
	int ret;

	if (layer->children)
		how = merge_how(g, box, label->layer, layer->labels - 1, &why);
	layer_copy_name(intent.label, sizeof(intent.label), label->label);
	layer_copy_name(intent.old, sizeof(intent.old), layer->name);
	if (how == MERGE_COMMIT) {
		intent.kind = LAYER_INTENT_MERGE_DOWN;
		layer_copy_name(intent.old, sizeof(intent.old),
			g->layers[only_child(g, label->layer)].name);
		layer_copy_name(intent.layer, sizeof(intent.layer), layer->name);
	}
	if (layer_plan_add_intend(plan, &intent, err) < 0)
		return -1;
	if (how == MERGE_PULL || how == MERGE_PULL_LIVE)
		ret = plan_pull(g, label, how == MERGE_PULL_LIVE, plan, err);
	else if (how == MERGE_COMMIT)
		ret = plan_commit(g, label, plan, err);
	else
		ret = plan_drop(g, box, label, plan, err);
	if (ret < 0 || !layer_plan_add(plan, LAYER_CLEAR, err))
		return -1;
	if (how == MERGE_NOT && why)
		(void)snprintf(plan->note, sizeof(plan->note),
			"the layer of snapshot '%s' is kept without a name: %s", label->label, why);
	return 0;
}

int layer_plan_forget(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err)
{
	const struct layer_label *found = layer_plan_label(box, label, err);

	if (!found || layer_graph_check_others(g, box, err) < 0)
		return -1;
	layer_plan_begin(plan, box);
	return layer_plan_finish(plan, plan_forget(g, box, found, plan, err));
}

/* ---- flatten ---- */

/* Has no name, and only one layer stands on it: its content can go up into that. */
static bool is_nameless(const struct layer_graph *g, size_t layer)
{
	const struct layer *l = &g->layers[layer];

	return l->kind == LAYER_BOX && l->labels == 0 && l->tops == 0 && l->children == 1;
}

/*
 * Take all from below upper down to last into upper. freed are the layers that go then. An intent of
 * its own for each, since it leads to the rest of one run of layers.
 */
static int add_merge(const struct layer_graph *g, const struct layer_box *box, size_t upper,
	size_t last, bool *freed, struct layer_plan *plan, struct error *err)
{
	struct layer_intent intent = { .kind = LAYER_INTENT_MERGE };

	layer_copy_name(intent.layer, sizeof(intent.layer), g->layers[upper].name);
	layer_copy_name(
		intent.old, sizeof(intent.old), g->layers[layer_graph_below(g, upper)].name);
	if (layer_plan_add_intend(plan, &intent, err) < 0 ||
		add_pull(g, upper, last, box->running, plan, err) < 0 ||
		layer_plan_add_deletes(g, freed, plan, err) < 0)
		return -1;
	return layer_plan_add(plan, LAYER_CLEAR, err) ? 0 : -1;
}

/* Merge each run of nameless layers under one of the chain. *ret_depth: what comes of it. */
static int add_runs(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, unsigned *ret_depth, struct error *err)
{
	_cleanup_free_ bool *freed = calloc(g->len, sizeof(*freed));
	unsigned depth = g->layers[box->top].depth;
	size_t next;

	if (!freed)
		return error_oom(err);
	for (size_t upper = box->top; upper != LAYER_NONE; upper = next) {
		bool can = (!box->running || upper == box->top) && is_exclusive(g, box, upper);
		size_t last = upper;

		next = layer_graph_below(g, upper);
		while (can && next != LAYER_NONE && is_nameless(g, next)) {
			freed[next] = true;
			depth--;
			last = next;
			next = layer_graph_below(g, next);
		}
		if (last != upper && add_merge(g, box, upper, last, freed, plan, err) < 0)
			return -1;
	}
	*ret_depth = depth;
	return 0;
}

/* Take all above the golden image into the top. */
static int add_copy(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, struct error *err)
{
	_cleanup_free_ bool *freed = calloc(g->len, sizeof(*freed));
	struct layer_change change = layer_change_none(box);
	size_t last = box->top, next = layer_graph_below(g, box->top);

	if (!freed)
		return error_oom(err);
	for (; next != LAYER_NONE && g->layers[next].kind == LAYER_BOX;
		next = layer_graph_below(g, next))
		last = next;
	if (last == box->top)
		return 0;
	change.top = next == LAYER_NONE ? LAYER_ABSENT : next;
	if (layer_graph_freed(g, &change, freed, err) < 0)
		return -1;
	freed[box->top] = false;
	return add_merge(g, box, box->top, last, freed, plan, err);
}

static int plan_flatten(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, struct error *err)
{
	unsigned depth = 0;

	if (add_runs(g, box, plan, &depth, err) < 0)
		return -1;
	if (depth <= LAYER_DEPTH_COPY)
		return 0;
	layer_plan_done(plan);
	layer_plan_begin(plan, box);
	return add_copy(g, box, plan, err);
}

int layer_plan_flatten(const struct layer_graph *g, const struct layer_box *box,
	struct layer_plan *plan, struct error *err)
{
	layer_plan_begin(plan, box);
	if (g->layers[box->top].depth <= LAYER_DEPTH_FLATTEN)
		return 0;
	if (layer_graph_check_others(g, box, err) < 0)
		return -1;
	return layer_plan_finish(plan, plan_flatten(g, box, plan, err));
}

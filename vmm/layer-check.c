/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be done with a box, and what becomes free: the judgements over vmm/layer-graph.h. */
#include "vmm/layer-graph.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* ---- is a box in order? ---- */

static int chain_error(const struct layer_graph *g, const struct layer_box *box, size_t layer,
	const char *role, struct error *err)
{
	size_t i = layer;

	switch (g->layers[layer].fault) {
	case LAYER_FAULT_ABSENT:
		while (layer_graph_below(g, i) != LAYER_NONE)
			i = layer_graph_below(g, i);
		return error_set(err, ERROR_INVALID,
			"box '%s': %s cannot be read: layer '%s' stands on '%.200s', which is no volume of the pool; it is refused until that is back",
			box->name, role, g->layers[i].name, g->layers[i].backing_path);
	case LAYER_FAULT_CYCLE:
		return error_set(err, ERROR_INVALID,
			"box '%s': %s cannot be read: layer '%s' stands on itself in the end",
			box->name, role, g->layers[layer].name);
	case LAYER_FAULT_DEPTH:
		return error_set(err, ERROR_INVALID,
			"box '%s': %s cannot be read: more than %d layers stand on each other",
			box->name, role, LAYER_DEPTH_MAX);
	case LAYER_SOUND:
		break;
	}
	return 0;
}

static int check_top(const struct layer_graph *g, const struct layer_box *box, struct error *err)
{
	const struct layer *top;

	if (box->top >= g->len)
		return error_set(err, ERROR_INVALID,
			"box '%s': its disk '%.200s' is no volume of the pool; was it moved, or snapshotted by another tool?",
			box->name, box->top_path);
	top = &g->layers[box->top];
	if (chain_error(g, box, box->top, "its disk", err) < 0)
		return -1;
	if (top->kind != LAYER_BOX || !str_equal(top->uuid, box->uuid))
		return error_set(err, ERROR_INVALID,
			"box '%s': its disk '%s' is not a layer of its own; it must not be written",
			box->name, top->name);
	if (top->tops > 1)
		return error_set(err, ERROR_INVALID,
			"box '%s': another domain has its disk '%s' too; remove that one first",
			box->name, top->name);
	for (size_t i = 0; top->children && i < g->len; i++)
		if (g->layers[i].backing == box->top)
			return error_set(err, ERROR_INVALID,
				"box '%s': volume '%s' stands on its disk '%s', which must not be written any more",
				box->name, g->layers[i].name, top->name);
	if (top->labels)
		return error_set(err, ERROR_INVALID,
			"box '%s': a snapshot names its disk '%s', which must not be written any more",
			box->name, top->name);
	return 0;
}

/* Nobody writes a layer of this chain below its first. */
static int check_frozen(
	const struct layer_graph *g, const struct layer_box *box, size_t first, struct error *err)
{
	for (size_t i = first; i != LAYER_NONE; i = layer_graph_below(g, i))
		if (g->layers[i].tops)
			return error_set(err, ERROR_INVALID,
				"box '%s': it stands on layer '%s', which another domain writes",
				box->name, g->layers[i].name);
	return 0;
}

static int check_label(const struct layer_graph *g, const struct layer_box *box,
	const struct layer_label *label, struct error *err)
{
	char role[LAYER_LABEL_MAX + 16];

	if (label->layer >= g->len)
		return error_set(err, ERROR_INVALID,
			"box '%s': snapshot '%s' names layer '%.200s', which is no volume of the pool",
			box->name, label->label, label->volume);
	(void)snprintf(role, sizeof(role), "snapshot '%s'", label->label);
	if (chain_error(g, box, label->layer, role, err) < 0)
		return -1;
	return check_frozen(g, box, label->layer, err);
}

int layer_graph_check(const struct layer_graph *g, const struct layer_box *box, struct error *err)
{
	if (check_top(g, box, err) < 0)
		return -1;
	if (check_frozen(g, box, layer_graph_below(g, box->top), err) < 0)
		return -1;
	for (size_t i = 0; i < box->labels_len; i++)
		if (check_label(g, box, &box->labels[i], err) < 0)
			return -1;
	return 0;
}

/* ---- what becomes free ---- */

/* Mark the chain of this layer, down to the first that is marked. */
static void mark_chain(const struct layer_graph *g, size_t layer, bool *marks)
{
	for (size_t i = layer; i < g->len && !marks[i]; i = layer_graph_below(g, i))
		marks[i] = true;
}

static void mark_box(const struct layer_graph *g, const struct layer_box *box, size_t top,
	const char *without, bool *marks)
{
	mark_chain(g, top, marks);
	for (size_t i = 0; i < box->labels_len; i++)
		if (!without || !str_equal(box->labels[i].label, without))
			mark_chain(g, box->labels[i].layer, marks);
}

/* What stands in for the box after the change. */
static void mark_changed(const struct layer_graph *g, const struct layer_change *c, bool *marks)
{
	if (!c->removed)
		mark_box(g, c->box, c->top == LAYER_NONE ? c->box->top : c->top, c->label, marks);
}

/* The pool's folder is not this path's: the volume may stand on anything. */
static bool is_outside(const struct layer_graph *g, const char *path)
{
	const char *slash, *ours;

	if (g->len == 0)
		return false;
	slash = strrchr(path, '/');
	ours = strrchr(g->layers[0].path, '/');
	return !slash || slash - path != ours - g->layers[0].path ||
	       strncmp(path, g->layers[0].path, (size_t)(slash - path)) != 0;
}

int layer_graph_check_others(
	const struct layer_graph *g, const struct layer_box *except, struct error *err)
{
	for (size_t i = 0; i < g->boxes_len; i++) {
		const struct layer_box *box = &g->boxes[i];

		if (box != except && box->top >= g->len && is_outside(g, box->top_path))
			return error_set(err, ERROR_BUSY,
				"cannot tell which layers box '%s' needs: its disk '%.200s' is not in the pool; move it back or remove that box first",
				box->name, box->top_path);
	}
	return 0;
}

/* The change takes the box away, or somebody else's command is about to. */
static bool is_going(const struct layer_graph *g, const struct layer_change *c, const char *uuid)
{
	const struct layer_box *box = layer_graph_box(g, uuid);

	return box && (box == c->box ? c->removed : box->leaving);
}

void layer_graph_needed(const struct layer_graph *g, bool *ret_needed)
{
	memset(ret_needed, 0, g->len * sizeof(*ret_needed));
	for (size_t i = 0; i < g->boxes_len; i++)
		mark_box(g, &g->boxes[i], g->boxes[i].top, NULL, ret_needed);
	for (size_t i = 0; i < g->pins_len; i++)
		mark_chain(g, layer_graph_find_path(g, g->pins[i].path), ret_needed);
	for (size_t i = 0; i < g->len; i++)
		if (g->layers[i].kind != LAYER_BOX)
			mark_chain(g, i, ret_needed);
}

/* Layers that the change may set free. */
static void mark_candidates(const struct layer_graph *g, const struct layer_change *c, bool *marks)
{
	mark_box(g, c->box, c->box->top, NULL, marks);
	mark_chain(g, c->roots[0], marks);
	mark_chain(g, c->roots[1], marks);
	for (size_t i = 0; i < g->boxes_len; i++)
		if (is_going(g, c, g->boxes[i].uuid))
			mark_box(g, &g->boxes[i], g->boxes[i].top, NULL, marks);
	for (size_t i = 0; i < g->len; i++)
		marks[i] = g->layers[i].kind == LAYER_BOX &&
			   (marks[i] || is_going(g, c, g->layers[i].uuid));
}

int layer_graph_freed(const struct layer_graph *g, const struct layer_change *change,
	bool *ret_free, struct error *err)
{
	_cleanup_free_ bool *needed = calloc(g->len ? g->len : 1, sizeof(*needed));

	if (!needed)
		return error_oom(err);
	if (layer_graph_check_others(g, change->box, err) < 0)
		return -1;
	memset(ret_free, 0, g->len * sizeof(*ret_free));
	mark_candidates(g, change, ret_free);
	mark_changed(g, change, needed);
	for (size_t i = 0; i < g->boxes_len; i++)
		if (&g->boxes[i] != change->box && !is_going(g, change, g->boxes[i].uuid))
			mark_box(g, &g->boxes[i], g->boxes[i].top, NULL, needed);
	for (size_t i = 0; i < g->pins_len; i++)
		mark_chain(g, layer_graph_find_path(g, g->pins[i].path), needed);
	for (size_t i = 0; i < g->len; i++)
		if (!ret_free[i])
			mark_chain(g, i, needed);
	for (size_t i = 0; i < g->len; i++)
		ret_free[i] = ret_free[i] && !needed[i];
	return 0;
}

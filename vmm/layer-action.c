/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/layer-action.h"

#include <assert.h>
#include <stdio.h>

void layer_copy_name(char *into, size_t size, const char *text)
{
	int len = snprintf(into, size, "%s", text ? text : "");

	assert(len >= 0 && (size_t)len < size);
}

void layer_plan_done(struct layer_plan *plan)
{
	free(plan->items);
	*plan = (struct layer_plan){ 0 };
}

const char *layer_action_name(enum layer_action_kind kind)
{
	static const char *const names[] = {
		[LAYER_INTEND] = "intend",
		[LAYER_CLEAR] = "clear",
		[LAYER_CREATE] = "create",
		[LAYER_SWITCH] = "switch",
		[LAYER_PIVOT] = "pivot",
		[LAYER_RECORD] = "record",
		[LAYER_FORGET] = "forget",
		[LAYER_MOVE] = "move",
		[LAYER_STOP] = "stop",
		[LAYER_START] = "start",
		[LAYER_PULL] = "pull",
		[LAYER_COMMIT] = "commit",
		[LAYER_DELETE] = "delete",
	};

	return names[kind];
}

/* A new action at the end; NULL when there is no memory or there are too many. */
struct layer_action *layer_plan_add(
	struct layer_plan *plan, enum layer_action_kind kind, struct error *err)
{
	struct layer_action *items = plan->items;
	size_t cap = plan->cap ? plan->cap * 2 : 8;

	if (plan->len == LAYER_PLAN_MAX) {
		error_set(err, ERROR_FAILED, "more than %d volumes would have to change",
			LAYER_PLAN_MAX);
		return NULL;
	}
	if (plan->len == plan->cap) {
		items = realloc(items, cap * sizeof(*items));
		if (!items) {
			error_oom(err);
			return NULL;
		}
		plan->items = items;
		plan->cap = cap;
	}
	items[plan->len] = (struct layer_action){ .kind = kind };
	return &items[plan->len++];
}

int layer_plan_add_named(struct layer_plan *plan, enum layer_action_kind kind,
	struct layer_names names, struct error *err)
{
	struct layer_action *action = layer_plan_add(plan, kind, err);

	if (!action)
		return -1;
	layer_copy_name(action->volume, sizeof(action->volume), names.volume);
	layer_copy_name(action->backing, sizeof(action->backing), names.backing);
	layer_copy_name(action->label, sizeof(action->label), names.label);
	return 0;
}

int layer_plan_add_intend(
	struct layer_plan *plan, const struct layer_intent *intent, struct error *err)
{
	struct layer_action *action = layer_plan_add(plan, LAYER_INTEND, err);

	if (!action)
		return -1;
	action->intent = *intent;
	return 0;
}

int layer_plan_add_create(const struct layer_graph *g, const char *name, size_t backing,
	struct layer_plan *plan, struct error *err)
{
	struct layer_names names = { .volume = name, .backing = g->layers[backing].name };

	if (layer_plan_add_named(plan, LAYER_CREATE, names, err) < 0)
		return -1;
	plan->items[plan->len - 1].capacity = g->layers[backing].capacity;
	plan->bytes = LAYER_EMPTY_BYTES;
	return 0;
}

/*
 * Lower ones first: what is left when this is cut off hangs together, so recovery finds it from the
 * upper end that an intent or the box names.
 */
int layer_plan_add_deletes(
	const struct layer_graph *g, bool *freed, struct layer_plan *plan, struct error *err)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < g->len; i++) {
			size_t below = g->layers[i].backing;

			if (!freed[i] || (below < g->len && freed[below]))
				continue;
			if (layer_plan_add_named(plan, LAYER_DELETE,
				    (struct layer_names){ .volume = g->layers[i].name }, err) < 0)
				return -1;
			freed[i] = false;
			more = true;
		}
	}
	return 0; /* what is left stands on itself: it is never touched */
}

int layer_plan_add_freed(const struct layer_graph *g, const struct layer_change *change,
	struct layer_plan *plan, struct error *err)
{
	_cleanup_free_ bool *freed = calloc(g->len ? g->len : 1, sizeof(*freed));

	if (!freed)
		return error_oom(err);
	if (layer_graph_freed(g, change, freed, err) < 0)
		return -1;
	return layer_plan_add_deletes(g, freed, plan, err);
}

struct layer_change layer_change_none(const struct layer_box *box)
{
	return (struct layer_change){
		.box = box, .top = LAYER_NONE, .roots = { LAYER_NONE, LAYER_NONE }
	};
}

void layer_plan_begin(struct layer_plan *plan, const struct layer_box *box)
{
	*plan = (struct layer_plan){ 0 };
	(void)snprintf(plan->uuid, sizeof(plan->uuid), "%s", box->uuid);
}

/* The plan if it could be made, else an empty one. */
int layer_plan_finish(struct layer_plan *plan, int ret)
{
	if (ret < 0)
		layer_plan_done(plan);
	return ret;
}

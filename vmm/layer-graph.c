/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory. A pool's layers are a forest: each stands on at most one other. The graph is read anew by
 * each command, so nothing is kept between two and nothing can go stale but what libvirt itself
 * caches (it learns of a changed backing layer at a pool refresh only; a stale answer names more
 * layers as needed than are, never fewer, since merging is the only thing that changes one).
 *
 * Input is hostile: names and headers may be anything. So the forest may be no forest (cycles), a
 * chain may be as long as the pool, and any name may be missing. Each layer carries the fault of its
 * chain, found in one pass with a stack of our own, and whoever changes a box asks layer_graph_check.
 *
 * References are counted, not listed: children, labels and tops of a layer. Lists are made by walking
 * where a person needs names.
 */
#include "vmm/layer-graph.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* ---- building ---- */

void layer_graph_init(struct layer_graph *g)
{
	*g = (struct layer_graph){ 0 };
}

static void box_done(struct layer_box *box)
{
	for (size_t i = 0; i < box->labels_len; i++)
		free(box->labels[i].volume);
	free(box->labels);
	free(box->name);
	free(box->top_path);
}

static void layer_done(struct layer *layer)
{
	free(layer->name);
	free(layer->path);
	free(layer->backing_path);
}

void layer_graph_done(struct layer_graph *g)
{
	for (size_t i = 0; i < g->len; i++)
		layer_done(&g->layers[i]);
	for (size_t i = 0; i < g->boxes_len; i++)
		box_done(&g->boxes[i]);
	for (size_t i = 0; i < g->pins_len; i++)
		free(g->pins[i].path);
	free(g->layers);
	free(g->boxes);
	free(g->pins);
	free(g->by_path);
	free(g->by_uuid);
	*g = (struct layer_graph){ 0 };
}

/* Room for one more of size bytes each; array and cap are updated. */
static int grow(void *array, size_t *cap, size_t len, size_t size, struct error *err)
{
	void **items = array;
	size_t more = *cap ? *cap * 2 : 16;
	void *bigger;

	if (len >= LAYER_GRAPH_MAX)
		return error_set(err, ERROR_INVALID,
			"more than %d volumes or domains: refusing to read on", LAYER_GRAPH_MAX);
	if (len < *cap)
		return 0;
	bigger = realloc(*items, more * size);
	if (!bigger)
		return error_oom(err);
	*items = bigger;
	*cap = more;
	return 0;
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

int layer_graph_add_volume(
	struct layer_graph *g, const struct layer_volume *volume, struct error *err)
{
	struct layer layer = { .capacity = volume->capacity, .allocation = volume->allocation };
	bool stands = volume->backing && volume->backing[0];

	if (!volume->name || !volume->name[0] || strlen(volume->name) >= LAYER_NAME_MAX ||
		!is_absolute(volume->path))
		return error_set(err, ERROR_INVALID,
			"a volume of the pool has no usable name or path ('%.80s')",
			volume->name ? volume->name : "");
	if (grow(&g->layers, &g->cap, g->len, sizeof(layer), err) < 0)
		return -1;
	layer.kind = layer_name_parse(volume->name, layer.uuid, &layer.number);
	layer.name = str_dup(volume->name, err);
	layer.path = layer.name ? str_dup(volume->path, err) : NULL;
	if (layer.path && stands)
		layer.backing_path = str_dup(volume->backing, err);
	if (!layer.path || (stands && !layer.backing_path)) {
		layer_done(&layer);
		return -1;
	}
	g->layers[g->len++] = layer;
	return 0;
}

static int box_add_label(
	struct layer_box *box, const struct layer_snapshot *snapshot, struct error *err)
{
	struct layer_label *label = &box->labels[box->labels_len];

	if (!snapshot->label || !snapshot->label[0] || strlen(snapshot->label) >= LAYER_LABEL_MAX)
		return error_set(err, ERROR_INVALID,
			"box '%s': one of its snapshots has no usable label", box->name);
	if (layer_box_label(box, snapshot->label))
		return error_set(err, ERROR_INVALID, "box '%s': two of its snapshots are '%s'",
			box->name, snapshot->label);
	(void)snprintf(label->label, sizeof(label->label), "%s", snapshot->label);
	label->volume = str_dup(snapshot->volume ? snapshot->volume : "", err);
	if (!label->volume)
		return -1;
	label->layer = LAYER_ABSENT;
	box->labels_len++;
	return 0;
}

static int box_fill(struct layer_box *box, const struct layer_owner *owner, struct error *err)
{
	box->name = str_dup(owner->name ? owner->name : "", err);
	if (!box->name)
		return -1;
	box->top_path = str_dup(owner->top_path ? owner->top_path : "", err);
	if (!box->top_path)
		return -1;
	if (owner->snapshots_len == 0)
		return 0;
	box->labels = calloc(owner->snapshots_len, sizeof(*box->labels));
	if (!box->labels)
		return error_oom(err);
	for (size_t i = 0; i < owner->snapshots_len; i++)
		if (box_add_label(box, &owner->snapshots[i], err) < 0)
			return -1;
	return 0;
}

int layer_graph_add_box(struct layer_graph *g, const struct layer_owner *owner, struct error *err)
{
	struct layer_box box = {
		.running = owner->running, .leaving = owner->leaving, .top = LAYER_ABSENT
	};

	if (!owner->uuid || strlen(owner->uuid) != LAYER_UUID_MAX - 1)
		return error_set(err, ERROR_INVALID, "box '%.80s' has no usable UUID",
			owner->name ? owner->name : "");
	if (owner->snapshots_len > LAYER_GRAPH_MAX)
		return error_set(err, ERROR_INVALID, "box '%.80s' has %zu snapshots: not believed",
			owner->name ? owner->name : "", owner->snapshots_len);
	if (grow(&g->boxes, &g->boxes_cap, g->boxes_len, sizeof(box), err) < 0)
		return -1;
	(void)snprintf(box.uuid, sizeof(box.uuid), "%s", owner->uuid);
	if (box_fill(&box, owner, err) < 0) {
		box_done(&box);
		return -1;
	}
	g->boxes[g->boxes_len++] = box;
	return 0;
}

int layer_graph_add_pin(struct layer_graph *g, const char *path, bool written, struct error *err)
{
	char *copy;

	if (grow(&g->pins, &g->pins_cap, g->pins_len, sizeof(*g->pins), err) < 0)
		return -1;
	copy = str_dup(path, err);
	if (!copy)
		return -1;
	g->pins[g->pins_len++] = (struct layer_pin){ copy, written };
	return 0;
}

/* ---- resolving ---- */

static int compare_by_path(const void *a, const void *b, void *data)
{
	const struct layer_graph *g = data;

	return strcmp(g->layers[*(const size_t *)a].path, g->layers[*(const size_t *)b].path);
}

static int sort_layers(struct layer_graph *g, struct error *err)
{
	free(g->by_path);
	g->by_path = calloc(g->len ? g->len : 1, sizeof(*g->by_path));
	if (!g->by_path)
		return error_oom(err);
	for (size_t i = 0; i < g->len; i++)
		g->by_path[i] = i;
	qsort_r(g->by_path, g->len, sizeof(*g->by_path), compare_by_path, g);
	for (size_t i = 1; i < g->len; i++)
		if (compare_by_path(&g->by_path[i - 1], &g->by_path[i], g) == 0)
			return error_set(err, ERROR_INVALID,
				"the pool lists '%.200s' twice: refresh it (virsh pool-refresh)",
				g->layers[g->by_path[i]].path);
	return 0;
}

static int compare_by_uuid(const void *a, const void *b, void *data)
{
	const struct layer_graph *g = data;

	return strcmp(g->boxes[*(const size_t *)a].uuid, g->boxes[*(const size_t *)b].uuid);
}

static int sort_boxes(struct layer_graph *g, struct error *err)
{
	free(g->by_uuid);
	g->by_uuid = calloc(g->boxes_len ? g->boxes_len : 1, sizeof(*g->by_uuid));
	if (!g->by_uuid)
		return error_oom(err);
	for (size_t i = 0; i < g->boxes_len; i++)
		g->by_uuid[i] = i;
	qsort_r(g->by_uuid, g->boxes_len, sizeof(*g->by_uuid), compare_by_uuid, g);
	for (size_t i = 1; i < g->boxes_len; i++)
		if (compare_by_uuid(&g->by_uuid[i - 1], &g->by_uuid[i], g) == 0)
			return error_set(err, ERROR_INVALID, "two boxes have the UUID %s",
				g->boxes[g->by_uuid[i]].uuid);
	return 0;
}

/* Follow from each layer to one whose end is known, then tell all on the way. */
static int find_faults(struct layer_graph *g, struct error *err)
{
	enum { FRESH, ON_STACK, KNOWN };
	_cleanup_free_ size_t *stack = calloc(g->len ? g->len : 1, sizeof(*stack));
	_cleanup_free_ unsigned char *state = calloc(g->len ? g->len : 1, 1);

	if (!stack || !state)
		return error_oom(err);
	for (size_t start = 0; start < g->len; start++) {
		enum layer_fault fault = LAYER_SOUND;
		unsigned depth = 0;
		size_t height = 0, i = start;

		while (i < g->len && state[i] == FRESH) {
			state[i] = ON_STACK;
			stack[height++] = i;
			i = g->layers[i].backing;
		}
		if (i == LAYER_ABSENT) {
			fault = LAYER_FAULT_ABSENT;
		} else if (i < g->len && state[i] == ON_STACK) {
			fault = LAYER_FAULT_CYCLE;
		} else if (i < g->len) {
			fault = g->layers[i].fault;
			depth = g->layers[i].depth;
		}
		while (height-- > 0) {
			if (fault == LAYER_SOUND && ++depth > LAYER_DEPTH_MAX)
				fault = LAYER_FAULT_DEPTH;
			g->layers[stack[height]].fault = fault;
			g->layers[stack[height]].depth = fault == LAYER_SOUND ? depth : 0;
			state[stack[height]] = KNOWN;
		}
	}
	return 0;
}

static size_t index_or_absent(size_t index)
{
	return index == LAYER_NONE ? LAYER_ABSENT : index;
}

static void count_references(struct layer_graph *g)
{
	for (size_t i = 0; i < g->len; i++) {
		struct layer *layer = &g->layers[i];

		layer->backing = LAYER_NONE;
		if (layer->backing_path)
			layer->backing = index_or_absent(
				layer_graph_find_path(g, layer->backing_path));
		if (layer->backing < g->len)
			g->layers[layer->backing].children++;
	}
	for (size_t b = 0; b < g->boxes_len; b++) {
		struct layer_box *box = &g->boxes[b];

		box->top = index_or_absent(layer_graph_find_path(g, box->top_path));
		if (box->top < g->len)
			g->layers[box->top].tops++;
		for (size_t i = 0; i < box->labels_len; i++) {
			struct layer_label *label = &box->labels[i];

			label->layer = index_or_absent(layer_graph_find(g, label->volume));
			if (label->layer < g->len)
				g->layers[label->layer].labels++;
		}
	}
	for (size_t p = 0; p < g->pins_len; p++) {
		size_t layer = layer_graph_find_path(g, g->pins[p].path);

		if (layer != LAYER_NONE && g->pins[p].written)
			g->layers[layer].tops++;
	}
}

int layer_graph_resolve(struct layer_graph *g, struct error *err)
{
	if (sort_layers(g, err) < 0 || sort_boxes(g, err) < 0)
		return -1;
	count_references(g);
	return find_faults(g, err);
}

/* ---- queries ---- */

size_t layer_graph_find_path(const struct layer_graph *g, const char *path)
{
	size_t low = 0, high = g->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(g->layers[g->by_path[middle]].path, path);

		if (order == 0)
			return g->by_path[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return LAYER_NONE;
}

size_t layer_graph_find(const struct layer_graph *g, const char *name)
{
	for (size_t i = 0; i < g->len; i++)
		if (str_equal(g->layers[i].name, name))
			return i;
	return LAYER_NONE;
}

const struct layer_box *layer_graph_box(const struct layer_graph *g, const char *uuid)
{
	size_t low = 0, high = g->boxes_len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct layer_box *box = &g->boxes[g->by_uuid[middle]];
		int order = strcmp(box->uuid, uuid);

		if (order == 0)
			return box;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct layer_label *layer_box_label(const struct layer_box *box, const char *label)
{
	for (size_t i = 0; i < box->labels_len; i++)
		if (str_equal(box->labels[i].label, label))
			return &box->labels[i];
	return NULL;
}

size_t layer_graph_below(const struct layer_graph *g, size_t layer)
{
	return layer < g->len && g->layers[layer].backing < g->len ? g->layers[layer].backing
								   : LAYER_NONE;
}

bool layer_graph_stands_on(const struct layer_graph *g, size_t upper, size_t lower)
{
	unsigned steps = 0;

	for (size_t i = upper; i < g->len && steps <= LAYER_DEPTH_MAX;
		i = layer_graph_below(g, i)) {
		if (i == lower)
			return true;
		steps++;
	}
	return false;
}

bool layer_box_needs(const struct layer_graph *g, const struct layer_box *box, size_t layer)
{
	if (layer_graph_stands_on(g, box->top, layer))
		return true;
	for (size_t i = 0; i < box->labels_len; i++)
		if (layer_graph_stands_on(g, box->labels[i].layer, layer))
			return true;
	return false;
}

uint64_t layer_graph_own_bytes(const struct layer_graph *g, size_t layer)
{
	uint64_t sum = 0;
	unsigned steps = 0;

	for (size_t i = layer; i < g->len && steps <= LAYER_DEPTH_MAX;
		i = layer_graph_below(g, i)) {
		const struct layer *l = &g->layers[i];

		if (i != layer && (l->children > 1 || l->labels || l->tops || l->kind != LAYER_BOX))
			break;
		sum += l->allocation;
		steps++;
	}
	return sum;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/vmm/layer-world.h"

#include <stdio.h>

#include "base/str.h"

static void copy_name(char *into, size_t size, const char *name)
{
	(void)snprintf(into, size, "%s", name);
}

struct world_volume *world_volume(struct world *w, const char *name)
{
	for (size_t i = 0; name[0] && i < WORLD_VOLUMES; i++)
		if (str_equal(w->volumes[i].name, name))
			return &w->volumes[i];
	return NULL;
}

struct world_volume *world_create(
	struct world *w, const char *name, const char *backing, unsigned blocks)
{
	if (world_volume(w, name))
		fail_msg("volume %s exists already", name);
	if (backing[0] && !world_volume(w, backing))
		fail_msg("volume %s would stand on %s, which is not there", name, backing);
	for (size_t i = 0; i < WORLD_VOLUMES; i++) {
		struct world_volume *v = &w->volumes[i];

		if (v->name[0])
			continue;
		*v = (struct world_volume){ .blocks = blocks };
		copy_name(v->name, sizeof(v->name), name);
		copy_name(v->backing, sizeof(v->backing), backing);
		return v;
	}
	fail_msg("the world is full");
	return NULL;
}

void world_init(struct world *w)
{
	struct world_volume *base, *golden;

	memset(w, 0, sizeof(*w));
	base = world_create(w, "base-trixie-0123456789abcdef.qcow2", "", 4);
	golden = world_create(w, "golden-blank-0123456789abcdef.qcow2", base->name, 6);
	for (int i = 0; i < 4; i++)
		base->data[i] = 1000 + i;
	golden->data[1] = 2001;
	golden->data[5] = 2005;
}

struct world_box *world_box(struct world *w, const char *uuid)
{
	for (size_t i = 0; i < WORLD_BOXES; i++)
		if (w->boxes[i].there && str_equal(w->boxes[i].uuid, uuid))
			return &w->boxes[i];
	fail_msg("no box with UUID %s", uuid);
	return NULL;
}

struct world_box *world_new(struct world *w, const char *backing, unsigned blocks)
{
	for (size_t i = 0; i < WORLD_BOXES; i++) {
		struct world_box *box = &w->boxes[i];

		if (box->there)
			continue;
		*box = (struct world_box){ .there = true };
		w->made++;
		(void)snprintf(
			box->uuid, sizeof(box->uuid), "%08x-0000-4000-8000-000000000000", w->made);
		(void)snprintf(box->name, sizeof(box->name), "b%u", w->made);
		layer_name_format(box->uuid, 1, box->top, sizeof(box->top));
		world_create(w, box->top, backing, blocks);
		return box;
	}
	return NULL;
}

static int read_block(struct world *w, const char *volume, unsigned block)
{
	unsigned steps = 0;

	for (struct world_volume *v = world_volume(w, volume); v; v = world_volume(w, v->backing)) {
		if (++steps > WORLD_VOLUMES)
			fail_msg("volume %s stands on itself", volume);
		if (block >= v->blocks)
			return 0;
		if (v->data[block])
			return v->data[block];
		if (v->backing[0] && !world_volume(w, v->backing))
			fail_msg("volume %s stands on %s, which is gone", v->name, v->backing);
	}
	return 0;
}

struct world_content world_read(struct world *w, const char *volume)
{
	struct world_volume *v = world_volume(w, volume);
	struct world_content content = { 0 };

	if (!v) {
		fail_msg("cannot read %s: it is gone", volume);
		return content;
	}
	content.blocks = v->blocks;
	for (unsigned i = 0; i < v->blocks; i++)
		content.data[i] = read_block(w, volume, i);
	return content;
}

void world_write(struct world *w, struct world_box *box, unsigned block, int value)
{
	struct world_volume *v = world_volume(w, box->top);

	v->data[block % v->blocks] = value;
}

/* ---- graph ---- */

static void add_volume(struct layer_graph *g, const struct world_volume *v)
{
	char path[LAYER_NAME_MAX + 8], backing[LAYER_NAME_MAX + 8] = "";
	struct error err = { 0 };
	struct layer_volume in = { .name = v->name, .path = path, .backing = backing };

	(void)snprintf(path, sizeof(path), WORLD_POOL "%s", v->name);
	if (v->backing[0])
		(void)snprintf(backing, sizeof(backing), WORLD_POOL "%s", v->backing);
	in.capacity = v->blocks;
	for (unsigned i = 0; i < v->blocks; i++)
		in.allocation += v->data[i] != 0;
	assert_ok(layer_graph_add_volume(g, &in, &err), &err);
}

static void add_box(struct layer_graph *g, const struct world_box *box)
{
	char path[LAYER_NAME_MAX + 8];
	struct layer_snapshot snapshots[WORLD_LABELS];
	struct error err = { 0 };
	struct layer_owner in = {
		.uuid = box->uuid,
		.name = box->name,
		.top_path = path,
		.running = box->running,
		.snapshots = snapshots,
		.snapshots_len = box->labels_len,
	};

	(void)snprintf(path, sizeof(path), WORLD_POOL "%s", box->top);
	for (size_t i = 0; i < box->labels_len; i++)
		snapshots[i] = (struct layer_snapshot){ box->labels[i].label,
			box->labels[i].volume };
	assert_ok(layer_graph_add_box(g, &in, &err), &err);
}

void world_graph(struct world *w, struct layer_graph *g)
{
	struct error err = { 0 };

	layer_graph_init(g);
	for (size_t i = 0; i < WORLD_VOLUMES; i++)
		if (w->volumes[i].name[0])
			add_volume(g, &w->volumes[i]);
	for (size_t i = 0; i < WORLD_BOXES; i++)
		if (w->boxes[i].there)
			add_box(g, &w->boxes[i]);
	assert_ok(layer_graph_resolve(g, &err), &err);
}

/* ---- actions ---- */

static bool in_chain(struct world *w, const char *top, const char *name)
{
	for (struct world_volume *v = world_volume(w, top); v; v = world_volume(w, v->backing))
		if (str_equal(v->name, name))
			return true;
	return false;
}

/* Running boxes other than except that have this volume open. */
static unsigned open_by(struct world *w, const char *name, const struct world_box *except)
{
	unsigned count = 0;

	for (size_t i = 0; i < WORLD_BOXES; i++) {
		struct world_box *box = &w->boxes[i];

		if (box->there && box->running && box != except && in_chain(w, box->top, name))
			count++;
	}
	return count;
}

static void set_label(struct world_box *box, const char *label, const char *volume)
{
	struct world_label *l = &box->labels[box->labels_len];

	if (!label[0])
		return;
	assert_true(box->labels_len < WORLD_LABELS);
	copy_name(l->label, sizeof(l->label), label);
	copy_name(l->volume, sizeof(l->volume), volume);
	box->labels_len++;
}

static void drop_label(struct world_box *box, const char *label)
{
	for (size_t i = 0; i < box->labels_len; i++) {
		if (!str_equal(box->labels[i].label, label))
			continue;
		memmove(&box->labels[i], &box->labels[i + 1],
			(box->labels_len - i - 1) * sizeof(box->labels[0]));
		box->labels_len--;
		return;
	}
	fail_msg("box %s has no label %s to forget", box->name, label);
}

/* Everything from below that shows through becomes the volume's own. */
static void pull(struct world *w, struct world_box *box, const struct layer_action *a)
{
	struct world_volume *v = world_volume(w, a->volume);

	if (a->live && (!box->running || !str_equal(box->top, a->volume)))
		fail_msg("live pull into %s, which is not the top of a running box", a->volume);
	if (open_by(w, a->volume, a->live ? box : NULL))
		fail_msg("pull into %s, which a running box has open", a->volume);
	if (a->backing[0] && (!in_chain(w, v->backing, a->backing)))
		fail_msg("pull: %s is not below %s", a->backing, a->volume);
	for (unsigned i = 0; i < v->blocks; i++) {
		for (struct world_volume *u = v; u && !v->data[i];
			u = world_volume(w, u->backing)) {
			if (str_equal(u->name, a->backing) || i >= u->blocks)
				break;
			v->data[i] = u->data[i];
		}
	}
	copy_name(v->backing, sizeof(v->backing), a->backing);
}

static void commit(struct world *w, struct world_box *box, const struct layer_action *a)
{
	struct world_volume *v = world_volume(w, a->volume), *b = world_volume(w, a->backing);

	if (!box->running || str_equal(box->top, a->volume) || !in_chain(w, box->top, a->volume))
		fail_msg("commit of %s, which is not below the top of a running box", a->volume);
	if (open_by(w, a->backing, box) || !str_equal(v->backing, a->backing))
		fail_msg("commit into %s, which is open elsewhere or not below", a->backing);
	b->blocks = MAX(b->blocks, v->blocks);
	for (unsigned i = 0; i < v->blocks; i++)
		if (v->data[i])
			b->data[i] = v->data[i];
	for (struct world_volume *u = world_volume(w, box->top); u; u = world_volume(w, u->backing))
		if (str_equal(u->backing, a->volume)) {
			copy_name(u->backing, sizeof(u->backing), a->backing);
			break;
		}
}

static bool needs(struct world *w, const struct world_box *box, const char *name)
{
	if (in_chain(w, box->top, name))
		return true;
	for (size_t i = 0; i < box->labels_len; i++)
		if (in_chain(w, box->labels[i].volume, name))
			return true;
	return false;
}

static void delete_volume(struct world *w, const struct layer_action *a)
{
	struct world_volume *v = world_volume(w, a->volume);

	if (layer_name_parse(a->volume, NULL, NULL) != LAYER_BOX)
		fail_msg("%s is no box's layer and was to be deleted", a->volume);
	for (size_t i = 0; i < WORLD_BOXES; i++) {
		struct world_box *box = &w->boxes[i];

		if (box->there && !box->removing && needs(w, box, a->volume))
			fail_msg("box %s needs %s, which was to be deleted", box->name, a->volume);
	}
	if (open_by(w, a->volume, NULL))
		fail_msg("%s is open and was to be deleted", a->volume);
	if (v)
		v->name[0] = '\0';
}

static void move_labels(struct world_box *box, const struct layer_action *a)
{
	for (size_t i = 0; i < box->labels_len; i++)
		if (str_equal(box->labels[i].volume, a->volume))
			copy_name(box->labels[i].volume, sizeof(box->labels[i].volume), a->backing);
}

static void switch_top(struct world *w, struct world_box *box, const struct layer_action *a)
{
	struct world_volume *v = world_volume(w, a->volume);

	if (!v || !str_equal(v->backing, a->backing))
		fail_msg("box %s switches to %s, which does not stand on %s", box->name, a->volume,
			a->backing);
	if (box->running != (a->kind == LAYER_PIVOT))
		fail_msg("box %s is in the wrong state to switch", box->name);
	copy_name(box->top, sizeof(box->top), a->volume);
	if (a->kind == LAYER_SWITCH)
		set_label(box, a->label, a->backing);
	if (a->clear)
		box->intent = (struct layer_intent){ 0 };
}

void world_apply(struct world *w, const char *uuid, const struct layer_action *a)
{
	struct world_box *box = a->kind == LAYER_DELETE ? NULL : world_box(w, uuid);

	switch (a->kind) {
	case LAYER_INTEND:
		box->intent = a->intent;
		break;
	case LAYER_CLEAR:
		box->intent = (struct layer_intent){ 0 };
		break;
	case LAYER_CREATE:
		world_create(w, a->volume, a->backing, (unsigned)a->capacity);
		break;
	case LAYER_SWITCH:
	case LAYER_PIVOT:
		switch_top(w, box, a);
		break;
	case LAYER_RECORD:
		set_label(box, a->label, a->backing);
		if (a->clear)
			box->intent = (struct layer_intent){ 0 };
		break;
	case LAYER_FORGET:
		drop_label(box, a->label);
		break;
	case LAYER_MOVE:
		move_labels(box, a);
		break;
	case LAYER_STOP:
		box->running = false;
		break;
	case LAYER_START:
		box->running = true;
		break;
	case LAYER_PULL:
		pull(w, box, a);
		break;
	case LAYER_COMMIT:
		commit(w, box, a);
		break;
	case LAYER_DELETE:
		delete_volume(w, a);
		break;
	}
}

void world_run(struct world *w, const struct layer_plan *plan, size_t count)
{
	for (size_t i = 0; i < count; i++)
		world_apply(w, plan->uuid, &plan->items[i]);
}

void world_verify(struct world *w)
{
	struct layer_graph g;
	struct error err = { 0 };

	world_graph(w, &g);
	for (size_t i = 0; i < g.boxes_len; i++)
		assert_ok(layer_graph_check(&g, &g.boxes[i], &err), &err);
	for (size_t i = 0; i < WORLD_BOXES; i++)
		if (w->boxes[i].there && w->boxes[i].intent.kind)
			fail_msg("box %s has an intent left", w->boxes[i].name);
	for (size_t i = 0; i < g.len; i++) {
		bool needed = g.layers[i].kind != LAYER_BOX;

		for (size_t b = 0; b < g.boxes_len && !needed; b++)
			needed = layer_box_needs(&g, &g.boxes[b], i);
		if (!needed)
			fail_msg("nobody needs %s", g.layers[i].name);
	}
	layer_graph_done(&g);
}

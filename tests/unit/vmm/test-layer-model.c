/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations by plan on a world in memory, against the simplest model there is: a box is its
 * content, and a snapshot is a copy of it. After each operation everything is read back. Each
 * plan is moreover cut off after every action, and its recovery after every action of that, also when
 * the guest has run and written meanwhile; each time the content must be that of before or of after.
 *
 * BOX_MODEL_SEED=<n> repeats a run, BOX_MODEL_OPERATIONS=<n> makes it longer.
 */
#include "tests/unit/vmm/layer-world.h"

#include <stdio.h>
#include <time.h>

#include "base/str.h"

/* The model: what every box and snapshot must read as. */
struct model_box {
	bool there;
	bool running;
	struct world_content now;
	size_t labels_len;
	char labels[WORLD_LABELS][LAYER_LABEL_MAX];
	struct world_content frozen[WORLD_LABELS];
};

struct model {
	struct model_box boxes[WORLD_BOXES]; /* the same slots as the world's */
};

static struct world world;
static struct model model;
static unsigned long seed_now;
static unsigned long operation_now;
static unsigned long counts[16], cuts;
static int next_value = 1;

static unsigned pick(unsigned below)
{
	seed_now = seed_now * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)((seed_now >> 33) % below);
}

/* ---- comparing ---- */

static bool same_content(struct world *w, const char *volume, const struct world_content *wanted)
{
	struct world_content got = world_read(w, volume);

	return memcmp(&got, wanted, sizeof(got)) == 0;
}

static bool same_box(struct world *w, size_t slot, const struct model_box *m)
{
	struct world_box *box = &w->boxes[slot];

	if (box->there != m->there)
		return false;
	if (!m->there)
		return true;
	if (box->running != m->running || box->labels_len != m->labels_len ||
		!same_content(w, box->top, &m->now))
		return false;
	for (size_t i = 0; i < m->labels_len; i++)
		if (!str_equal(box->labels[i].label, m->labels[i]) ||
			!same_content(w, box->labels[i].volume, &m->frozen[i]))
			return false;
	return true;
}

/* Every box as the model has it, but the one in slot as one of the two. */
static void compare(struct world *w, size_t slot, const struct model_box *before,
	const struct model_box *after, const char *when)
{
	for (size_t i = 0; i < WORLD_BOXES; i++) {
		bool same = i == slot ? same_box(w, i, before) || same_box(w, i, after)
				      : same_box(w, i, &model.boxes[i]);

		if (!same)
			fail_msg("operation %lu: box %s has other content %s", operation_now,
				w->boxes[i].name, when);
	}
}

static void compare_all(struct world *w, const char *when)
{
	compare(w, 0, &model.boxes[0], &model.boxes[0], when);
}

/* ---- cutting off ---- */

static void make_recovery(struct world *w, const char *uuid, struct layer_plan *plan)
{
	struct layer_graph g;
	struct error err = { 0 };
	const struct layer_box *box;

	world_graph(w, &g);
	box = layer_graph_box(&g, uuid);
	assert_non_null(box);
	assert_ok(layer_plan_recover(&g, box, &world_box(w, uuid)->intent, plan, &err), &err);
	layer_graph_done(&g);
}

static void recover(struct world *w, const char *uuid)
{
	struct layer_plan plan = { 0 };

	make_recovery(w, uuid, &plan);
	world_run(w, &plan, plan.len);
	layer_plan_done(&plan);
}

/* The world was cut off: recover, also when that is cut off itself. */
static void recover_with_cuts(const struct world *cut, size_t slot, const struct model_box *before,
	const struct model_box *after)
{
	static struct world w;
	const char *uuid = cut->boxes[slot].uuid;
	struct layer_plan plan = { 0 };

	w = *cut;
	make_recovery(&w, uuid, &plan);
	for (size_t i = 0; i <= plan.len; i++) {
		w = *cut;
		world_run(&w, &plan, i);
		recover(&w, uuid);
		compare(&w, slot, before, after, "after a recovery that was cut off");
		world_verify(&w);
		cuts++;
	}
	layer_plan_done(&plan);
}

/* Before the recovery somebody starts the box, if it does not run, and the guest writes. */
static void recover_after_a_while(const struct world *cut, size_t slot,
	const struct model_box *before, const struct model_box *after)
{
	static struct world w;
	struct model_box was = *before, is = *after;
	unsigned block = pick(6);

	w = *cut;
	w.boxes[slot].running = was.running = is.running = true;
	world_write(&w, &w.boxes[slot], block, next_value);
	was.now.data[block] = is.now.data[block] = next_value++;
	recover_with_cuts(&w, slot, &was, &is);
}

/* Carry it out with every cut on copies, then for good; the model becomes after. */
static void carry_out(const struct layer_plan *plan, size_t slot, const struct model_box *after)
{
	static struct world w;

	for (size_t i = 0; i < plan->len; i++) {
		w = world;
		world_run(&w, plan, i);
		recover_with_cuts(&w, slot, &model.boxes[slot], after);
		recover_after_a_while(&w, slot, &model.boxes[slot], after);
	}
	world_run(&world, plan, plan->len);
	model.boxes[slot] = *after;
	compare_all(&world, "after the operation");
	world_verify(&world);
}

/* ---- operations: each on a random box; 0 when it could not be done now ---- */

typedef int (*plan_maker)(const struct layer_graph *g, const struct layer_box *box,
	const char *label, struct layer_plan *plan, struct error *err);

static void plan_for(size_t slot, plan_maker make, const char *label, struct layer_plan *plan)
{
	struct layer_graph g;
	struct error err = { 0 };

	world_graph(&world, &g);
	assert_ok(make(&g, layer_graph_box(&g, world.boxes[slot].uuid), label, plan, &err), &err);
	layer_graph_done(&g);
}

static int flatten_plan(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err)
{
	(void)label;
	return layer_plan_flatten(g, box, plan, err);
}

static int remove_plan(const struct layer_graph *g, const struct layer_box *box, const char *label,
	struct layer_plan *plan, struct error *err)
{
	(void)label;
	return layer_plan_remove(g, box, plan, err);
}

static void flatten_if_deep(size_t slot)
{
	struct layer_plan plan = { 0 };
	struct model_box same = model.boxes[slot];

	plan_for(slot, flatten_plan, NULL, &plan);
	if (plan.len) {
		counts[15]++;
		carry_out(&plan, slot, &same);
	}
	layer_plan_done(&plan);
}

static int add_model_box(const struct world_box *box, const struct world_content *content)
{
	model.boxes[box - world.boxes] = (struct model_box){ .there = true, .now = *content };
	compare_all(&world, "after a new box");
	world_verify(&world);
	return 1;
}

static int do_new(size_t slot)
{
	unsigned blocks = 6 + pick(5);
	struct world_box *box = world_new(&world, "golden-blank-0123456789abcdef.qcow2", blocks);
	struct world_content content;

	(void)slot;
	if (!box)
		return 0;
	content = world_read(&world, box->top);
	return add_model_box(box, &content);
}

static int do_write(size_t slot)
{
	struct model_box *m = &model.boxes[slot];
	unsigned block = pick(m->now.blocks);

	world_write(&world, &world.boxes[slot], block, next_value);
	m->now.data[block] = next_value++;
	return 1;
}

static int do_start_stop(size_t slot)
{
	model.boxes[slot].running = !model.boxes[slot].running;
	world.boxes[slot].running = model.boxes[slot].running;
	return 1;
}

static int do_snapshot(size_t slot)
{
	struct layer_plan plan = { 0 };
	struct model_box after = model.boxes[slot];
	char label[LAYER_LABEL_MAX];

	if (after.labels_len == WORLD_LABELS)
		return 0;
	(void)snprintf(label, sizeof(label), "s%d", next_value++);
	(void)snprintf(after.labels[after.labels_len], LAYER_LABEL_MAX, "%s", label);
	after.frozen[after.labels_len++] = after.now;
	plan_for(slot, layer_plan_snapshot, label, &plan);
	carry_out(&plan, slot, &after);
	layer_plan_done(&plan);
	flatten_if_deep(slot);
	return 1;
}

static int do_restore(size_t slot)
{
	struct layer_plan plan = { 0 };
	struct model_box after = model.boxes[slot];
	unsigned which;

	if (after.labels_len == 0)
		return 0;
	which = pick((unsigned)after.labels_len);
	after.now = after.frozen[which];
	plan_for(slot, layer_plan_restore, after.labels[which], &plan);
	carry_out(&plan, slot, &after);
	layer_plan_done(&plan);
	return 1;
}

static int do_forget(size_t slot)
{
	struct layer_plan plan = { 0 };
	struct model_box after = model.boxes[slot];
	size_t which;

	if (after.labels_len == 0)
		return 0;
	which = pick((unsigned)after.labels_len);
	plan_for(slot, layer_plan_forget, after.labels[which], &plan);
	after.labels_len--;
	memmove(&after.labels[which], &after.labels[which + 1],
		(after.labels_len - which) * sizeof(after.labels[0]));
	memmove(&after.frozen[which], &after.frozen[which + 1],
		(after.labels_len - which) * sizeof(after.frozen[0]));
	for (size_t i = 0; i < plan.len; i++)
		counts[10 + (plan.items[i].kind == LAYER_PULL) +
			2 * (plan.items[i].kind == LAYER_COMMIT)]++;
	carry_out(&plan, slot, &after);
	layer_plan_done(&plan);
	return 1;
}

/* The new box stands on a layer that was frozen before; larger if the dice say so. */
static int clone_of(const char *volume)
{
	struct world_content content = world_read(&world, volume);
	struct world_box *box;

	content.blocks = MIN(content.blocks + pick(2), (unsigned)WORLD_BLOCKS);
	box = world_new(&world, volume, content.blocks);
	return box ? add_model_box(box, &content) : 0;
}

static int do_clone_snapshot(size_t slot)
{
	struct world_box *box = &world.boxes[slot];

	return box->labels_len ? clone_of(box->labels[pick((unsigned)box->labels_len)].volume) : 0;
}

static int do_clone_box(size_t slot)
{
	struct layer_plan plan = { 0 };
	struct model_box same = model.boxes[slot];
	char frozen[LAYER_NAME_MAX];
	int ret;

	(void)snprintf(frozen, sizeof(frozen), "%s", world.boxes[slot].top);
	plan_for(slot, layer_plan_snapshot, NULL, &plan);
	carry_out(&plan, slot, &same);
	layer_plan_done(&plan);
	ret = clone_of(frozen);
	flatten_if_deep(slot);
	return ret;
}

/* The box's metadata says that it is being removed until its volumes are gone. */
static int do_remove(size_t slot)
{
	struct layer_plan plan = { 0 };
	struct world_box *box = &world.boxes[slot];
	size_t cut;

	box->running = model.boxes[slot].running = false;
	box->removing = true;
	plan_for(slot, remove_plan, NULL, &plan);
	cut = pick((unsigned)plan.len + 1);
	world_run(&world, &plan, cut);
	layer_plan_done(&plan);
	plan_for(slot, remove_plan, NULL, &plan); /* as after a kill */
	world_run(&world, &plan, plan.len);
	layer_plan_done(&plan);
	box->there = model.boxes[slot].there = false;
	compare_all(&world, "after a removal");
	world_verify(&world);
	return 1;
}

static const struct {
	const char *name;
	int (*run)(size_t slot);
	unsigned weight;
	bool any; /* needs no box */
} operations[] = {
	{ "new", do_new, 3, true },
	{ "write", do_write, 20, false },
	{ "start or stop", do_start_stop, 8, false },
	{ "snapshot", do_snapshot, 14, false },
	{ "restore", do_restore, 8, false },
	{ "forget", do_forget, 9, false },
	{ "clone a snapshot", do_clone_snapshot, 5, false },
	{ "clone a box", do_clone_box, 5, false },
	{ "remove", do_remove, 4, false },
};

static size_t pick_operation(void)
{
	unsigned sum = 0, dice;

	for (size_t i = 0; i < ARRAY_LEN(operations); i++)
		sum += operations[i].weight;
	dice = pick(sum);
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if (dice < operations[i].weight)
			return i;
		dice -= operations[i].weight;
	}
	return 0;
}

static void one_operation(void)
{
	size_t op = pick_operation();
	size_t slot = pick(WORLD_BOXES);

	for (size_t i = 0; i < WORLD_BOXES && !world.boxes[slot].there; i++)
		slot = (slot + 1) % WORLD_BOXES;
	if (!world.boxes[slot].there && !operations[op].any)
		return;
	counts[op] += (unsigned long)operations[op].run(slot);
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void test_random_operations_keep_every_content(void **state)
{
	unsigned long seed = number_from("BOX_MODEL_SEED", (unsigned long)time(NULL));
	unsigned long operations_wanted = number_from("BOX_MODEL_OPERATIONS", 1000);

	(void)state;
	print_message("BOX_MODEL_SEED=%lu BOX_MODEL_OPERATIONS=%lu\n", seed, operations_wanted);
	seed_now = seed;
	world_init(&world);
	for (operation_now = 1; operation_now <= operations_wanted; operation_now++)
		one_operation();
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		print_message("%s: %lu\n", operations[i].name, counts[i]);
		assert_true(counts[i] > 0);
	}
	print_message("pulls %lu, commits %lu, flattened %lu, recoveries %lu\n", counts[11],
		counts[12], counts[15], cuts);
	assert_true(counts[11] > 0 && counts[12] > 0);
	for (size_t i = 0; i < WORLD_BOXES; i++)
		if (world.boxes[i].there)
			do_remove(i);
	for (size_t i = 0; i < WORLD_VOLUMES; i++)
		if (layer_name_parse(world.volumes[i].name, NULL, NULL) == LAYER_BOX)
			fail_msg("%s is left when all boxes are gone", world.volumes[i].name);
}

/* Clones of clones, each source removed: the chain grows and must be shortened. */
static void test_generations_of_clones_stay_shallow(void **state)
{
	size_t slot, child;

	(void)state;
	seed_now = 1;
	memset(&model, 0, sizeof(model));
	world_init(&world);
	assert_int_equal(do_new(0), 1);
	slot = 0;
	for (operation_now = 1; operation_now <= 150; operation_now++) {
		struct layer_graph g;
		unsigned depth;

		do_write(slot);
		if (operation_now % 3 == 0)
			do_snapshot(slot);
		do_start_stop(slot);
		assert_int_equal(do_clone_box(slot), 1);
		for (child = 0; child < WORLD_BOXES; child++)
			if (world.boxes[child].there && child != slot)
				break;
		do_remove(slot);
		slot = child;
		flatten_if_deep(slot);
		world_graph(&world, &g);
		depth = g.layers[layer_graph_box(&g, world.boxes[slot].uuid)->top].depth;
		assert_in_range(depth, 1, LAYER_DEPTH_FLATTEN);
		layer_graph_done(&g);
	}
	do_remove(slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations_keep_every_content),
		cmocka_unit_test(test_generations_of_clones_stay_shallow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

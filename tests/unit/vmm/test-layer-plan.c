/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plans look like, and what they refuse. That they keep every content is test-layer-model. */
#include "tests/unit/vmm/layer-world.h"

#include <stdio.h>

#include "base/str.h"

static struct world world;
static struct world_box *box;
static struct layer_graph graph;

#define GOLDEN "golden-blank-0123456789abcdef.qcow2"

static int set_up(void **state)
{
	(void)state;
	world_init(&world);
	box = world_new(&world, GOLDEN, 8);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	layer_graph_done(&graph);
	return 0;
}

static const struct layer_box *graph_box(void)
{
	layer_graph_done(&graph);
	world_graph(&world, &graph);
	return layer_graph_box(&graph, box->uuid);
}

/* Snapshot the box in the world. */
static void snapshot(const char *label)
{
	struct layer_plan plan = { 0 };
	struct error err = { 0 };

	assert_ok(layer_plan_snapshot(&graph, graph_box(), label, &plan, &err), &err);
	world_run(&world, &plan, plan.len);
	layer_plan_done(&plan);
}

/* "create 2 on 1, switch 2 on 1 as s, ..."; layers by number, "*" marks the commit. */
static void describe(const struct layer_plan *plan, struct str *text)
{
	for (size_t i = 0; i < plan->len; i++) {
		const struct layer_action *a = &plan->items[i];
		uint64_t volume = 0, backing = 0;

		(void)layer_name_parse(a->volume, NULL, &volume);
		(void)layer_name_parse(a->backing, NULL, &backing);
		str_printf(text, "%s%s%s", i == plan->commit ? "* " : "",
			layer_action_name(a->kind), a->live ? " live" : "");
		if (volume)
			str_printf(text, " %d", (int)volume);
		if (backing)
			str_printf(text, " on %d", (int)backing);
		if (a->label[0])
			str_printf(text, " as %s", a->label);
		str_append(text, i + 1 < plan->len ? ", " : "");
	}
}

typedef int (*plan_maker)(const struct layer_graph *g, const struct layer_box *b, const char *label,
	struct layer_plan *plan, struct error *err);

static void assert_plan(plan_maker make, const char *label, const char *wanted)
{
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	assert_ok(make(&graph, graph_box(), label, &plan, &err), &err);
	describe(&plan, &text);
	assert_string_equal(str_get(&text), wanted);
}

static void test_snapshot_stopped_and_running(void **state)
{
	(void)state;
	assert_plan(layer_plan_snapshot, "s", "intend, create 2 on 1, switch 2 on 1 as s");
	box->running = true;
	assert_plan(layer_plan_snapshot, "s",
		"intend, create 2 on 1, pivot 2 on 1 as s, * record 2 on 1 as s");
	assert_plan(
		layer_plan_snapshot, NULL, "intend, create 2 on 1, pivot 2 on 1, * record 2 on 1");
}

static void test_restore_stopped_and_running(void **state)
{
	(void)state;
	snapshot("s");
	assert_plan(
		layer_plan_restore, "s", "intend, create 3 on 1, switch 3 on 1, * delete 2, clear");
	box->running = true;
	assert_plan(layer_plan_restore, "s",
		"intend, create 3 on 1, stop, switch 3 on 1, start, * delete 2, clear");
	box->running = false;
	snapshot("newer"); /* survives: 2 stays */
	assert_plan(
		layer_plan_restore, "s", "intend, create 4 on 1, switch 4 on 1, * delete 3, clear");
}

static void test_forget_merges_up_or_down(void **state)
{
	(void)state;
	snapshot("a");
	snapshot("b");
	assert_plan(layer_plan_forget, "b", "intend, pull 3 on 1, forget as b, * delete 2, clear");
	assert_plan(layer_plan_forget, "a", "intend, pull 2, forget as a, * delete 1, clear");
	box->running = true;
	assert_plan(
		layer_plan_forget, "b", "intend, pull live 3 on 1, forget as b, * delete 2, clear");
	assert_plan(layer_plan_forget, "a",
		"intend, forget as a, * commit 2 on 1, move 2 on 1, delete 2, clear");
}

static void test_forget_of_a_branch_frees_it(void **state)
{
	struct layer_plan plan = { 0 };
	struct error err = { 0 };

	(void)state;
	snapshot("a");
	snapshot("b");
	assert_ok(layer_plan_restore(&graph, graph_box(), "a", &plan, &err), &err);
	world_run(&world, &plan, plan.len);
	layer_plan_done(&plan);
	assert_plan(layer_plan_forget, "b", "intend, forget as b, * delete 2, clear");
}

static void test_forget_keeps_what_a_clone_stands_on(void **state)
{
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	struct error err = { 0 };

	(void)state;
	snapshot("a");
	assert_non_null(world_new(&world, box->labels[0].volume, 8));
	assert_plan(layer_plan_forget, "a", "intend, forget as a, * clear");
	assert_ok(layer_plan_forget(&graph, graph_box(), "a", &plan, &err), &err);
	assert_string_equal(plan.note,
		"the layer of snapshot 'a' is kept without a name: a clone stands on it");
}

/* QEMU moves only the running chain off the layer; the branch would be left on what was deleted. */
static void test_forget_under_a_fork_waits_until_the_box_is_stopped(void **state)
{
	struct layer_plan plan = { 0 };
	struct error err = { 0 };

	(void)state;
	snapshot("a");
	snapshot("b");
	snapshot("c");
	assert_ok(layer_plan_restore(&graph, graph_box(), "b", &plan, &err), &err);
	world_run(&world, &plan, plan.len);
	layer_plan_done(&plan);
	assert_plan(layer_plan_forget, "a", "intend, pull 2, forget as a, * delete 1, clear");
	box->running = true;
	assert_plan(layer_plan_forget, "a", "intend, forget as a, * clear");
	assert_ok(layer_plan_forget(&graph, graph_box(), "a", &plan, &err), &err);
	assert_string_equal(plan.note,
		"the layer of snapshot 'a' is kept without a name: the box runs and snapshots branch off above it");
	layer_plan_done(&plan);
}

static void test_labels_taken_and_unknown(void **state)
{
	struct layer_plan plan = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(layer_plan_restore(&graph, graph_box(), "s", &plan, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND,
		"box 'b1' has no snapshot 's'; it has none: take one with 'box snapshot b1'");
	snapshot("a");
	snapshot("b");
	assert_int_equal(layer_plan_snapshot(&graph, graph_box(), "a", &plan, &err), -1);
	assert_error(&err, ERROR_EXISTS,
		"box 'b1' has a snapshot 'a' already; choose another label, or remove that one: box snapshot b1 --remove a");
	assert_int_equal(layer_plan_forget(&graph, graph_box(), "c", &plan, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "box 'b1' has no snapshot 'c'; it has a, b");
	assert_int_equal(plan.len, 0);
	assert_null(plan.items);
}

static void test_remove_deletes_lower_layers_first(void **state)
{
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	snapshot("a");
	snapshot("b");
	assert_ok(layer_plan_remove(&graph, graph_box(), &plan, &err), &err);
	describe(&plan, &text);
	assert_string_equal(str_get(&text), "* delete 1, delete 2, delete 3");
}

static void test_flatten_leaves_shallow_chains_alone(void **state)
{
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	_cleanup_layer_plan_ struct layer_plan deep = { 0 };
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < LAYER_DEPTH_FLATTEN - 3; i++)
		snapshot(NULL);
	assert_ok(layer_plan_flatten(&graph, graph_box(), &plan, &err), &err);
	assert_int_equal(plan.len, 0);
	snapshot(NULL);
	assert_ok(layer_plan_flatten(&graph, graph_box(), &deep, &err), &err);
	assert_int_equal(deep.items[0].kind, LAYER_INTEND);
	assert_int_equal(deep.items[1].kind, LAYER_PULL);
	assert_string_equal(deep.items[1].backing, GOLDEN);
	assert_int_equal(deep.len, 2 + LAYER_DEPTH_FLATTEN - 2 + 1);
}

static void test_recovery_without_an_intent_does_nothing(void **state)
{
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	struct error err = { 0 };
	struct layer_intent none = { .kind = LAYER_INTENT_NONE };
	char stray[LAYER_NAME_MAX];

	(void)state;
	layer_name_format(box->uuid, 9, stray, sizeof(stray));
	world_create(&world, stray, GOLDEN, 8);
	assert_ok(layer_plan_recover(&graph, graph_box(), &none, &plan, &err), &err);
	assert_int_equal(plan.len, 0);
}

/* Words of a stranger in the metadata lead to nothing that is not ours to delete. */
static void test_recovery_of_a_hostile_intent(void **state)
{
	static const struct layer_intent hostile[] = {
		{ LAYER_INTENT_SNAPSHOT, "x", GOLDEN, "base-trixie-0123456789abcdef.qcow2" },
		{ LAYER_INTENT_MERGE_DOWN, "x", GOLDEN, GOLDEN },
		{ LAYER_INTENT_MERGE, "", "no such volume", GOLDEN },
		{ LAYER_INTENT_RESTORE, "", "", "" },
	};
	struct error err = { 0 };

	(void)state;
	snapshot("a");
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		_cleanup_layer_plan_ struct layer_plan plan = { 0 };
		struct layer_intent own = hostile[i];

		assert_ok(layer_plan_recover(&graph, graph_box(), &own, &plan, &err), &err);
		assert_int_equal(plan.len, 1);
		assert_int_equal(plan.items[0].kind, LAYER_CLEAR);
		/* and with the box's own frozen layer, which is needed */
		layer_plan_done(&plan);
		(void)snprintf(own.old, sizeof(own.old), "%s", box->labels[0].volume);
		assert_ok(layer_plan_recover(&graph, graph_box(), &own, &plan, &err), &err);
		assert_int_equal(plan.len, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_snapshot_stopped_and_running, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_restore_stopped_and_running, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forget_merges_up_or_down, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_forget_of_a_branch_frees_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_forget_keeps_what_a_clone_stands_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_forget_under_a_fork_waits_until_the_box_is_stopped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_labels_taken_and_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_remove_deletes_lower_layers_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_flatten_leaves_shallow_chains_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_recovery_without_an_intent_does_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_recovery_of_a_hostile_intent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

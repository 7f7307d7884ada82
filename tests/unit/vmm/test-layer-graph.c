/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "base/str.h"
#include "vmm/layer-graph.h"
#include "vmm/stray.h"

#define U1 "11111111-1111-4111-8111-111111111111"
#define U2 "22222222-2222-4222-8222-222222222222"
#define GOLDEN "golden-blank-0123456789abcdef.qcow2"
#define L1(n) "box-" U1 "-" #n ".qcow2"
#define L2(n) "box-" U2 "-" #n ".qcow2"
#define POOL "/pool/"

/* Volumes of the pool /pool as "name", "backing name or NULL". */
struct pair {
	const char *name, *backing;
};

static void add_volumes(struct layer_graph *g, const struct pair *pairs, size_t count)
{
	struct error err = { 0 };

	layer_graph_init(g);
	for (size_t i = 0; i < count; i++) {
		char path[512], backing[512] = "";
		struct layer_volume v = { .name = pairs[i].name,
			.path = path,
			.backing = backing,
			.capacity = 1 << 20,
			.allocation = UINT64_C(1) << (i % 60) };

		(void)snprintf(path, sizeof(path), POOL "%s", v.name);
		if (pairs[i].backing)
			(void)snprintf(backing, sizeof(backing), "%s%s",
				pairs[i].backing[0] == '/' ? "" : POOL, pairs[i].backing);
		assert_ok(layer_graph_add_volume(g, &v, &err), &err);
	}
}

static void add_box(struct layer_graph *g, const char *uuid, const char *name, const char *top,
	const struct layer_snapshot *snapshots, size_t count)
{
	struct error err = { 0 };
	struct layer_owner box = { .uuid = uuid,
		.name = name,
		.top_path = top,
		.snapshots = snapshots,
		.snapshots_len = count };

	assert_ok(layer_graph_add_box(g, &box, &err), &err);
}

static void resolve(struct layer_graph *g)
{
	struct error err = { 0 };

	assert_ok(layer_graph_resolve(g, &err), &err);
}

static void check_fails(struct layer_graph *g, const char *text)
{
	struct error err = { 0 };

	resolve(g);
	assert_int_equal(layer_graph_check(g, &g->boxes[0], &err), -1);
	assert_error(&err, ERROR_INVALID, text);
	layer_graph_done(g);
}

/* golden <- 1 (snapshot a) <- 2 (snapshot b) <- 3 top; and 2 <- clone's 1 */
static const struct pair tree[] = {
	{ GOLDEN, NULL },
	{ L1(1), GOLDEN },
	{ L1(2), L1(1) },
	{ L1(3), L1(2) },
	{ L2(1), L1(2) },
};
static const struct layer_snapshot ab[] = { { "a", L1(1) }, { "b", L1(2) } };

static void make_tree(struct layer_graph *g)
{
	add_volumes(g, tree, ARRAY_LEN(tree));
	add_box(g, U1, "web", POOL L1(3), ab, 2);
	add_box(g, U2, "copy", POOL L2(1), NULL, 0);
}

static void test_a_sound_tree_is_connected(void **state)
{
	struct layer_graph g;
	struct error err = { 0 };
	const struct layer_box *web;
	size_t shared;

	(void)state;
	make_tree(&g);
	resolve(&g);
	web = layer_graph_box(&g, U1);
	shared = layer_graph_find(&g, L1(2));
	assert_non_null(web);
	assert_null(layer_graph_box(&g, "33333333-3333-4333-8333-333333333333"));
	assert_int_equal(g.layers[web->top].depth, 4);
	assert_int_equal(g.layers[shared].children, 2);
	assert_int_equal(g.layers[shared].labels, 1);
	assert_int_equal(layer_box_label(web, "b")->layer, shared);
	assert_null(layer_box_label(web, "c"));
	assert_true(layer_graph_stands_on(&g, web->top, shared));
	assert_false(layer_graph_stands_on(&g, shared, web->top));
	assert_ok(layer_graph_check(&g, web, &err), &err);
	assert_ok(layer_graph_check(&g, layer_graph_box(&g, U2), &err), &err);
	assert_int_equal(layer_graph_next_number(&g, U1), 4);
	assert_int_equal(layer_graph_next_number(&g, "no such"), 1);
	layer_graph_done(&g);
}

static void test_own_bytes_end_at_what_is_shared_or_named(void **state)
{
	static const struct pair chain[] = {
		{ GOLDEN, NULL },
		{ L1(1), GOLDEN },
		{ L1(2), L1(1) },
		{ L1(3), L1(2) },
	};
	static const struct layer_snapshot a[] = { { "a", L1(1) } };
	struct layer_graph g;

	(void)state;
	add_volumes(&g, chain, ARRAY_LEN(chain));
	add_box(&g, U1, "web", POOL L1(3), a, 1);
	resolve(&g);
	assert_int_equal(layer_graph_own_bytes(&g, 3), 8 + 4); /* 2 is nameless, 1 is named */
	assert_int_equal(layer_graph_own_bytes(&g, 1), 2); /* not the golden image */
	layer_graph_done(&g);
}

static void test_names_round_trip_and_strangers_are_other(void **state)
{
	static const char *const others[] = { "", "box-", "box-" U1 ".qcow2", "box-" U1 "-.qcow2",
		"box-" U1 "-0.qcow2", "box-" U1 "-01.qcow2", "box-" U1 "-1.qcow2x",
		"box-" U1 "-1234567890.qcow2", "box-" U1 "-1x.qcow2", "box-1111.qcow2",
		"box-11111111-1111-4111-8111-11111111111G-1.qcow2", "seed-box-" U1 ".iso",
		"box-11111111111111-4111-8111-111111111111-11-1.qcow2" };
	char name[LAYER_NAME_MAX], uuid[LAYER_UUID_MAX];
	uint64_t number = 0;

	(void)state;
	layer_name_format(U1, 42, name, sizeof(name));
	assert_int_equal(layer_name_parse(name, uuid, &number), LAYER_BOX);
	assert_string_equal(uuid, U1);
	assert_int_equal(number, 42);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(layer_name_parse(others[i], NULL, NULL), LAYER_OTHER);
	assert_int_equal(layer_name_parse(GOLDEN, NULL, NULL), LAYER_GOLDEN);
	assert_int_equal(layer_name_parse("base-trixie-0.qcow2", NULL, NULL), LAYER_BASE);
}

static void test_check_names_a_missing_disk_layer_and_snapshot(void **state)
{
	static const struct pair torn[] = { { L1(2), L1(1) } };
	static const struct layer_snapshot gone[] = { { "a", L1(7) } };
	struct layer_graph g;

	(void)state;
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", "/elsewhere/x.qcow2", NULL, 0);
	check_fails(&g, "box 'web': its disk '/elsewhere/x.qcow2' is no volume of the pool");
	add_volumes(&g, torn, 1);
	add_box(&g, U1, "web", POOL L1(2), NULL, 0);
	check_fails(&g, "layer '" L1(2) "' stands on '" POOL L1(1) "', which is no volume");
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", POOL L1(3), gone, 1);
	check_fails(&g, "snapshot 'a' names layer '" L1(7) "', which is no volume of the pool");
}

static void test_check_refuses_cycles_and_depth(void **state)
{
	static const struct pair loop[] = { { L1(1), L1(2) }, { L1(2), L1(1) }, { L1(3), L1(2) } };
	static const struct pair self[] = { { L1(1), L1(1) } };
	static char names[LAYER_DEPTH_MAX + 2][LAYER_NAME_MAX];
	static struct pair deep[LAYER_DEPTH_MAX + 2];
	struct layer_graph g;
	struct error err = { 0 };
	char top[LAYER_NAME_MAX + 8];

	(void)state;
	add_volumes(&g, loop, ARRAY_LEN(loop));
	add_box(&g, U1, "web", POOL L1(3), NULL, 0);
	check_fails(&g, "stands on itself in the end");
	add_volumes(&g, self, 1);
	add_box(&g, U1, "web", POOL L1(1), NULL, 0);
	check_fails(&g, "stands on itself in the end");
	for (size_t i = 0; i < ARRAY_LEN(deep); i++) {
		layer_name_format(U1, i + 1, names[i], LAYER_NAME_MAX);
		deep[i] = (struct pair){ names[i], i ? names[i - 1] : NULL };
	}
	add_volumes(&g, deep, LAYER_DEPTH_MAX);
	(void)snprintf(top, sizeof(top), POOL "%s", names[LAYER_DEPTH_MAX - 1]);
	add_box(&g, U1, "web", top, NULL, 0);
	resolve(&g);
	assert_ok(layer_graph_check(&g, &g.boxes[0], &err), &err);
	layer_graph_done(&g);
	add_volumes(&g, deep, LAYER_DEPTH_MAX + 1);
	(void)snprintf(top, sizeof(top), POOL "%s", names[LAYER_DEPTH_MAX]);
	add_box(&g, U1, "web", top, NULL, 0);
	check_fails(&g, "more than 200 layers stand on each other");
}

static void test_check_refuses_a_top_that_must_not_be_written(void **state)
{
	static const struct layer_snapshot top_named[] = { { "a", L1(3) } };
	struct layer_graph g;
	struct error err = { 0 };

	(void)state;
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", POOL L1(2), NULL, 0);
	check_fails(&g, "volume '" L1(3) "' stands on its disk '" L1(2) "'");
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", POOL L1(3), top_named, 1);
	check_fails(&g, "a snapshot names its disk");
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", POOL L2(1), NULL, 0);
	check_fails(&g, "is not a layer of its own");
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", POOL GOLDEN, NULL, 0);
	check_fails(&g, "is not a layer of its own");
	make_tree(&g);
	assert_ok(layer_graph_add_pin(&g, POOL L1(3), true, &err), &err);
	check_fails(&g, "another domain has its disk '" L1(3) "' too");
	make_tree(&g);
	assert_ok(layer_graph_add_pin(&g, POOL L1(1), true, &err), &err);
	check_fails(&g, "stands on layer '" L1(1) "', which another domain writes");
	make_tree(&g);
	assert_ok(layer_graph_add_pin(&g, POOL L1(1), false, &err), &err); /* only read */
	resolve(&g);
	assert_ok(layer_graph_check(&g, layer_graph_box(&g, U1), &err), &err);
	layer_graph_done(&g);
}

static void test_reading_refuses_doubles_and_impossible_names(void **state)
{
	static const struct pair twice[] = { { L1(1), NULL }, { L1(1), NULL } };
	static const struct layer_snapshot same[] = { { "a", L1(1) }, { "a", L1(2) } };
	struct layer_graph g;
	struct error err = { 0 };
	struct layer_volume nameless = { .name = "", .path = POOL "x" };
	struct layer_volume relative = { .name = "x", .path = "x" };
	struct layer_owner box = {
		.uuid = U1, .name = "web", .snapshots = same, .snapshots_len = 2
	};

	(void)state;
	add_volumes(&g, twice, 2);
	assert_int_equal(layer_graph_resolve(&g, &err), -1);
	assert_error(&err, ERROR_INVALID, "lists '" POOL L1(1) "' twice");
	layer_graph_done(&g);
	make_tree(&g);
	add_box(&g, U1, "twin", POOL L1(3), NULL, 0);
	assert_int_equal(layer_graph_resolve(&g, &err), -1);
	assert_error(&err, ERROR_INVALID, "two boxes have the UUID " U1);
	assert_int_equal(layer_graph_add_volume(&g, &nameless, &err), -1);
	assert_error(&err, ERROR_INVALID, "no usable name");
	assert_int_equal(layer_graph_add_volume(&g, &relative, &err), -1);
	assert_error(&err, ERROR_INVALID, "no usable name");
	assert_int_equal(layer_graph_add_box(&g, &box, &err), -1);
	assert_error(&err, ERROR_INVALID, "two of its snapshots are 'a'");
	box.uuid = "short";
	assert_int_equal(layer_graph_add_box(&g, &box, &err), -1);
	assert_error(&err, ERROR_INVALID, "no usable UUID");
	layer_graph_done(&g);
}

/* The names of what a change frees, one after another. */
static void test_what_is_needed_by_somebody(void **state)
{
	static const struct pair volumes[] = { { GOLDEN, NULL }, { L1(1), GOLDEN },
		{ L1(2), L1(1) }, { L1(3), L1(2) }, { L2(1), L1(1) }, { L2(2), L2(1) },
		{ "mine.qcow2", L2(1) }, { L1(7), GOLDEN } };
	static const struct layer_snapshot snapshot = { "one", L1(2) };
	static const bool wanted[] = { true, true, true, false, true, false, true, true };
	bool needed[ARRAY_LEN(volumes)];
	struct error err = { 0 };
	struct layer_graph g;

	(void)state;
	add_volumes(&g, volumes, ARRAY_LEN(volumes));
	add_box(&g, U1, "web", POOL L1(1), &snapshot, 1);
	assert_ok(layer_graph_add_pin(&g, POOL L1(7), true, &err), &err);
	resolve(&g);
	memset(needed, 1, sizeof(needed));
	layer_graph_needed(&g, needed);
	for (size_t i = 0; i < ARRAY_LEN(volumes); i++)
		assert_int_equal(needed[i], wanted[i]);
	layer_graph_done(&g);
}

static void test_whose_a_volume_is(void **state)
{
	static const char *const boxes[] = { L1(1), L1(12), "seed-box-" U1 ".iso",
		"live-" U1 "-1700000000.mem", "live-" U1 "-1700000000.json" };
	static const char *const others[] = { GOLDEN, "box-" U1 "-0.qcow2", "box-" U1 ".qcow2",
		"seed-0123456789abcdef.iso", "seed-box-web.iso", "seed-box-" U1 ".qcow2",
		"live-mine.mem", "live-" U1 "-1.qcow2", "live-", "lock-" U1, "",
		"seed-box-" U1 "-mine.iso", "live-" U1 ".mem", "live-" U1 "-1x.mem",
		"live-" U1 "-.mem" };
	char uuid[VIR_UUID_STRING_BUFLEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(boxes); i++) {
		assert_true(stray_owner(boxes[i], uuid));
		assert_string_equal(uuid, U1);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(stray_owner(others[i], uuid));
}

static void assert_freed(
	const struct layer_graph *g, const struct layer_change *change, const char *wanted)
{
	_cleanup_str_ struct str names = STR_INIT;
	bool freed[16] = { false };
	struct error err = { 0 };

	assert_ok(layer_graph_freed(g, change, freed, &err), &err);
	for (size_t i = 0; i < g->len; i++)
		if (freed[i])
			str_printf(&names, "%s ", g->layers[i].name);
	assert_string_equal(str_get(&names), wanted);
}

static void test_removal_frees_what_no_clone_needs(void **state)
{
	struct layer_graph g;
	struct layer_change change = {
		.removed = true, .top = LAYER_NONE, .roots = { LAYER_NONE, LAYER_NONE }
	};
	struct error err = { 0 };

	(void)state;
	make_tree(&g);
	resolve(&g);
	change.box = layer_graph_box(&g, U1);
	assert_freed(&g, &change, L1(3) " ");
	change.box = layer_graph_box(&g, U2);
	assert_freed(&g, &change, L2(1) " ");
	layer_graph_done(&g);

	/* the source is gone already: the clone is the last to need its layers */
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U2, "copy", POOL L2(1), NULL, 0);
	resolve(&g);
	change.box = layer_graph_box(&g, U2);
	assert_freed(&g, &change, L2(1) " "); /* L1(3) is a stray: it protects 2 and 1 */
	layer_graph_done(&g);

	/* a domain that is no box holds on to a layer */
	make_tree(&g);
	assert_ok(layer_graph_add_pin(&g, POOL L1(3), true, &err), &err);
	resolve(&g);
	change.box = layer_graph_box(&g, U1);
	assert_freed(&g, &change, "");
	layer_graph_done(&g);

	/* or only stands on it */
	make_tree(&g);
	assert_ok(layer_graph_add_pin(&g, POOL L2(1), false, &err), &err);
	resolve(&g);
	change.box = layer_graph_box(&g, U2);
	assert_freed(&g, &change, "");
	layer_graph_done(&g);
}

static void test_a_box_outside_the_pool_blocks_deletion_by_others(void **state)
{
	struct layer_graph g;
	struct layer_change change = {
		.removed = true, .top = LAYER_NONE, .roots = { LAYER_NONE, LAYER_NONE }
	};
	struct error err = { 0 };
	bool freed[16];

	(void)state;
	add_volumes(&g, tree, ARRAY_LEN(tree));
	add_box(&g, U1, "web", POOL L1(3), ab, 2);
	add_box(&g, U2, "moved", "/elsewhere/over.qcow2", NULL, 0);
	resolve(&g);
	change.box = layer_graph_box(&g, U1);
	assert_int_equal(layer_graph_freed(&g, &change, freed, &err), -1);
	assert_error(&err, ERROR_BUSY,
		"cannot tell which layers box 'moved' needs: its disk '/elsewhere/over.qcow2' is not in the pool");
	change.box = layer_graph_box(&g, U2); /* itself it may go */
	assert_freed(&g, &change, L2(1) " ");
	layer_graph_done(&g);
}

static void test_two_that_go_at_once_leave_nothing_behind(void **state)
{
	struct layer_graph g;
	struct layer_owner leaving = { .uuid = U1,
		.name = "web",
		.top_path = POOL L1(3),
		.snapshots = ab,
		.snapshots_len = 2,
		.leaving = true };
	struct layer_change change = { .top = LAYER_NONE, .roots = { LAYER_NONE, LAYER_NONE } };
	struct error err = { 0 };

	(void)state;
	add_volumes(&g, tree, ARRAY_LEN(tree));
	assert_ok(layer_graph_add_box(&g, &leaving, &err), &err);
	add_box(&g, U2, "copy", POOL L2(1), NULL, 0);
	resolve(&g);
	change.box = layer_graph_box(&g, U2);
	change.top = LAYER_ABSENT; /* it moves away from what they shared, and stays */
	assert_freed(&g, &change, L1(1) " " L1(2) " " L1(3) " " L2(1) " ");
	change.top = layer_graph_find(&g, L1(1));
	assert_freed(&g, &change, L1(2) " " L1(3) " " L2(1) " ");
	change.top = LAYER_NONE;
	change.removed = true;
	assert_freed(&g, &change, L1(1) " " L1(2) " " L1(3) " " L2(1) " ");
	change.box = layer_graph_box(&g, U1); /* the other one stays */
	assert_freed(&g, &change, L1(3) " ");
	layer_graph_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sound_tree_is_connected),
		cmocka_unit_test(test_own_bytes_end_at_what_is_shared_or_named),
		cmocka_unit_test(test_names_round_trip_and_strangers_are_other),
		cmocka_unit_test(test_check_names_a_missing_disk_layer_and_snapshot),
		cmocka_unit_test(test_check_refuses_cycles_and_depth),
		cmocka_unit_test(test_check_refuses_a_top_that_must_not_be_written),
		cmocka_unit_test(test_reading_refuses_doubles_and_impossible_names),
		cmocka_unit_test(test_what_is_needed_by_somebody),
		cmocka_unit_test(test_whose_a_volume_is),
		cmocka_unit_test(test_removal_frees_what_no_clone_needs),
		cmocka_unit_test(test_a_box_outside_the_pool_blocks_deletion_by_others),
		cmocka_unit_test(test_two_that_go_at_once_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

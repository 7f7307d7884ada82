/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "images/inventory.h"

#define B "base-trixie-0000000000000001.qcow2"
#define BJ "base-trixie-0000000000000001.json"
#define G1 "golden-blank-0000000000000001.qcow2"
#define G1J "golden-blank-0000000000000001.json"
#define G2 "golden-blank-0000000000000002.qcow2"
#define G2J "golden-blank-0000000000000002.json"
#define S "seed-0000000000000001.iso"
#define L "box-11111111-1.qcow2"

/* Two images of one template on one base, with one seed; a box on the older. */
static struct inventory_volume volumes[] = {
	{ L, G1, 10, true },
	{ B, NULL, 100, false },
	{ BJ, NULL, 1, false },
	{ G1, B, 20, false },
	{ G1J, NULL, 1, false },
	{ G2, B, 30, false },
	{ G2J, NULL, 1, false },
	{ S, NULL, 2, false },
	{ "seed-box-11111111.iso", NULL, 2, true },
	{ "other.iso", NULL, 3, false },
};

static const struct manifest manifests[] = {
	{ .kind = MANIFEST_BASE, .volume = B, .recipe = "r0" },
	{ .kind = MANIFEST_GOLDEN,
		.template = "blank",
		.volume = G1,
		.backing = B,
		.seed = S,
		.recipe = "r1",
		.created = "2026-01-01T00:00:00Z" },
	{ .kind = MANIFEST_GOLDEN,
		.template = "blank",
		.volume = G2,
		.backing = B,
		.seed = S,
		.recipe = "r2",
		.created = "2026-02-01T00:00:00Z" },
};

static struct inventory all(void)
{
	return (struct inventory){ volumes, ARRAY_LEN(volumes), manifests, ARRAY_LEN(manifests) };
}

static void assert_plan(const struct inventory_plan *plan, const char *const *want)
{
	size_t n = 0;

	for (; want[n]; n++) {
		assert_true(n < plan->len);
		assert_string_equal(plan->items[n].volume, want[n]);
	}
	assert_int_equal(plan->len, n);
}

static void pruned(
	const struct inventory *in, const struct inventory_wish *wish, const char *const *want)
{
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;
	struct error err = { 0 };

	assert_ok(inventory_prune(in, wish, &plan, &err), &err);
	assert_plan(&plan, want);
}

static void test_names_tell_what_a_volume_is(void **state)
{
	(void)state;
	assert_int_equal(image_part(B), PART_BASE);
	assert_int_equal(image_part(G1), PART_GOLDEN);
	assert_int_equal(image_part(G1J), PART_MANIFEST);
	assert_int_equal(image_part(BJ), PART_MANIFEST);
	assert_int_equal(image_part(S), PART_SEED);
	assert_int_equal(image_part("seed-box-1.iso"), PART_OTHER);
	assert_int_equal(image_part(L), PART_OTHER);
	assert_int_equal(image_part(".json"), PART_OTHER);
}

static void test_an_image_is_found_by_its_recipe_or_as_the_newest(void **state)
{
	struct inventory in = all();

	(void)state;
	assert_string_equal(inventory_image(&in, "blank", "r1")->volume, G1);
	assert_string_equal(inventory_image(&in, "blank", NULL)->volume, G2);
	assert_null(inventory_image(&in, "blank", "r3"));
	assert_null(inventory_image(&in, "claude", NULL));
}

static void test_an_image_without_all_its_parts_does_not_exist(void **state)
{
	static const char *const parts[] = { G2, G2J, B, S };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct inventory_volume some[ARRAY_LEN(volumes)];
		struct inventory in = all();

		memcpy(some, volumes, sizeof(volumes));
		for (size_t k = 0; k < ARRAY_LEN(some); k++)
			if (strcmp(some[k].name, parts[i]) == 0)
				some[k].name = "gone";
		in.volumes = some;
		assert_null(inventory_image(&in, "blank", "r2"));
	}
}

static void test_prune_keeps_what_a_box_stands_on(void **state)
{
	static const char *const want[] = { G2J, G2, NULL };
	struct inventory in = all();
	struct inventory_wish wish = { 0 };

	(void)state;
	pruned(&in, &wish, want);
	assert_int_equal(inventory_users(&in, G1), 1);
	assert_int_equal(inventory_users(&in, B), 2);
}

static void test_prune_keeps_what_it_is_told_to(void **state)
{
	static const char *const keep[] = { G2 }, *const want[] = { NULL };
	struct inventory in = all();
	struct inventory_wish wish = { .keep = keep, .keep_count = 1 };

	(void)state;
	pruned(&in, &wish, want);
}

static void test_prune_of_a_pool_without_boxes_takes_all_manifests_first(void **state)
{
	static const char *const want[] = { BJ, G1J, G2J, G1, G2, S, B, NULL };
	struct inventory in = all();
	struct inventory_wish wish = { 0 };

	(void)state;
	in.volumes = volumes + 1;
	in.volume_count = ARRAY_LEN(volumes) - 1;
	pruned(&in, &wish, want);
}

/* A seed that a domain has as a disk stays, though its image goes. */
static void test_prune_keeps_a_seed_in_use(void **state)
{
	static const char *const want[] = { BJ, G1J, G2J, G1, G2, B, NULL };
	struct inventory_volume some[ARRAY_LEN(volumes)];
	struct inventory in = all();
	struct inventory_wish wish = { 0 };

	(void)state;
	memcpy(some, volumes, sizeof(volumes));
	some[7].in_use = true;
	in.volumes = some + 1;
	in.volume_count = ARRAY_LEN(volumes) - 1;
	pruned(&in, &wish, want);
}

static bool always(const char *volume, void *data)
{
	(void)volume;
	(void)data;
	return true;
}

/* The upload of an image ends with its manifest: before that it looks like a leftover. */
static void test_prune_leaves_an_upload_in_progress(void **state)
{
	static const struct inventory_volume uploading[] = { { B, NULL, 1, false },
		{ BJ, NULL, 1, false }, { S, NULL, 1, false }, { G1, B, 1, false } };
	static const char *const nothing[] = { NULL }, *const all_of_it[] = { BJ, G1, S, B, NULL };
	struct inventory in = { uploading, ARRAY_LEN(uploading), manifests, 1 };
	struct inventory_wish wish = { .young = always };

	(void)state;
	pruned(&in, &wish, nothing);
	wish.young = NULL;
	pruned(&in, &wish, all_of_it);
}

static void test_remove_takes_what_only_this_image_needs(void **state)
{
	static const char *const want[] = { G2J, G2, NULL };
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;
	struct inventory in = all();
	struct error err = { 0 };

	(void)state;
	assert_ok(inventory_remove(&in, G2, &plan, &err), &err);
	assert_plan(&plan, want);
}

static void test_remove_of_the_last_image_takes_base_and_seed(void **state)
{
	static const struct inventory_volume one[] = { { B, NULL, 1, false },
		{ BJ, NULL, 1, false }, { S, NULL, 1, false }, { G1, B, 1, false },
		{ G1J, NULL, 1, false } };
	static const char *const want[] = { BJ, G1J, G1, S, B, NULL };
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;
	struct inventory in = { one, ARRAY_LEN(one), manifests, 2 };
	struct error err = { 0 };

	(void)state;
	assert_ok(inventory_remove(&in, G1, &plan, &err), &err);
	assert_plan(&plan, want);
}

static void test_remove_refuses_what_is_in_use_or_not_there(void **state)
{
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;
	struct inventory in = all();
	struct error err = { 0 };

	(void)state;
	assert_int_equal(inventory_remove(&in, G1, &plan, &err), -1);
	assert_error(&err, ERROR_BUSY, "1 box layers stand on it");
	assert_int_equal(inventory_remove(&in, "golden-x-1.qcow2", &plan, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "no such image");
	assert_int_equal(inventory_remove(&in, L, &plan, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "no such image");
}

#define W "warm-blank-0123456789abcdef-00000001.qcow2"
#define WM "warm-blank-0123456789abcdef-00000001.mem"
#define WJ "warm-blank-0123456789abcdef-00000001.json"

/* One image, a warm one of it, and a box that stands on that. */
static const struct inventory_volume with_warm[] = { { B, NULL, 1, false }, { BJ, NULL, 1, false },
	{ S, NULL, 1, false }, { G1, B, 1, false }, { G1J, NULL, 1, false }, { W, G1, 1, false },
	{ WM, NULL, 1, false }, { WJ, NULL, 1, false }, { L, W, 1, true } };

static void test_a_warm_image_goes_with_its_golden_one(void **state)
{
	static const char *const want[] = { WJ, WM, W, BJ, G1J, G1, S, B, NULL };
	static const char *const keep[] = { G1 }, *const nothing[] = { NULL };
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;
	struct inventory in = { with_warm, ARRAY_LEN(with_warm) - 1, manifests, 2 };
	struct inventory_wish wish = { 0 };
	const struct inventory_volume *warm;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(image_part(W), PART_WARM_LAYER);
	assert_int_equal(image_part(WM), PART_WARM_MEMORY);
	assert_int_equal(image_part(WJ), PART_WARM_RECORD);
	warm = inventory_warm(&in, G1, NULL);
	assert_non_null(warm);
	assert_string_equal(warm->name, W);
	assert_int_equal(inventory_warm_bytes(&in, W), 3);
	assert_null(inventory_warm(&in, G1, warm));
	assert_int_equal(inventory_users(&in, G1), 0);
	pruned(&in, &wish, want);
	assert_ok(inventory_remove(&in, G1, &plan, &err), &err);
	assert_plan(&plan, want);
	wish.keep = keep;
	wish.keep_count = 1;
	pruned(&in, &wish, nothing);
}

static void test_a_box_on_a_warm_image_stands_on_the_golden_one(void **state)
{
	static const char *const nothing[] = { NULL };
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;
	struct inventory in = { with_warm, ARRAY_LEN(with_warm), manifests, 2 };
	struct inventory_wish wish = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(inventory_users(&in, G1), 1);
	assert_int_equal(inventory_remove(&in, G1, &plan, &err), -1);
	assert_error(&err, ERROR_BUSY, "1 box layers stand on it");
	pruned(&in, &wish, nothing);
}

/* Layer and memory come first, the record last. */
static void test_a_warming_in_progress_is_left_alone_and_a_killed_one_pruned(void **state)
{
	static const char *const keep[] = { G1 }, *const nothing[] = { NULL };
	static const char *const leftovers[] = { WM, W, NULL };
	struct inventory in = { with_warm, ARRAY_LEN(with_warm) - 2, manifests, 2 };
	struct inventory_wish wish = { .keep = keep, .keep_count = 1, .young = always };

	(void)state;
	pruned(&in, &wish, nothing);
	wish.young = NULL;
	pruned(&in, &wish, leftovers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_tell_what_a_volume_is),
		cmocka_unit_test(test_an_image_is_found_by_its_recipe_or_as_the_newest),
		cmocka_unit_test(test_an_image_without_all_its_parts_does_not_exist),
		cmocka_unit_test(test_prune_keeps_what_a_box_stands_on),
		cmocka_unit_test(test_prune_keeps_what_it_is_told_to),
		cmocka_unit_test(test_prune_of_a_pool_without_boxes_takes_all_manifests_first),
		cmocka_unit_test(test_prune_keeps_a_seed_in_use),
		cmocka_unit_test(test_prune_leaves_an_upload_in_progress),
		cmocka_unit_test(test_remove_takes_what_only_this_image_needs),
		cmocka_unit_test(test_remove_of_the_last_image_takes_base_and_seed),
		cmocka_unit_test(test_remove_refuses_what_is_in_use_or_not_there),
		cmocka_unit_test(test_a_warm_image_goes_with_its_golden_one),
		cmocka_unit_test(test_a_box_on_a_warm_image_stands_on_the_golden_one),
		cmocka_unit_test(test_a_warming_in_progress_is_left_alone_and_a_killed_one_pruned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

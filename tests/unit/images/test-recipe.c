/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "images/recipe.h"

static const struct recipe_files files = { "a", "b", "c" };

static void recipe_for(const char *text, struct recipe *ret)
{
	_cleanup_template_ struct template t = { 0 };
	struct error err = { 0 };

	assert_ok(template_parse("blank", "x.yaml", text, strlen(text), &t, &err), &err);
	recipe_make(&t, &files, ret);
}

static void test_names_carry_the_digest(void **state)
{
	struct recipe r;
	char name[VOLUME_NAME_MAX];

	(void)state;
	recipe_for("user: dev\n", &r);
	assert_int_equal(strlen(r.golden), 64);
	assert_memory_equal(r.base_volume, "base-trixie-", 12);
	assert_memory_equal(r.base_volume + 12, r.base, 16);
	assert_string_equal(r.base_volume + 28, ".qcow2");
	assert_memory_equal(r.golden_volume, "golden-blank-", 13);
	assert_memory_equal(r.golden_volume + 13, r.golden, 16);
	recipe_manifest_name(r.golden_volume, name);
	assert_string_equal(name + 29, ".json");
	recipe_seed_name(r.golden, name);
	assert_memory_equal(name + 5, r.golden, 16);
	assert_string_equal(name + 21, ".iso");
}

static void test_the_same_recipe_is_the_same_digest(void **state)
{
	struct recipe a, b;

	(void)state;
	recipe_for("user: dev\npackages: [jq]\n", &a);
	recipe_for("packages: [jq]\nuser: dev\n", &b);
	assert_string_equal(a.golden, b.golden);
}

/* What a box is given, and words for people, do not change what is in the image. */
static void test_resources_and_descriptions_are_no_part_of_it(void **state)
{
	struct recipe a, b;

	(void)state;
	recipe_for("user: dev\n", &a);
	recipe_for("user: dev\ncpu: 7\nmemory: 7GiB\ndisk: 70GiB\ndescription: x\n", &b);
	assert_string_equal(a.golden, b.golden);
}

static void test_everything_else_is(void **state)
{
	static const char *const others[] = { "user: eve\n", "user: dev\npackages: [jq]\n",
		"user: dev\npackages: [jq, x]\n", "user: dev\nbake: [[jq, x]]\n",
		"user: dev\nbake: [[jq], [x]]\n", "user: dev\nverify: [jq]\n",
		"user: dev\ncontext: {path: a, text: b}\n", "user: dev\nimage: debian:12\n" };
	struct recipe all[ARRAY_LEN(others) + 1];

	(void)state;
	recipe_for("user: dev\n", &all[0]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		recipe_for(others[i], &all[i + 1]);
		for (size_t k = 0; k <= i; k++)
			assert_string_not_equal(all[k].golden, all[i + 1].golden);
	}
}

static void test_the_payload_does_not_change_the_base(void **state)
{
	struct recipe a, b;

	(void)state;
	recipe_for("user: dev\n", &a);
	recipe_for("user: eve\npackages: [jq]\n", &b);
	assert_string_equal(a.base, b.base);
}

static void test_the_agent_changes_the_image_and_not_the_base(void **state)
{
	static const struct recipe_files newer = { "a", "b", "d" }, other = { "z", "b", "c" };
	_cleanup_template_ struct template t = { 0 };
	struct recipe a, b, c;
	struct error err = { 0 };

	(void)state;
	assert_ok(template_parse("blank", "x", "user: dev\n", 10, &t, &err), &err);
	recipe_make(&t, &files, &a);
	recipe_make(&t, &newer, &b);
	recipe_make(&t, &other, &c);
	assert_string_equal(a.base, b.base);
	assert_string_not_equal(a.golden, b.golden);
	assert_string_not_equal(a.base, c.base);
	assert_string_not_equal(a.golden, c.golden);
}

/* What stands on an earlier build must not find other bytes under it. */
static void test_another_build_has_other_names_and_the_same_recipe(void **state)
{
	struct recipe a, b, c;

	(void)state;
	recipe_for("user: dev\n", &a);
	b = a;
	c = a;
	recipe_rebuild(&b, "trixie", "blank", "1");
	recipe_rebuild(&c, "trixie", "blank", "2");
	assert_string_equal(a.golden, b.golden);
	assert_string_equal(a.base, b.base);
	assert_string_not_equal(a.base_volume, b.base_volume);
	assert_string_not_equal(a.golden_volume, b.golden_volume);
	assert_string_not_equal(b.base_volume, c.base_volume);
	assert_int_equal(strlen(a.base_volume), strlen(b.base_volume));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_carry_the_digest),
		cmocka_unit_test(test_the_same_recipe_is_the_same_digest),
		cmocka_unit_test(test_resources_and_descriptions_are_no_part_of_it),
		cmocka_unit_test(test_everything_else_is),
		cmocka_unit_test(test_the_payload_does_not_change_the_base),
		cmocka_unit_test(test_another_build_has_other_names_and_the_same_recipe),
		cmocka_unit_test(test_the_agent_changes_the_image_and_not_the_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "seed/seed.h"

static void make(const char *template, const char *user, struct seed *seed)
{
	struct seed_spec spec = {
		.user_data = user,
		.user_data_len = user ? strlen(user) : 0,
		.template_data = template,
		.template_data_len = template ? strlen(template) : 0,
		.user_name = "mine.yaml",
		.template_name = "user-data.yaml",
	};
	struct error err = { 0 };

	assert_ok(seed_make(&spec, seed, &err), &err);
}

static void test_nothing_said_is_an_empty_config(void **state)
{
	_cleanup_seed_ struct seed seed = { 0 };

	(void)state;
	make(NULL, NULL, &seed);
	assert_string_equal(seed.user_data, "#cloud-config\n{}\n");
	assert_string_equal(seed.meta_data, "instance-id: box\nlocal-hostname: box\n");
}

static void test_what_the_user_gives_comes_last(void **state)
{
	_cleanup_seed_ struct seed seed = { 0 };
	const char *modules, *template, *user;

	(void)state;
	make("#cloud-config\nruncmd: [a]\n", "#cloud-config\ntimezone: UTC\n", &seed);
	modules = strstr(seed.user_data, "cloud_config_modules:\n- timezone\n- runcmd\n");
	template = strstr(seed.user_data, "runcmd: [a]");
	user = strstr(seed.user_data, "timezone: UTC");
	assert_non_null(modules);
	assert_non_null(template);
	assert_non_null(user);
	assert_true(modules < template && template <user);
}

static void test_the_culprit_is_named(void **state)
{
	struct seed seed = { 0 };
	struct seed_spec spec = {
		.user_data = "#cloud-config\na b\n",
		.user_data_len = strlen("#cloud-config\na b\n"),
		.user_name = "mine.yaml",
		.template_name = "user-data.yaml",
	};
	struct error err = { 0 };

	(void)state;
	assert_int_equal(seed_make(&spec, &seed, &err), -1);
	assert_error(&err, ERROR_INVALID, "mine.yaml:2: ");
	assert_null(seed.user_data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_said_is_an_empty_config),
		cmocka_unit_test(test_what_the_user_gives_comes_last),
		cmocka_unit_test(test_the_culprit_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>

#include "base/fd.h"
#include "seed/cloud-key.h"

static void refused(const char *text, const char *why)
{
	struct error err = { 0 };
	_cleanup_(yml_free_p) struct yml *doc = yml_parse(text, strlen(text), "u.yaml", &err);

	assert_non_null(doc);
	assert_int_equal(cloud_keys_check(yml_root(doc), &err), -1);
	assert_error(&err, ERROR_INVALID, why);
}

static void modules_are(const char *text, const char *want)
{
	struct error err = { 0 };
	_cleanup_(yml_free_p) struct yml *doc = yml_parse(text, strlen(text), "u.yaml", &err);
	_cleanup_free_ char *got = NULL;
	struct yml_node root;

	assert_non_null(doc);
	root = yml_root(doc);
	assert_ok(cloud_keys_check(root, &err), &err);
	got = cloud_modules(&root, 1, &err);
	assert_non_null(got);
	assert_string_equal(got, want);
}

static void test_unknown_keys_are_refused_with_the_nearest(void **state)
{
	(void)state;
	refused("hostname: a\nrun_cmd: [ls]\n",
		"u.yaml:2: cloud-init in a box has no key 'run_cmd'; "
		"did you mean 'runcmd'?");
	refused("zzzzzz: 1\n", "u.yaml:1: cloud-init in a box has no key 'zzzzzz'");
}

static void test_values_of_the_wrong_kind_are_refused(void **state)
{
	(void)state;
	refused("runcmd: ls\n", "u.yaml:1: 'runcmd' must be a list, and is a single value");
	refused("runcmd:\n - ls\n - {a: b}\n", "u.yaml:3: a command is a text or a list of words");
	refused("bootcmd:\n - [ls, [a]]\n", "u.yaml:2: a word of a command is a text");
	refused("write_files:\n - content: x\n",
		"u.yaml:2: a file to write is a mapping with a 'path'");
}

static void test_an_ordinary_text_needs_no_modules(void **state)
{
	(void)state;
	modules_are("runcmd: [ls]\npackages: [jq]\nusers: []\nwrite_files: [{path: /a}]\n", "");
	modules_are("{}\n", "");
}

static void test_a_rare_key_brings_its_module_in_order(void **state)
{
	(void)state;
	modules_are(
		"timezone: UTC\n", "#cloud-config\ncloud_config_modules:\n- timezone\n- runcmd\n");
}

/* Always means: in the image's own configuration, in this order. */
static void test_the_image_runs_what_the_table_says(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_(yml_free_p) struct yml *doc = NULL;
	struct error err = { 0 };
	const char *path = SOURCE_ROOT "/mint/guest/base/etc/cloud/cloud.cfg.d/90-box.cfg";
	static const char *const lists[] = { "cloud_init_modules", "cloud_config_modules",
		"cloud_final_modules" };

	(void)state;
	assert_ok(file_read(AT_FDCWD, path, 65536, &text, &err), &err);
	doc = yml_parse(str_get(&text), text.len, path, &err);
	assert_non_null(doc);
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		struct yml_node list = yml_find(yml_root(doc), lists[l]);
		size_t n = 0;

		for (size_t i = 0; i < cloud_module_count; i++) {
			const struct cloud_module *m = &cloud_module_rows[i];

			if (m->always && str_equal(m->list, lists[l]))
				assert_string_equal(yml_scalar(yml_item(list, n++)), m->name);
		}
		assert_int_equal(yml_len(list), n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_keys_are_refused_with_the_nearest),
		cmocka_unit_test(test_values_of_the_wrong_kind_are_refused),
		cmocka_unit_test(test_an_ordinary_text_needs_no_modules),
		cmocka_unit_test(test_a_rare_key_brings_its_module_in_order),
		cmocka_unit_test(test_the_image_runs_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

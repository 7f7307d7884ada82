/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/parse.h"
#include "base/yaml.h"

struct thing {
	char *user;
	uint64_t cpu;
	size_t packages;
};

static int read_user(struct yml_node value, void *object, struct error *err)
{
	struct thing *t = object;

	t->user = yml_text(value, err);
	return t->user ? 0 : -1;
}

static int read_cpu(struct yml_node value, void *object, struct error *err)
{
	struct thing *t = object;

	if (parse_u64(yml_scalar(value), 1, 64, "cpu", &t->cpu, err) < 0)
		return yml_error_at(err, value);
	return 0;
}

static int read_packages(struct yml_node value, void *object, struct error *err)
{
	(void)err;
	((struct thing *)object)->packages = yml_len(value);
	return 0;
}

static const struct yml_key keys[] = {
	{ "user", YML_SCALAR, true, read_user },
	{ "cpu", YML_SCALAR, false, read_cpu },
	{ "packages", YML_LIST, false, read_packages },
};

static int read_thing(const char *text, struct thing *t, struct error *err)
{
	_cleanup_(yml_free_p) struct yml *doc = yml_parse(text, strlen(text), "t.yaml", err);

	if (!doc)
		return -1;
	return yml_read(yml_root(doc), keys, ARRAY_LEN(keys), t, err);
}

static void assert_refused(const char *text, const char *why)
{
	struct thing t = { 0 };
	struct error err = { 0 };

	assert_int_equal(read_thing(text, &t, &err), -1);
	assert_error(&err, ERROR_INVALID, why);
	free(t.user);
}

static void test_a_mapping_is_read_by_its_table(void **state)
{
	struct thing t = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(read_thing("# c\nuser: dev\ncpu: 2\npackages: [a, b]\n", &t, &err), &err);
	assert_string_equal(t.user, "dev");
	assert_int_equal(t.cpu, 2);
	assert_int_equal(t.packages, 2);
	free(t.user);
}

static void test_bad_keys_are_named_with_file_and_line(void **state)
{
	(void)state;
	assert_refused("user: dev\nnetwork: host\n", "t.yaml:2: unknown key 'network'");
	assert_refused("usr: dev\n", "t.yaml:1: unknown key 'usr'; did you mean 'user'?");
	assert_refused("user: dev\ncpu: 1\nuser: x\n", "t.yaml:3: key 'user' is repeated; line 1");
	assert_refused("cpu: 1\n", "t.yaml:1: key 'user' is missing");
	assert_refused("user: [dev]\n", "t.yaml:1: 'user' must be a text, and is a list");
	assert_refused("user: dev\ncpu: many\n", "t.yaml:2: cpu: 'many' is not a number");
	assert_refused("user: ''\n", "t.yaml:1: a text that is not empty");
	assert_refused("- a\n", "t.yaml:1: a mapping was expected");
	assert_refused("", "a mapping was expected, and this is nothing");
	assert_refused("user: dev\n---\nuser: x\n", "second document");
	assert_refused("user: 'x\n", "t.yaml:2");
	assert_refused("user: \"a\\x1b[31m\": b\n", "t.yaml:1");
}

static void test_hostile_documents_are_bounded(void **state)
{
	_cleanup_str_ struct str deep = STR_INIT, bomb = STR_INIT;

	(void)state;
	for (int i = 0; i < 500; i++)
		str_append(&deep, "[");
	for (int i = 0; i < 500; i++)
		str_append(&deep, "]");
	assert_refused(str_get(&deep), "nested more than");
	assert_refused("user: &a [*a]\n", "nested more than");
	str_append(&bomb, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 10; i++)
		str_printf(&bomb, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
			i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	assert_refused(str_get(&bomb), "too large");
}

static void test_written_text_reads_back_as_the_same_strings(void **state)
{
	static const char *const texts[] = { "plain", "no", "1.5", "", "a: b", "- x", "#c",
		"line\nline", "t\xc3\xbcr", "\"q\"", "0x10", "~", "2001-01-01", " lead", "/usr/bin",
		"\x1b[0m" };
	_cleanup_(yml_writer_free_p) struct yml_writer *w = NULL;
	_cleanup_(yml_free_p) struct yml *doc = NULL;
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };

	(void)state;
	w = yml_writer_new(&err);
	assert_non_null(w);
	yml_open_list(w);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		yml_put(w, texts[i]);
	yml_put_block(w, "#!/bin/sh\necho hi\n");
	yml_close(w);
	text = yml_finish(w, &err);
	assert_non_null(text);
	assert_non_null(strstr(text, "- \"no\"\n"));
	assert_non_null(strstr(text, "- |\n"));
	doc = yml_parse(text, strlen(text), "out", &err);
	assert_non_null(doc);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_string_equal(yml_scalar(yml_item(yml_root(doc), i)), texts[i]);
	assert_string_equal(
		yml_scalar(yml_item(yml_root(doc), ARRAY_LEN(texts))), "#!/bin/sh\necho hi\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mapping_is_read_by_its_table),
		cmocka_unit_test(test_bad_keys_are_named_with_file_and_line),
		cmocka_unit_test(test_hostile_documents_are_bounded),
		cmocka_unit_test(test_written_text_reads_back_as_the_same_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

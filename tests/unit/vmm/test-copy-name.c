/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "vmm/copy-name.h"

static void test_plain_paths(void **state)
{
	static const struct {
		const char *raw, *plain;
		unsigned depth;
	} rows[] = {
		{ ".", "", 0 },
		{ "./", "", 0 },
		{ "a", "a", 0 },
		{ "./a//b/./c/", "a/b/c", 2 },
		{ "...", "...", 0 },
		{ "a/..b", "a/..b", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_str_ struct str into = STR_INIT;
		struct error err = { 0 };
		unsigned depth = 99;

		str_append(&into, "root/");
		assert_ok(copy_name_below(rows[i].raw, &into, &depth, &err), &err);
		assert_string_equal(str_get(&into) + 5, rows[i].plain);
		assert_int_equal(depth, rows[i].depth);
	}
}

static void refused(const char *raw, const char *part)
{
	_cleanup_str_ struct str into = STR_INIT;
	struct error err = { 0 };
	unsigned depth;

	assert_int_equal(copy_name_below(raw, &into, &depth, &err), -1);
	assert_error(&err, ERROR_INVALID, part);
}

static void test_paths_that_are_refused(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;

	(void)state;
	refused("/etc/passwd", "'/etc/passwd' is an absolute path");
	refused("..", "'..' climbs with '..'");
	refused("a/../b", "climbs");
	refused("a/..", "climbs");
	refused("\x1b]52;c;x\x07/..", "'\\x1b]52;c;x\\x07/..' climbs");
	for (int i = 0; i < 256; i++)
		str_append_char(&text, 'x');
	refused(str_get(&text), "too long a name");
	for (int i = 0; i < COPY_NAME_MAX; i++)
		str_append(&text, "/x");
	refused(str_get(&text), "too long a path");
	str_clear(&text);
	for (int i = 0; i <= COPY_DEPTH_MAX; i++)
		str_append(&text, "x/");
	refused(str_get(&text), "too deep");
}

static void test_controls(void **state)
{
	(void)state;
	assert_false(copy_name_controls("plain name"));
	assert_false(copy_name_controls("na\xc3\xafve \xe2\x82\xac \xff"));
	assert_false(copy_name_controls("\xc2\xa0"));
	assert_true(copy_name_controls("a\nb"));
	assert_true(copy_name_controls("a\x1b[2J"));
	assert_true(copy_name_controls("a\x7f"));
	assert_true(copy_name_controls("\xc2\x9d"
				       "52;c;x"));
	assert_true(copy_name_controls("\xc2\x80"));
}

static void test_links(void **state)
{
	static const struct {
		const char *target;
		unsigned depth;
		bool stays;
	} rows[] = {
		{ "b", 0, true },
		{ "./b/c", 0, true },
		{ "../b", 1, true },
		{ "../..", 2, true },
		{ "..", 1, true },
		{ ".", 0, true },
		{ "", 0, false },
		{ "/", 5, false },
		{ "/etc/passwd", 5, false },
		{ "..", 0, false },
		{ "../../b", 1, false },
		{ ".././../b", 1, false },
		/* Behind a name that may be a link itself. */
		{ "b/..", 5, false },
		{ "../b/../c", 5, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (copy_link_stays(rows[i].target, rows[i].depth) != rows[i].stays)
			fail_msg("'%s' below %u folders", rows[i].target, rows[i].depth);
}

static void test_last(void **state)
{
	static const char *const rows[][2] = {
		{ "a", "a" },
		{ "/a/b", "b" },
		{ "a/b///", "b" },
		{ "./.x", ".x" },
		{ ".", "" },
		{ "a/..", "" },
		{ "/", "" },
		{ "", "" },
		{ "./", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len;
		const char *last = copy_name_last(rows[i][0], &len);

		assert_int_equal(len, strlen(rows[i][1]));
		assert_memory_equal(last, rows[i][1], len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_paths),
		cmocka_unit_test(test_paths_that_are_refused),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

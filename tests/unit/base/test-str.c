/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/str.h"
#include "base/vec.h"

VEC_DEFINE(int_vec, int);

static void assert_escaped(const char *bytes, size_t len, bool keep_lines, const char *want)
{
	_cleanup_str_ struct str s = STR_INIT;

	str_append_escaped(&s, bytes, len, keep_lines);
	assert_string_equal(str_get(&s), want);
}

static void test_append_grows_and_terminates(void **state)
{
	_cleanup_str_ struct str s = STR_INIT;
	struct error err = { 0 };
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_string_equal(str_get(&s), "");
	for (int i = 0; i < 1000; i++)
		str_printf(&s, "%d,", i % 10);
	assert_int_equal(s.len, 2000);
	assert_ok(str_ok(&s, &err), &err);
	text = str_take(&s, &err);
	assert_non_null(text);
	assert_int_equal(strlen(text), 2000);
	assert_null(s.data);
}

static void test_escape_disarms_terminal_controls(void **state)
{
	(void)state;
	assert_escaped("\033]52;c;aGk=\007", 12, false, "\\x1b]52;c;aGk=\\x07");
	assert_escaped("a\nb\tc\r", 6, true, "a\nb\tc\\x0d");
	assert_escaped("a\nb", 3, false, "a\\x0ab");
	assert_escaped("\xc2\x9b"
		       "31m",
		5, false, "\\xc2\\x9b31m"); /* C1 CSI in UTF-8 */
	assert_escaped("gr\xc3\xbc\xc3\x9f", 6, false, "gr\xc3\xbc\xc3\x9f");
	assert_escaped("\xe2\x80\xae"
		       "x",
		4, false, "\\xe2\\x80\\xaex"); /* right-to-left override */
	assert_escaped("\xc3", 1, false, "\\xc3"); /* cut sequence */
	assert_escaped("\xed\xa0\x80", 3, false, "\\xed\\xa0\\x80"); /* surrogate */
	assert_escaped("\xc0\xaf", 2, false, "\\xc0\\xaf"); /* overlong */
	assert_escaped("\0", 1, false, "\\x00");
	assert_escaped("\x7f", 1, false, "\\x7f");
}

static void test_nearest_suggests_only_near_words(void **state)
{
	static const char *const names[] = { "list", "info", "restart", "start" };

	(void)state;
	assert_string_equal(str_nearest("lsit", names, 4), "list");
	assert_string_equal(str_nearest("restrat", names, 4), "restart");
	assert_string_equal(str_nearest("satrt", names, 4), "start");
	assert_null(str_nearest("frobnicate", names, 4));
	assert_null(str_nearest("x", names, 4));
	assert_null(str_nearest("", names, 4));
}

static void test_equal_and_starts(void **state)
{
	(void)state;
	assert_true(str_equal(NULL, NULL));
	assert_false(str_equal("a", NULL));
	assert_true(str_equal("a", "a"));
	assert_true(str_starts("abc", "ab"));
	assert_false(str_starts("a", "ab"));
}

static void test_vec_pushes_and_iterates(void **state)
{
	struct int_vec v = VEC_INIT;
	struct error err = { 0 };
	int sum = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_ok(int_vec_push(&v, i, &err), &err);
	vec_foreach(int, n, &v)
		sum += *n;
	assert_int_equal(sum, 4950);
	int_vec_done(&v);
	vec_foreach(int, n, &v)
		fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append_grows_and_terminates),
		cmocka_unit_test(test_escape_disarms_terminal_controls),
		cmocka_unit_test(test_nearest_suggests_only_near_words),
		cmocka_unit_test(test_equal_and_starts),
		cmocka_unit_test(test_vec_pushes_and_iterates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

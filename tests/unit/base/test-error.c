/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

static void test_set_wrap_hint_build_one_sentence(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_set(&err, ERROR_EXISTS, "box '%s' exists", "web"), -1);
	assert_int_equal(error_wrap(&err, "cannot mint"), -1);
	assert_int_equal(error_hint(&err, "; choose another name"), -1);
	assert_string_equal(err.text, "cannot mint: box 'web' exists; choose another name");
	assert_int_equal(err.kind, ERROR_EXISTS);
}

static void test_set_accepts_its_own_text_as_argument(void **state)
{
	struct error err = { 0 };

	(void)state;
	error_set(&err, ERROR_FAILED, "inner");
	error_set(&err, ERROR_BUSY, "outer (%s)", err.text);
	assert_string_equal(err.text, "outer (inner)");
}

static void test_errno_gives_kind_and_reason(void **state)
{
	struct error err = { 0 };

	(void)state;
	error_errno(&err, ENOSPC, "cannot write '%s'", "x");
	assert_error(&err, ERROR_NO_SPACE, "cannot write 'x': No space left");
	error_errno(&err, EACCES, "y");
	assert_int_equal(err.kind, ERROR_DENIED);
	error_clear(&err);
	assert_int_equal(err.kind, ERROR_NONE);
	assert_string_equal(err.text, "");
}

static void test_long_text_is_cut_with_dots(void **state)
{
	struct error err = { 0 };
	char big[4096];

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	error_set(&err, ERROR_FAILED, "%s", big);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_string_equal(err.text + sizeof(err.text) - 4, "...");
	error_hint(&err, "more");
	assert_string_equal(err.text + sizeof(err.text) - 4, "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_wrap_hint_build_one_sentence),
		cmocka_unit_test(test_set_accepts_its_own_text_as_argument),
		cmocka_unit_test(test_errno_gives_kind_and_reason),
		cmocka_unit_test(test_long_text_is_cut_with_dots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

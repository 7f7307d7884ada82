/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "probe/watch-token.h"

#define FIND(text, ret) token_find((const uint8_t *)(text), sizeof(text) - 1, "bxd1f", ret)

static void test_token_ends_where_its_letters_end(void **state)
{
	char token[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1];

	(void)state;
	assert_int_equal(FIND("\x01\x02"
			      "bxd1fx0012\x00\x00",
				 token),
		1);
	assert_string_equal(token, "bxd1fx0012");
	assert_int_equal(FIND("bxd1f", token), 1);
	assert_string_equal(token, "bxd1f");
	assert_int_equal(FIND("bxd1fx0012\x07"
			      "example\x03"
			      "com",
				 token),
		1);
	assert_string_equal(token, "bxd1fx0012");
}

static void test_token_case_does_not_matter(void **state)
{
	char token[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1];

	(void)state;
	assert_int_equal(FIND("..bXd1FX00aB.", token), 1);
	assert_string_equal(token, "bxd1fx00ab");
}

static void test_token_tail_is_bounded(void **state)
{
	char token[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1];

	(void)state;
	assert_int_equal(FIND("bxd1f0123456789abcdefXYZ", token), 1);
	assert_string_equal(token, "bxd1f0123456789abcdef");
}

static void test_no_token(void **state)
{
	char token[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1];

	(void)state;
	assert_int_equal(FIND("", token), 0);
	assert_int_equal(FIND("bxd1", token), 0);
	assert_int_equal(FIND("bxd2fx0012", token), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token_ends_where_its_letters_end),
		cmocka_unit_test(test_token_case_does_not_matter),
		cmocka_unit_test(test_token_tail_is_bounded),
		cmocka_unit_test(test_no_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "mint/checksums.h"

#define A64 "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"
#define B64 "1111111111111111222222222222222233333333333333334444444444444444"

static char hex[DIGEST_HEX_LONG];
static struct error err;

static int find(const char *text, const char *file)
{
	error_clear(&err);
	return checksum_find(text, strlen(text), file, "SUMS", hex, &err);
}

static void test_the_three_forms(void **state)
{
	(void)state;
	assert_ok(find(B64 "  b.img\n" A64 "  a.img\n", "a.img"), &err);
	assert_string_equal(hex, A64);
	assert_ok(find("# list\r\n" A64 " *a.img\r\n", "a.img"), &err);
	assert_string_equal(hex, A64);
	assert_ok(find("SHA256 (b.img) = " B64 "\nSHA256 (a.img) = " A64, "a.img"), &err);
	assert_string_equal(hex, A64);
	assert_ok(find("AAAAAAAAAAAAAAAAbbbbbbbbbbbbbbbbccccccccccccccccDDDDDDDDDDDDDDDD  a.img\n",
			  "a.img"),
		&err);
	assert_string_equal(hex, A64);
}

static void test_the_longer_digest_wins(void **state)
{
	(void)state;
	assert_ok(find(A64 "  a\n" A64 B64 "  a\n" A64 "  a\n", "a"), &err);
	assert_string_equal(hex, A64 B64);
}

static void test_other_files_do_not_count(void **state)
{
	static const char *const lists[] = { "", "\n", A64 "  aa\n", A64 "  a \n", A64 " a\n",
		A64 "0  a\n", "SHA1 (a) = " A64, "SHA256 (a) = zz" A64, A64 "  ./a\n", "a\n" A64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		assert_int_equal(find(lists[i], "a"), -1);
		assert_error(&err, ERROR_NOT_FOUND, "'SUMS' has no checksum of 'a'");
	}
}

static void test_two_answers_are_none(void **state)
{
	(void)state;
	assert_int_equal(find(A64 "  a\n" B64 "  a\n", "a"), -1);
	assert_error(&err, ERROR_INVALID, "two different checksums");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_three_forms),
		cmocka_unit_test(test_the_longer_digest_wins),
		cmocka_unit_test(test_other_files_do_not_count),
		cmocka_unit_test(test_two_answers_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <unistd.h>

#include "images/digest.h"

/* FIPS 180-2, appendices B.1 and C.1. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABC_LONG                                                           \
	"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" \
	"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

static void test_known_digests(void **state)
{
	char hex[DIGEST_HEX], long_hex[DIGEST_HEX_LONG];
	FILE *file = tmpfile();
	struct error err = { 0 };

	(void)state;
	digest_bytes("abc", 3, hex);
	assert_string_equal(hex, ABC);
	assert_non_null(file);
	assert_int_equal(write(fileno(file), "abc", 3), 3);
	assert_ok(digest_fd(fileno(file), "f", NULL, NULL, hex, &err), &err);
	assert_string_equal(hex, ABC);
	assert_ok(digest_fd_long(fileno(file), "f", long_hex, &err), &err);
	assert_string_equal(long_hex, ABC_LONG);
	(void)fclose(file);
}

static void fields(const char *a, const char *b, const char *c, char hex[DIGEST_HEX])
{
	struct digest d;

	digest_init(&d);
	digest_field_text(&d, a, b);
	digest_field_text(&d, "x", c);
	digest_hex(&d, hex);
}

static void test_fields_do_not_run_into_one_another(void **state)
{
	char a[DIGEST_HEX], b[DIGEST_HEX], c[DIGEST_HEX], d[DIGEST_HEX];

	(void)state;
	fields("n", "ab", "c", a);
	fields("n", "a", "bc", b);
	fields("n", NULL, "c", c);
	fields("n", "", "c", d);
	assert_string_not_equal(a, b);
	assert_string_not_equal(c, d);
}

static void test_a_missing_file_is_named(void **state)
{
	char hex[DIGEST_HEX];
	struct error err = { 0 };

	(void)state;
	assert_int_equal(digest_file("/nonexistent/x", hex, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot open '/nonexistent/x'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_digests),
		cmocka_unit_test(test_fields_do_not_run_into_one_another),
		cmocka_unit_test(test_a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

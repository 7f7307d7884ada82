/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "mint/node.h"

/* SHA-512 of "abc" (FIPS 180-2, C.1), in base64 and in hex. */
#define BASE64 \
	"3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
#define HEX                                                                \
	"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" \
	"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

static void test_integrity_is_a_sha512(void **state)
{
	static const char *const bad[] = { NULL, "", "sha1-abc", "sha512-", "sha512-abc",
		"sha512-" BASE64 "x", "sha512-!" };
	char hex[DIGEST_HEX_LONG];
	struct error err = { 0 };

	(void)state;
	assert_ok(node_integrity("sha512-" BASE64, hex, &err), &err);
	assert_string_equal(hex, HEX);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(node_integrity(bad[i], hex, &err), -1);
		assert_error(&err, ERROR_INVALID, "no SHA-512");
	}
}

static void test_versions_are_compared_as_numbers(void **state)
{
	(void)state;
	assert_true(node_compare("24.9.0", "24.10.0") < 0);
	assert_true(node_compare("24.10.1", "24.10.0") > 0);
	assert_int_equal(node_compare("24.1.2", "24.1.2"), 0);
	assert_true(node_compare("24.9.0", "24.10.0-rc.1") > 0);
	assert_true(node_compare("24.9", "24.8.0") < 0);
}

static void test_the_registry_is_the_hosts_or_the_public_one(void **state)
{
	_cleanup_free_ char *given = NULL, *odd = NULL;
	struct error err = { 0 };

	(void)state;
	setenv("PATH", "/nonexistent", 1);
	setenv("npm_config_registry", "https://npm.example.org/a//", 1);
	given = node_registry(&err);
	assert_string_equal(given, "https://npm.example.org/a");
	setenv("npm_config_registry", "", 1);
	unsetenv("NPM_CONFIG_REGISTRY");
	odd = node_registry(&err);
	assert_string_equal(odd, "https://registry.npmjs.org");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integrity_is_a_sha512),
		cmocka_unit_test(test_versions_are_compared_as_numbers),
		cmocka_unit_test(test_the_registry_is_the_hosts_or_the_public_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

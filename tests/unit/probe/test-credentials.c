/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "probe/credentials.h"

static const char *in(const char *text)
{
	return credential_in((const uint8_t *)text, strlen(text));
}

static void test_tokens_and_keys_are_seen(void **state)
{
	(void)state;
	assert_string_equal(in("-----BEGIN OPENSSH PRIVATE KEY-----\nabc"), "a private key");
	assert_string_equal(
		in("export T=ghp_0123456789abcdefghijABCDEFGHIJ012345"), "a GitHub token");
	assert_string_equal(in("\"sk-ant-oat01-abcdefghijklmnopqrst\""), "an Anthropic token");
	assert_string_equal(in("//registry.example/:_authToken=abcdefgh1"), "an npm login");
}

static void test_look_alikes_are_not(void **state)
{
	(void)state;
	assert_null(in(""));
	assert_null(in("ghp_tooshort"));
	assert_null(in("task-ant-hill-and-more-words-than-twenty"));
	assert_null(in("notghp_0123456789abcdefghijABCDEFGHIJ012345"));
	assert_null(in("-----BEGIN PUBLIC KEY-----"));
}

static void test_a_look_alike_does_not_hide_the_real_one(void **state)
{
	(void)state;
	assert_string_equal(
		in("ghp_short ghp_0123456789abcdefghijABCDEFGHIJ012345"), "a GitHub token");
}

static void test_names_of_logins(void **state)
{
	(void)state;
	assert_string_equal(
		credential_name("/home/dev/.claude/.credentials.json"), "a Claude login");
	assert_string_equal(credential_name("/root/.ssh/authorized_keys"), "somebody's way in");
	assert_null(credential_name("/root/.ssh/known_hosts"));
	assert_null(credential_name(".netrc"));
	assert_null(credential_name("/etc/my.netrc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens_and_keys_are_seen),
		cmocka_unit_test(test_look_alikes_are_not),
		cmocka_unit_test(test_a_look_alike_does_not_hide_the_real_one),
		cmocka_unit_test(test_names_of_logins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

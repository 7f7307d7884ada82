/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "images/secret.h"

static void test_files_of_credentials_are_found_by_name(void **state)
{
	static const char *const bad[] = { "root/.netrc", "home/dev/.npmrc",
		"home/claude/.ssh/id_ed25519", "home/claude/.claude/.credentials.json",
		"home/codex/.codex/auth.json", "etc/ssh/ssh_host_rsa_key", "root/.bash_history",
		"etc/apt/auth.conf.d/x.conf", "etc/apt/apt.conf.d/95proxy", "usr/local/etc/npmrc" };
	static const char *const good[] = { "etc/hosts", "home/claude/.claude/CLAUDE.md",
		"usr/bin/ssh-keygen", "etc/ssh/sshd_config", "usr/share/doc/x/.netrc",
		"etc/apt/apt.conf.d/01x", "usr/lib/python3/dist-packages/x/tests/.netrc" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (!secret_in_path(bad[i]))
			fail_msg("'%s' was not found", bad[i]);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (secret_in_path(good[i]))
			fail_msg("'%s' is harmless", good[i]);
}

static void test_a_planted_token_is_found(void **state)
{
	char text[256];

	(void)state;
	/* put together here, so that no scanner takes this file for a leak */
	(void)snprintf(text, sizeof(text), "export TOKEN=%s%s\n", "ghp_",
		"0123456789abcdefghijABCDEFGHIJ012345");
	assert_string_equal(secret_in_bytes("opt/x", text, strlen(text)), "a GitHub token");
	assert_null(secret_in_bytes("opt/x", text, strlen(text) - 3));
	assert_null(secret_in_bytes("usr/share/doc/x/a", text, strlen(text)));
	(void)snprintf(text, sizeof(text), "xghp_%s\n", "0123456789abcdefghijABCDEFGHIJ012345");
	assert_null(secret_in_bytes("opt/x", text, strlen(text)));
	assert_null(secret_in_bytes("opt/x", "ghp_", 4));
	assert_null(secret_in_bytes("opt/x", "", 0));
}

static void test_a_planted_key_is_found_and_its_bare_header_is_not(void **state)
{
	char text[256];

	(void)state;
	(void)snprintf(text, sizeof(text), "x\n-----BEGIN OPENSSH %s-----\n%s\n", "PRIVATE KEY",
		"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB");
	assert_string_equal(secret_in_bytes("srv/k", text, strlen(text)), "a private key");
	(void)snprintf(
		text, sizeof(text), "if (starts(\"-----BEGIN RSA %s-----\"))\n", "PRIVATE KEY");
	assert_null(secret_in_bytes("usr/lib/libssl.so", text, strlen(text)));
	(void)snprintf(text, sizeof(text), "-----BEGIN RSA %s-----", "PRIVATE KEY");
	assert_null(secret_in_bytes("srv/k", text, strlen(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_credentials_are_found_by_name),
		cmocka_unit_test(test_a_planted_token_is_found),
		cmocka_unit_test(test_a_planted_key_is_found_and_its_bare_header_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

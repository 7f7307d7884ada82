/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/ssh.h"

#define ED25519 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

static void parsed(const char *line, const char *wanted)
{
	_cleanup_ssh_key_ struct ssh_key key = { 0 };
	struct error err = { 0 };

	assert_ok(ssh_key_parse(line, strlen(line), &key, &err), &err);
	assert_string_equal(key.text, wanted);
}

static void refused(const char *line, size_t len, const char *text)
{
	struct ssh_key key = { 0 };
	struct error err = { 0 };

	assert_int_equal(ssh_key_parse(line, len, &key, &err), -1);
	assert_error(&err, ERROR_INVALID, text);
	assert_null(key.text);
}

static void test_keys(void **state)
{
	(void)state;
	parsed(ED25519, ED25519);
	parsed(ED25519 " somebody@somewhere \x1b[2J", ED25519);
	parsed(ED25519 "\r", ED25519);
	parsed("ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA==",
		"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA==");
}

static void test_what_is_no_key(void **state)
{
	static const char *const lines[] = { "", "ssh-ed25519", "ssh-ed25519 ", "ssh-ed25519 AAAA",
		"ssh-dss AAAAB3NzaC1kc3MAAAAA", "from=\"*\",command=\"x\" " ED25519,
		/* A type that is not the key's own, and base64 that is none. */
		"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
		ED25519 "=", ED25519 "=AAA", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA;OMqq",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5A===" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		refused(lines[i], strlen(lines[i]), "it is no public key of OpenSSH");
	refused(ED25519 "\0x", sizeof(ED25519 "\0x") - 1, "it is no public key of OpenSSH");
	refused("-----BEGIN OPENSSH PRIVATE KEY-----", 35, "it is a private key");
}

static void read_back(const char *content, const char *wanted, const char *text)
{
	char path[] = "/tmp/box-ssh-test.XXXXXX";
	_cleanup_ssh_key_ struct ssh_key key = { 0 };
	struct error err = { 0 };
	int fd = mkstemp(path), ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	(void)close(fd);
	ret = ssh_key_read(path, &key, &err);
	(void)unlink(path);
	if (wanted) {
		assert_ok(ret, &err);
		assert_string_equal(key.text, wanted);
	} else {
		assert_int_equal(ret, -1);
		assert_error(&err, ERROR_INVALID, text);
	}
}

static void test_files(void **state)
{
	(void)state;
	read_back(ED25519 " me\n", ED25519, NULL);
	read_back("# mine\n\n" ED25519, ED25519, NULL);
	read_back("", NULL, "does not hold one public key");
	read_back(ED25519 "\n" ED25519 "\n", NULL, "does not hold one public key");
	read_back("x y\n", NULL, "it is no public key of OpenSSH");
	read_back("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", NULL,
		"is a private key, which stays here; give the public one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_what_is_no_key),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

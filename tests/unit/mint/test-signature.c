/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys are made by gpg for the test, and thrown away; what is tested is run by the real gpgv. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "mint/signature.h"

static const char message[] = "0123  a.img\n- a line that clear-signing escapes\n";
static char folder[] = "/tmp/test-signature.XXXXXX";

static char *path_of(const char *name)
{
	struct error err = { 0 };

	return str_format(&err, "%s/%s", folder, name);
}

static int gpg(const char *const *args, struct str *output)
{
	const char *argv[24] = { "gpg", "--homedir", folder, "--batch", "--quiet", "--yes",
		"--pinentry-mode", "loopback", "--passphrase", "" };
	const struct run run = { .argv = argv, .output = output, .timeout_ms = 60000 };
	struct error err = { 0 };
	size_t n = 10;

	while (*args)
		argv[n++] = *args++;
	argv[n] = NULL;
	if (run_program(&run, NULL, &err) < 0) {
		print_message("%s\n", err.text);
		return -1;
	}
	return 0;
}
#define GPG(output, ...) gpg((const char *const[]){ __VA_ARGS__, NULL }, output)

/* The fingerprint of the key of this user. */
static char *fingerprint(const char *user)
{
	_cleanup_str_ struct str out = STR_INIT;
	struct error err = { 0 };
	const char *at;

	assert_int_equal(GPG(&out, "--with-colons", "--fingerprint", user), 0);
	at = strstr(str_get(&out), "\nfpr:::::::::");
	assert_non_null(at);
	return str_format(&err, "%.40s", at + strlen("\nfpr:::::::::"));
}

static int make_key(const char *user, const char *expires)
{
	return GPG(NULL, "--faked-system-time", "1700000000", "--quick-generate-key", user,
		"ed25519", "sign", expires);
}

static int set_up(void **state)
{
	_cleanup_free_ char *ring = NULL, *text = NULL;
	struct error err = { 0 };

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	ring = path_of("ring.gpg");
	text = path_of("text");
	if (make_key("ours@example.org", "0") < 0 || make_key("other@example.org", "0") < 0 ||
		make_key("old@example.org", "1d") < 0)
		return -1;
	if (file_replace(AT_FDCWD, text, message, strlen(message), 0600, &err) < 0)
		return -1;
	return GPG(NULL, "--output", ring, "--export", "ours@example.org", "old@example.org");
}

static int tear_down(void **state)
{
	const char *const argv[] = { "gpgconf", "--homedir", folder, "--kill", "all", NULL };
	const struct run run = { .argv = argv, .timeout_ms = 30000 };
	struct error err = { 0 };

	(void)state;
	(void)!run_program(&run, NULL, &err);
	error_clear(&err);
	return file_remove_tree(folder, &err);
}

/* What gpg makes of the message: how is "--detach-sign" or "--clear-sign". */
static void sign(const char *how, const char *user, struct str *into)
{
	_cleanup_free_ char *text = path_of("text"), *out = path_of("out");
	struct error err = { 0 };

	assert_int_equal(GPG(NULL, "--faked-system-time", "1700000100", "--local-user", user,
				 "--output", out, how, text),
		0);
	assert_ok(file_read(AT_FDCWD, out, 65536, into, &err), &err);
}

struct fixture {
	struct str text, detached, content;
	char *ring, *key;
	struct signature s;
	struct error err;
};

static struct signature *prepare(struct fixture *f, const char *user)
{
	*f = (struct fixture){ 0 };
	f->ring = path_of("ring.gpg");
	f->key = fingerprint(user);
	f->s = (struct signature){ .keyring = f->ring,
		.key = f->key,
		.folder = folder,
		.what = "SUMS",
		.text = &f->text };
	return &f->s;
}

static void done(struct fixture *f)
{
	str_done(&f->text);
	str_done(&f->detached);
	str_done(&f->content);
	free(f->ring);
	free(f->key);
}

static void assert_refused(struct fixture *f, const char *text)
{
	assert_int_equal(signature_check(&f->s, &f->content, &f->err), -1);
	assert_error(&f->err, ERROR_INVALID, text);
}

static void test_clear_signed(void **state)
{
	struct fixture f;

	(void)state;
	prepare(&f, "ours@example.org");
	sign("--clear-sign", "ours@example.org", &f.text);
	assert_true(signature_is_inline(&f.text));
	assert_ok(signature_check(&f.s, &f.content, &f.err), &f.err);
	assert_string_equal(str_get(&f.content), message);
	/* what is outside of the signature is no part of the text */
	str_clear(&f.content);
	str_append(&f.text, "4567  a.img\n");
	if (signature_check(&f.s, &f.content, &f.err) == 0)
		assert_string_equal(str_get(&f.content), message);
	done(&f);
}

static void test_signed_apart(void **state)
{
	struct fixture f;

	(void)state;
	prepare(&f, "ours@example.org")->detached = &f.detached;
	sign("--detach-sign", "ours@example.org", &f.detached);
	str_append(&f.text, message);
	assert_false(signature_is_inline(&f.text));
	assert_ok(signature_check(&f.s, &f.content, &f.err), &f.err);
	assert_string_equal(str_get(&f.content), message);
	/* one letter */
	f.text.data[0] = '9';
	assert_refused(&f, "was changed after it was signed");
	done(&f);
}

static void test_other_keys_do_not_count(void **state)
{
	struct fixture f;

	(void)state;
	prepare(&f, "ours@example.org");
	sign("--clear-sign", "other@example.org", &f.text);
	assert_refused(&f, "is signed by a key that is not in");
	done(&f);
	/* in the keyring, and not the one that was pinned */
	prepare(&f, "other@example.org");
	sign("--clear-sign", "ours@example.org", &f.text);
	assert_refused(&f, "is not signed by the key that the template names");
	done(&f);
	prepare(&f, "old@example.org");
	sign("--clear-sign", "old@example.org", &f.text);
	assert_refused(&f, "has expired or was revoked");
	done(&f);
}

static void test_no_signature_at_all(void **state)
{
	struct fixture f;

	(void)state;
	prepare(&f, "ours@example.org")->detached = &f.detached;
	str_append(&f.text, message);
	str_append(&f.detached, "<html>log in</html>");
	assert_refused(&f, "'SUMS' has no signature");
	done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear_signed),
		cmocka_unit_test(test_signed_apart),
		cmocka_unit_test(test_other_keys_do_not_count),
		cmocka_unit_test(test_no_signature_at_all),
	};

	if (access("/usr/bin/gpg", X_OK) < 0 || access("/usr/bin/gpgv", X_OK) < 0) {
		(void)fputs("skipped: needs gpg and gpgv\n", stderr);
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

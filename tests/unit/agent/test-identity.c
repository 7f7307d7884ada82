/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On a copy of the files concerned; what changes the running kernel is tested in a guest (tests/vm). */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/identity-item.h"
#include "agent/identity.h"
#include "base/fd.h"
#include "tests/unit/agent/root.h"

#define OLD_ID "11111111111111111111111111111111"

/* Given; "" when there is no such file. */
static char *get(const char *path)
{
	_cleanup_free_ char *name = below(path);
	struct str text = STR_INIT;
	struct error err = { 0 };

	if (file_read(AT_FDCWD, name, 65536, &text, &err) < 0)
		str_clear(&text);
	error_clear(&err);
	return str_take(&text, &err);
}

static void check(const char *path, const char *wanted)
{
	_cleanup_free_ char *now = get(path);

	assert_string_equal(now, wanted);
}

static bool has(const char *path)
{
	_cleanup_free_ char *name = below(path);
	struct stat st;

	return lstat(name, &st) == 0;
}

static void machine(const char *uuid, const char *serial)
{
	put("/sys/class/dmi/id/product_uuid", uuid);
	put("/sys/class/dmi/id/product_serial", serial);
}

static int setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/test-identity.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/etc/hostname", "golden\n");
	put("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1\tgolden golden.local\n10.0.0.1 other\n");
	put("/etc/ssh/sshd_config", "");
	put("/etc/machine-id", OLD_ID "\n");
	machine("AAAAAAAA-2222-3333-4444-555555555555\n", "ds=nocloud;i=iid-one;h=one\n");
	return 0;
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(root, &err);
}

static void test_first_boot_of_a_golden(void **state)
{
	struct error err = { 0 };
	_cleanup_free_ char *record = NULL, *key = NULL;

	(void)state;
	assert_ok(identity_boot(root, &err), &err);
	check("/etc/hostname", "one\n");
	check("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 one\n10.0.0.1 other\n");
	check("/etc/machine-id", OLD_ID "\n"); /* systemd has made it for this boot */
	assert_true(has("/etc/ssh/ssh_host_ed25519_key"));
	assert_true(has("/etc/ssh/ssh_host_ed25519_key.pub"));
	assert_true(has("/var/lib/systemd/random-seed"));
	record = get("/var/lib/box/identity");
	assert_non_null(strstr(record, "uuid=aaaaaaaa-2222-3333-4444-555555555555\n"));
	assert_non_null(strstr(record, "made-for=mint\n"));
	/* The next boot of the same machine changes nothing. */
	key = get("/etc/ssh/ssh_host_ed25519_key");
	put("/etc/hostname", "changed by its user\n");
	assert_ok(identity_boot(root, &err), &err);
	check("/etc/hostname", "changed by its user\n");
	check("/etc/ssh/ssh_host_ed25519_key", key);
	check("/var/lib/box/identity", record);
}

static void test_first_boot_of_a_clone(void **state)
{
	struct error err = { 0 };
	_cleanup_free_ char *key = NULL, *seed = NULL, *record = NULL, *id = NULL, *link = NULL;
	char target[128] = { 0 };

	(void)state;
	assert_ok(identity_boot(root, &err), &err);
	key = get("/etc/ssh/ssh_host_ed25519_key");
	seed = get("/var/lib/systemd/random-seed");
	put("/etc/ssh/ssh_host_rsa_key", "old");
	put("/var/lib/dbus/machine-id", OLD_ID "\n");
	put("/var/lib/cloud/data/instance-id", "iid-one\n");
	put("/var/lib/cloud/instances/iid-one/sem/config_scripts_user", "done");
	link = below("/var/lib/cloud/instance");
	assert_int_equal(symlink("/var/lib/cloud/instances/iid-one", link), 0);
	machine("bbbbbbbb-2222-3333-4444-555555555555\n", "ds=nocloud;i=iid-two;h=two\n");
	assert_ok(identity_boot(root, &err), &err);
	check("/etc/hostname", "two\n");
	id = get("/etc/machine-id");
	id[32] = 0;
	assert_true(identity_machine_id_valid(id));
	assert_string_not_equal(id, OLD_ID);
	assert_int_equal(id[12], '4');
	{
		_cleanup_free_ char *dbus = get("/var/lib/dbus/machine-id"),
				    *key_now = get("/etc/ssh/ssh_host_ed25519_key"),
				    *seed_now = get("/var/lib/systemd/random-seed");

		dbus[32] = 0;
		assert_string_equal(dbus, id);
		assert_string_not_equal(key_now, key);
		assert_memory_not_equal(seed_now, seed, 64);
	}
	assert_false(has("/etc/ssh/ssh_host_rsa_key"));
	/* What was done once for the source counts for the clone. */
	assert_true(has("/var/lib/cloud/instances/iid-two/sem/config_scripts_user"));
	assert_false(has("/var/lib/cloud/instances/iid-one"));
	check("/var/lib/cloud/data/instance-id", "iid-two\n");
	assert_true(readlink(link, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/var/lib/cloud/instances/iid-two");
	record = get("/var/lib/box/identity");
	assert_non_null(strstr(record, "uuid=bbbbbbbb-2222-3333-4444-555555555555\n"));
	assert_non_null(strstr(record, "made-for=clone\n"));
}

/* A failure is told, and is not recorded as done. */
static void test_a_failure_is_tried_again(void **state)
{
	struct error err = { 0 };

	(void)state;
	machine("aaaaaaaa-2222-3333-4444-555555555555\n", "ds=nocloud;i=iid-one;h=-bad-\n");
	assert_int_equal(identity_boot(root, &err), -1);
	assert_error(&err, ERROR_USAGE, "hostname: ");
	assert_false(has("/var/lib/box/identity"));
	error_clear(&err);
	machine("aaaaaaaa-2222-3333-4444-555555555555\n", "ds=nocloud;i=iid-one;h=good\n");
	assert_ok(identity_boot(root, &err), &err);
	check("/etc/hostname", "good\n");
}

static void test_no_machine(void **state)
{
	_cleanup_free_ char *name = below("/sys/class/dmi/id/product_uuid");
	struct error err = { 0 };

	(void)state;
	assert_int_equal(unlink(name), 0);
	assert_int_equal(identity_boot(root, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot tell which machine this is");
}

/* An IDENTITY request of one item; the answer's first VALUE or ERROR, given, after "=" or "!". */
static char *apply(const char *name, const char *value)
{
	_cleanup_str_ struct str request = STR_INIT, answer = STR_INIT;
	struct error err = { 0 };
	struct field_reader r;
	struct field f;

	field_put_text(&request, FIELD_NAME, name);
	field_put_text(&request, FIELD_VALUE, value);
	if (identity_apply(root, request.data, request.len, &answer, &err) < 0)
		return str_format(&err, "refused: %s", err.text);
	r = (struct field_reader){ (uint8_t *)answer.data, (uint8_t *)answer.data + answer.len };
	while (field_next(&r, &f, &err) > 0) {
		if (f.tag != FIELD_NAME)
			return str_format(&err, "%c%.*s", f.tag == FIELD_VALUE ? '=' : '!',
				(int)f.len, (const char *)f.bytes);
	}
	return NULL;
}

static void test_items(void **state)
{
	static const struct {
		const char *name, *value, *wanted;
	} rows[] = {
		{ "hostname", "three", "=three" },
		{ "hostname", "a b", "!hostname: " },
		{ "hostname", "", "!hostname: " },
		{ "machine-id", "22222222222222222222222222222222",
			"=22222222222222222222222222222222" },
		{ "machine-id", "00000000000000000000000000000000",
			"!machine-id: not 32 lower-case hex digits" },
		{ "machine-id", "2222222222222222222222222222222G", "!machine-id: not 32" },
		{ "instance-id", "iid-3", "=iid-3" },
		{ "instance-id", "../../etc", "!instance-id: not an instance-id" },
		{ "instance-id", "", "!instance-id: not an instance-id" },
		{ "seed", "00", "!seed: not 32 to 512 bytes in hex" },
		{ "seed", "zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
			"!seed: not 32" },
		{ "seed", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
			"=credited" },
		{ "clock", "1700000000.25", "=1700000000.250000000" },
		{ "clock", "yesterday", "!clock: not seconds since 1970" },
		{ "clock", "-5", "!clock: not seconds since 1970" },
		{ "ssh-host-keys", "old", "!ssh-host-keys: only 'new' can be asked for" },
		{ "ssh-host-keys", "new", "=ssh-ed25519 " },
		{ "mac", "52:54:00", "!mac: " },
		{ "address", "999.1.1.1", "!address: " },
		{ "uuid", "not-one", "!uuid: not a UUID" },
		{ "shoe-size", "44", "refused: there is no identity item of that name" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_free_ char *answer = apply(rows[i].name, rows[i].value);

		if (!answer || !str_starts(answer, rows[i].wanted))
			fail_msg("%s=%s: got '%s', wanted '%s'", rows[i].name, rows[i].value,
				answer, rows[i].wanted);
	}
}

/* How long each took is behind its value. */
static void test_times(void **state)
{
	_cleanup_str_ struct str request = STR_INIT, answer = STR_INIT;
	struct error err = { 0 };
	struct field_reader r;
	struct field f;
	char last[64] = "", taken[64] = "";

	(void)state;
	field_put_text(&request, FIELD_NAME, "hostname");
	field_put_text(&request, FIELD_VALUE, "four");
	assert_ok(identity_apply(root, request.data, request.len, &answer, &err), &err);
	r = (struct field_reader){ (uint8_t *)answer.data, (uint8_t *)answer.data + answer.len };
	while (field_next(&r, &f, &err) > 0)
		(void)snprintf(f.tag == FIELD_NAME ? last : taken, sizeof(last), "%.*s", (int)f.len,
			(const char *)f.bytes);
	assert_string_equal(last, "usec.hostname");
	assert_true(*taken && strspn(taken, "0123456789") == strlen(taken));
}

static void test_malformed_requests(void **state)
{
	_cleanup_str_ struct str answer = STR_INIT, orphan = STR_INIT;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(identity_apply(root, "\x0b\xff\xff\xff", 4, &answer, &err), -1);
	assert_error(&err, ERROR_INVALID, "cut off");
	error_clear(&err);
	field_put_text(&orphan, FIELD_VALUE, "x");
	assert_int_equal(identity_apply(root, orphan.data, orphan.len, &answer, &err), -1);
	assert_error(&err, ERROR_INVALID, "a malformed identity item");
	assert_int_equal(answer.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_boot_of_a_golden, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_boot_of_a_clone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_failure_is_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_items, setup, teardown),
		cmocka_unit_test_setup_teardown(test_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed_requests, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <sys/stat.h>

#include "agent/account.h"
#include "tests/unit/agent/root.h"

static int setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/test-account.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"
			   "short:x:1\n"
			   "odd:x:12x:1:::\n"
			   "dev:x:1000:1000:Dev,,,:/home/dev:/bin/zsh\n"
			   "bare:x:7:8:::\n"
			   "dev:x:1:1::/other:/bin/sh\n");
	put("/etc/group",
		"root:x:0:\nsudo:x:27:dev\ndocker:x:999:other,dev\ndevs:x:5:developer,de\nbroken\ndev:x:1000:dev\n"
		"tty:x:5:\n");
	return 0;
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(root, &err);
}

static void test_account_with_groups(void **state)
{
	_cleanup_(account_done) struct account a = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(account_find(root, "dev", &a, &err), &err);
	assert_int_equal(a.uid, 1000);
	assert_string_equal(a.home, "/home/dev");
	assert_string_equal(a.shell, "/bin/zsh");
	assert_int_equal(a.groups.len, 3);
	assert_int_equal(a.groups.items[0], 1000);
	assert_int_equal(a.groups.items[1], 27);
	assert_int_equal(a.groups.items[2], 999);
}

static void test_account_with_empty_fields(void **state)
{
	_cleanup_(account_done) struct account a = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(account_find(root, "bare", &a, &err), &err);
	assert_string_equal(a.home, "/");
	assert_string_equal(a.shell, "/bin/sh");
}

static void test_no_such_account(void **state)
{
	const char *const names[] = { "nobody-here", "", "short", "odd", "de", "root:x" };
	struct account a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct error err = { 0 };

		assert_int_equal(account_find(root, names[i], &a, &err), -1);
		assert_error(&err, ERROR_NOT_FOUND, "there is no user '");
		assert_null(a.name);
	}
}

static void test_group(void **state)
{
	(void)state;
	assert_int_equal(account_group(root, "tty", 77), 5);
	assert_int_equal(account_group(root, "nogroup", 77), 77);
	assert_int_equal(account_group("/no/such/root", "tty", 77), 77);
}

static void check(const struct text_vec *env, const char *name, const char *value)
{
	const char *now = environment_get(env, name);

	if (value)
		assert_string_equal(now, value);
	else
		assert_null(now);
}

static void test_environment(void **state)
{
	_cleanup_(environment_done) struct text_vec env = VEC_INIT;
	_cleanup_(account_done) struct account a = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(account_find(root, "dev", &a, &err), &err);
	put("/etc/login.defs",
		"# ENV_PATH PATH=/comment\nENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH  \tPATH=/defs/bin:/bin  \n"
		"ENV_PATHX PATH=/wrong\n");
	put("/etc/default/locale", "#LANG=no\nLANG=\"C.UTF-8\"\n  LC_TIME='de_DE.UTF-8'  \n");
	put("/etc/environment", "export EDITOR=vi\nnonsense\n=empty\nQUOTED=\"half\nEMPTY=\n");
	assert_ok(account_environment(root, &a, &env, &err), &err);
	check(&env, "HOME", "/home/dev");
	check(&env, "USER", "dev");
	check(&env, "LOGNAME", "dev");
	check(&env, "SHELL", "/bin/zsh");
	check(&env, "PATH", "/defs/bin:/bin");
	check(&env, "LANG", "C.UTF-8");
	check(&env, "LC_TIME", "de_DE.UTF-8");
	check(&env, "EDITOR", "vi");
	check(&env, "QUOTED", "\"half");
	check(&env, "EMPTY", "");
	check(&env, "nonsense", NULL);
	check(&env, "XDG_RUNTIME_DIR", NULL);
	environment_done(&env);
	/* /etc/environment wins, and root has another PATH. */
	put("/run/user/1000/x", "");
	put("/etc/environment", "PATH=/env/bin\n");
	assert_ok(account_environment(root, &a, &env, &err), &err);
	check(&env, "PATH", "/env/bin");
	check(&env, "XDG_RUNTIME_DIR", "/run/user/1000");
	environment_done(&env);
	account_done(&a);
	put("/etc/environment", "");
	assert_ok(account_find(root, "root", &a, &err), &err);
	assert_ok(account_environment(root, &a, &env, &err), &err);
	check(&env, "PATH", "/sbin:/bin");
}

static void test_environment_set(void **state)
{
	_cleanup_(environment_done) struct text_vec env = VEC_INIT;
	struct error err = { 0 };

	(void)state;
	assert_ok(environment_set(&env, "A=1", &err), &err);
	assert_ok(environment_set(&env, "AB=2", &err), &err);
	assert_ok(environment_set(&env, "A=3=4", &err), &err);
	assert_int_equal(env.len, 2);
	check(&env, "A", "3=4");
	check(&env, "AB", "2");
	environment_unset(&env, "A");
	environment_unset(&env, "B");
	check(&env, "A", NULL);
	assert_int_equal(env.len, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_account_with_groups),
		cmocka_unit_test(test_account_with_empty_fields),
		cmocka_unit_test(test_no_such_account),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_environment_set),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

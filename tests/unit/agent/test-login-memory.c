/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/login-memory.h"
#include "tests/unit/agent/root.h"

static struct account dev = { .name = (char *)"dev",
	.home = (char *)"/home/dev",
	.shell = (char *)"/bin/bash",
	.uid = 1000 };

static int setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/test-login.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/etc/profile", "one\n");
	put("/etc/profile.d/x.sh", "two\n");
	put("/home/dev/.profile", "three\n");
	return 0;
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(root, &err);
}

/* Ask with PATH=/bin before the profile and one wish of the host; what MARK is then, NULL: the profile
 * has to run, and *file is where it writes. */
static const char *ask(const char *wish, int *file)
{
	static char mark[64];
	_cleanup_(environment_done) struct text_vec env = VEC_INIT, request = VEC_INIT;
	struct error err = { 0 };

	assert_ok(environment_set(&env, "PATH=/bin", &err), &err);
	assert_ok(environment_set(&request, wish, &err), &err);
	if (!login_recall(root, &dev, &request, &env, file))
		return NULL;
	(void)snprintf(mark, sizeof(mark), "%s", environment_get(&env, "MARK"));
	assert_null(environment_get(&env, "SHLVL"));
	return mark;
}

static void profile_runs(int file, const char *mark)
{
	static const char rest[] = "PATH=/bin:/sbin\0SHLVL=2";

	assert_true(file >= 5);
	assert_int_equal(write(file, mark, strlen(mark) + 1), strlen(mark) + 1);
	assert_int_equal(write(file, rest, sizeof(rest)), sizeof(rest));
	login_complete(file);
	assert_int_equal(write(file, rest, sizeof(rest)), -1);
}

static void test_a_profile_runs_once(void **state)
{
	int file;

	(void)state;
	assert_null(ask("A=1", &file));
	profile_runs(file, "MARK=first");
	assert_string_equal(ask("A=1", &file), "first");
	assert_int_equal(file, -1);
	assert_string_equal(ask("A=1", &file), "first");
	/* another wish is another environment, and leaves the first one alone */
	assert_null(ask("A=2", &file));
	profile_runs(file, "MARK=second");
	assert_string_equal(ask("A=2", &file), "second");
	assert_string_equal(ask("A=1", &file), "first");
}

static void test_changed_files_are_read_again(void **state)
{
	static const char *const paths[] = { "/etc/hostname", "/etc/machine-id", "/etc/profile",
		"/etc/profile.d/x.sh", "/etc/profile.d/y.sh", "/home/dev/.profile",
		"/home/dev/.bashrc", "/home/dev/.local/bin/tool" };
	int file;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_null(ask("B=1", &file));
		profile_runs(file, "MARK=before");
		assert_string_equal(ask("B=1", &file), "before");
		put(paths[i], "changed\n");
	}
	assert_null(ask("B=1", &file));
}

static void test_what_is_not_complete_is_not_used(void **state)
{
	int file, other;

	(void)state;
	assert_null(ask("C=1", &file));
	assert_int_equal(write(file, "MARK=half", 10), 10);
	/* a second command does not write into the first one's file */
	assert_null(ask("C=1", &other));
	assert_int_equal(other, -1);
	/* an environment without a PATH is none */
	login_complete(file);
	assert_null(ask("C=1", &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_profile_runs_once),
		cmocka_unit_test(test_changed_files_are_read_again),
		cmocka_unit_test(test_what_is_not_complete_is_not_used),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/steps.h"
#include "base/str.h"

static int do_a(void *ctx, struct error *err)
{
	(void)err;
	str_append(ctx, "+a");
	return 0;
}

static void undo_a(void *ctx)
{
	str_append(ctx, "-a");
}

static int do_b(void *ctx, struct error *err)
{
	(void)err;
	str_append(ctx, "+b");
	return 0;
}

static int do_bad(void *ctx, struct error *err)
{
	(void)ctx;
	return error_set(err, ERROR_NO_SPACE, "pool is full");
}

static const struct step good[] = { { "a", "a", do_a, undo_a }, { "b", NULL, do_b, NULL } };
static const struct step bad[] = { { "a", "a", do_a, undo_a }, { "bad", NULL, do_bad, undo_a } };

static void count_end(const char *op, const struct step *step, uint64_t usec, void *data)
{
	(void)op;
	(void)step;
	(void)usec;
	++*(int *)data;
}

static void test_all_steps_run_and_are_observed(void **state)
{
	_cleanup_str_ struct str log = STR_INIT;
	struct error err = { 0 };
	int ends = 0;
	struct steps_observer observer = { .end = count_end, .data = &ends };

	(void)state;
	assert_ok(steps_run("test", good, 2, &log, &observer, &err), &err);
	assert_string_equal(str_get(&log), "+a+b");
	assert_int_equal(ends, 2);
}

static void test_failure_undoes_what_was_done_and_keeps_the_first_error(void **state)
{
	_cleanup_str_ struct str log = STR_INIT;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(steps_run("test", bad, 2, &log, NULL, &err), -1);
	assert_string_equal(str_get(&log), "+a-a");
	assert_error(&err, ERROR_NO_SPACE, "pool is full");
}

static void test_fault_after_a_step_undoes_it_too(void **state)
{
	_cleanup_str_ struct str log = STR_INIT;
	struct error err = { 0 };

	(void)state;
	setenv("BOX_FAULT", "test.a", 1);
	assert_int_equal(steps_run("test", good, 2, &log, NULL, &err), -1);
	unsetenv("BOX_FAULT");
	assert_string_equal(str_get(&log), "+a-a");
	assert_error(&err, ERROR_FAILED, "fault injected after test.a");
}

static void test_kill_fault_dies_at_once(void **state)
{
	_cleanup_str_ struct str log = STR_INIT;
	struct error err = { 0 };
	int status = 0;
	pid_t pid;

	(void)state;
	setenv("BOX_FAULT", "test.0:kill", 1);
	pid = fork();
	if (pid == 0)
		_exit(steps_run("test", good, 2, &log, NULL, &err) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unsetenv("BOX_FAULT");
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_steps_run_and_are_observed),
		cmocka_unit_test(test_failure_undoes_what_was_done_and_keeps_the_first_error),
		cmocka_unit_test(test_fault_after_a_step_undoes_it_too),
		cmocka_unit_test(test_kill_fault_dies_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

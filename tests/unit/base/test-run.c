/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"

static void test_output_is_captured(void **state)
{
	_cleanup_str_ struct str out = STR_INIT;
	const char *argv[] = { "sh", "-c", "echo hi; cat", NULL };
	struct error err = { 0 };
	int status = 9;

	(void)state;
	assert_ok(run_program(&(struct run){ .argv = argv, .output = &out }, &status, &err), &err);
	assert_string_equal(str_get(&out), "hi\n");
	assert_int_equal(status, 0);
}

static void append_line(const char *bytes, size_t len, void *data)
{
	str_append_char(data, '<');
	str_append_len(data, bytes, len);
	str_append_char(data, '>');
}

static void test_lines_of_output_are_told_as_they_are(void **state)
{
	_cleanup_str_ struct str lines = STR_INIT;
	const char *argv[] = { "printf", "a b\\n\\n\\tc\\nlast", NULL };
	struct run run = { .argv = argv, .out_line = append_line, .data = &lines };
	struct error err = { 0 };

	(void)state;
	assert_ok(run_program(&run, NULL, &err), &err);
	assert_string_equal(str_get(&lines), "<a b><><\tc><last>");
}

static void test_failure_carries_status_and_escaped_tail(void **state)
{
	const char *argv[] = { "sh", "-c", "echo one >&2; printf 'two\\033[0m' >&2; exit 3", NULL };
	struct error err = { 0 };
	int status = 0;

	(void)state;
	assert_int_equal(run_program(&(struct run){ .argv = argv }, &status, &err), -1);
	assert_int_equal(status, 3);
	assert_error(&err, ERROR_FAILED, "'sh' failed with exit status 3: one; two\\x1b[0m");
}

static void test_missing_program_is_not_found(void **state)
{
	const char *argv[] = { "no-such-program-here", NULL };
	struct error err = { 0 };
	int status = 0;

	(void)state;
	assert_int_equal(run_program(&(struct run){ .argv = argv }, &status, &err), -1);
	assert_int_equal(status, -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot start 'no-such-program-here'");
}

static void test_timeout_ends_the_group(void **state)
{
	const char *argv[] = { "sh", "-c", "trap '' TERM; sleep 30 & wait; sleep 30", NULL };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		run_program(&(struct run){ .argv = argv, .timeout_ms = 100 }, NULL, &err), -1);
	assert_error(&err, ERROR_TIMEOUT, "took too long");
}

static void test_signal_is_told(void **state)
{
	const char *argv[] = { "sh", "-c", "kill -9 $$", NULL };
	struct error err = { 0 };
	int status = 0;

	(void)state;
	assert_int_equal(run_program(&(struct run){ .argv = argv }, &status, &err), -1);
	assert_int_equal(status, 137);
	assert_error(&err, ERROR_FAILED, "ended by signal 9");
}

static void test_too_much_output_is_refused(void **state)
{
	_cleanup_str_ struct str out = STR_INIT;
	const char *argv[] = { "head", "-c", "100000", "/dev/zero", NULL };
	struct run run = { .argv = argv, .output = &out, .output_max = 1000 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run_program(&run, NULL, &err), -1);
	assert_error(&err, ERROR_INVALID, "printed more than");
	assert_true(out.len <= 1000);
}

/* The child is ready when its first line comes: then "a signal handler" writes. */
static void interrupt_now(const char *text, void *data)
{
	const uint64_t one = 1;

	if (strcmp(text, "ready") == 0)
		assert_int_equal(write(*(int *)data, &one, sizeof(one)), sizeof(one));
}

static void test_interrupt_lets_the_child_clean_up(void **state)
{
	const char *argv[] = { "sh", "-c",
		"trap 'echo cleaned >&2; exit 3' TERM; echo ready >&2; sleep 60 & wait", NULL };
	_cleanup_close_ int fd = eventfd(0, EFD_CLOEXEC);
	struct run run = { .argv = argv, .interrupt_fd = fd, .line = interrupt_now, .data = &fd };
	struct error err = { 0 };
	int status = 0;

	(void)state;
	assert_int_equal(run_program(&run, &status, &err), -1);
	assert_error(&err, ERROR_INTERRUPTED, "'sh' was interrupted: ready; cleaned");
	assert_int_equal(status, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_is_captured),
		cmocka_unit_test(test_lines_of_output_are_told_as_they_are),
		cmocka_unit_test(test_failure_carries_status_and_escaped_tail),
		cmocka_unit_test(test_missing_program_is_not_found),
		cmocka_unit_test(test_timeout_ends_the_group),
		cmocka_unit_test(test_signal_is_told),
		cmocka_unit_test(test_interrupt_lets_the_child_clean_up),
		cmocka_unit_test(test_too_much_output_is_refused),
	};

	if (under_valgrind()) {
		fprintf(stderr, "skipped: valgrind has no pidfd_open\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

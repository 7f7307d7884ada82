/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "cli/fault.h"

static void test_plain_status_follows_the_kind(void **state)
{
	struct error err = { .kind = ERROR_USAGE };

	(void)state;
	assert_int_equal(fault_status_plain(&err), 2);
	for (int kind = ERROR_FAILED; kind <= ERROR_UNREACHABLE; kind++) {
		err.kind = kind;
		if (kind != ERROR_USAGE)
			assert_int_equal(fault_status_plain(&err), 1);
	}
}

static void test_each_fault_has_its_status(void **state)
{
	(void)state;
	assert_int_equal(fault_status(FAULT_USAGE), 2);
	assert_int_equal(fault_status(FAULT_IMAGE_MISSING), 125);
	assert_int_equal(fault_status(FAULT_BOX_MISSING), 125);
	assert_int_equal(fault_status(FAULT_BOX_STOPPED), 125);
	assert_int_equal(fault_status(FAULT_START_FAILED), 126);
	assert_int_equal(fault_status(FAULT_AGENT_UNREACHABLE), 126);
	assert_int_equal(fault_status(FAULT_NOT_EXECUTABLE), 127);
	assert_int_equal(fault_status(FAULT_NONE), 126);
}

static void assert_line(enum fault fault, const char *text, const char *wanted)
{
	_cleanup_str_ struct str line = STR_INIT;
	struct error err = { 0 };

	error_set(&err, ERROR_FAILED, "%s", text);
	fault_line(fault, &err, &line);
	assert_string_equal(str_get(&line), wanted);
}

static void test_the_line_is_one_line_whatever_the_text_holds(void **state)
{
	(void)state;
	assert_line(FAULT_BOX_MISSING, "no such box: web",
		"box: fault=box-missing detail=\"no such box: web\"\n");
	assert_line(FAULT_NOT_EXECUTABLE, "no \"x\"\nfault=none \x1b]52;c;\a \\",
		"box: fault=not-executable detail=\"no \\\"x\\\"\\x0afault=none \\x1b]52;c;\\x07 \\\\\"\n");
}

static void test_usage_outweighs_the_stage(void **state)
{
	struct error err = { .kind = ERROR_USAGE };

	(void)state;
	assert_int_equal(fault_of(FAULT_BOX_MISSING, &err), FAULT_USAGE);
	err.kind = ERROR_NOT_FOUND;
	assert_int_equal(fault_of(FAULT_BOX_MISSING, &err), FAULT_BOX_MISSING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_status_follows_the_kind),
		cmocka_unit_test(test_each_fault_has_its_status),
		cmocka_unit_test(test_the_line_is_one_line_whatever_the_text_holds),
		cmocka_unit_test(test_usage_outweighs_the_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

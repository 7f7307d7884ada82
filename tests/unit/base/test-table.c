/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/table.h"

static const char *const headings[] = { "NAME", "STATE", "IPV4" };

static void test_columns_are_padded_to_the_widest_cell(void **state)
{
	_cleanup_(table_done) struct table t = TABLE_INIT(headings);
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	table_cell(&t, "web");
	table_cell(&t, "running");
	table_cellf(&t, "10.88.0.%d", 12);
	table_cell(&t, "long-name");
	table_cell(&t, "off");
	table_cell(&t, "");
	assert_ok(table_render(&t, &text, &err), &err);
	assert_string_equal(str_get(&text), "NAME       STATE    IPV4\n"
					    "web        running  10.88.0.12\n"
					    "long-name  off      -\n");
}

static void test_guest_bytes_are_escaped_and_utf8_counts_as_one_column(void **state)
{
	_cleanup_(table_done) struct table t = { .columns = 2 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	table_cell(&t, "\xc3\xa9t\xc3\xa9");
	table_cell(&t, "x");
	table_cell(&t, "\x1b]52;c;\a");
	assert_ok(table_render(&t, &text, &err), &err);
	assert_string_equal(str_get(&text), "\xc3\xa9t\xc3\xa9             x\n"
					    "\\x1b]52;c;\\x07  -\n");
}

static void test_no_rows_is_the_headings_alone(void **state)
{
	_cleanup_(table_done) struct table t = TABLE_INIT(headings);
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	assert_ok(table_render(&t, &text, &err), &err);
	assert_string_equal(str_get(&text), "NAME  STATE  IPV4\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_padded_to_the_widest_cell),
		cmocka_unit_test(test_guest_bytes_are_escaped_and_utf8_counts_as_one_column),
		cmocka_unit_test(test_no_rows_is_the_headings_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table itself: each row complete, names unique; and what is worked out from a row. */
#include "tests/unit/test.h"

#include <ctype.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/command.h"
#include "cli/help.h"

static void assert_is_line(const char *text, const char *of)
{
	if (!text || !*text || text[strlen(text) - 1] == '.' || strchr(text, '\n') ||
		isupper((unsigned char)text[0]) || strlen(text) > 78)
		fail_msg("'%s' of %s is not one short line without capital and full stop",
			text ? text : "", of);
}

static void test_rows_are_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		const struct command *c = &commands[i];

		assert_non_null(c->name);
		assert_non_null(c->args);
		assert_non_null(c->group);
		assert_non_null(c->run);
		assert_is_line(c->summary, c->name);
		assert_true(c->min_args <= c->max_args);
		if (c->needs & CONFIRM)
			assert_is_line(c->confirm, c->name);
		else
			assert_null(c->confirm);
		if (c->needs & TAKES_REST)
			assert_int_equal(c->max_args, ARGS_ANY);
		else
			assert_int_equal(c->own_args, 0);
		if (c->needs & (NEED_BOX | NEED_STOPPED | NEED_RUNNING))
			assert_true((c->needs & NEED_BOX) && c->min_args >= 1);
		if (c->needs & NEED_BOXES)
			assert_true(c->min_args >= 1 && !(c->needs & TAKES_REST));
		for (size_t k = 0; c->options && k < c->options->count; k++) {
			const struct option_row *row = &c->options->rows[k];

			assert_is_line(row->help, row->name);
			assert_int_equal(row->kind != OPTION_FLAG, row->arg != NULL);
			assert_true(row->offset < c->options->size);
			assert_int_equal(row->when, 0);
		}
	}
}

static void test_names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		assert_ptr_equal(command_find(commands[i].name), &commands[i]);
		if (commands[i].alias)
			assert_ptr_equal(command_find(commands[i].alias), &commands[i]);
	}
}

static void test_option_names_are_unique_with_the_general_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		const struct option_table *own = commands[i].options;

		for (size_t k = 0; own && k < own->count; k++) {
			for (size_t m = 0; m < k; m++)
				assert_string_not_equal(own->rows[k].name, own->rows[m].name);
			for (size_t m = 0; m < option_globals.count; m++) {
				assert_string_not_equal(
					own->rows[k].name, option_globals.rows[m].name);
				assert_false(own->rows[k].letter &&
					     own->rows[k].letter == option_globals.rows[m].letter);
			}
		}
	}
}

static void test_groups_stand_together(void **state)
{
	(void)state;
	for (size_t i = 1; i < command_count; i++)
		for (size_t k = 0; k + 1 < i; k++)
			if (str_equal(commands[i].group, commands[k].group))
				assert_string_equal(commands[i - 1].group, commands[i].group);
}

static void test_an_unknown_name_gets_the_nearest(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_null(command_get("vresion", &err));
	assert_error(&err, ERROR_USAGE, "unknown command 'vresion'; did you mean 'version'?");
	assert_null(command_get("HELP", &err));
	assert_error(&err, ERROR_USAGE, "did you mean 'help'?");
	assert_null(command_get("frobnicate", &err));
	assert_error(&err, ERROR_USAGE, "unknown command 'frobnicate'");
	assert_null(strstr(err.text, "did you mean"));
	assert_null(command_get("__complet", &err)); /* hidden names are no suggestion */
	assert_null(strstr(err.text, "did you mean"));
	assert_null(command_get("\x1b]0;x", &err));
	assert_null(strchr(err.text, '\x1b'));
}

static const struct command exec_like = {
	.name = "exec",
	.args = "BOX -- CMD...",
	.min_args = 2,
	.max_args = ARGS_ANY,
	.own_args = 1,
	.needs = TAKES_REST,
};
static const struct command restore_like = {
	.name = "restore",
	.args = "BOX SNAP [X]",
	.min_args = 2,
	.max_args = 3,
};

static void assert_args(
	const struct command *c, size_t count, bool dashes, size_t before, const char *wanted)
{
	const char *args[] = { "a", "b", "c", "d", NULL };
	struct call call = { .args = args, .count = count, .dashes = dashes, .before = before };
	struct error err = { 0 };
	int ret = command_check_args(c, &call, &err);

	if (!wanted) {
		assert_ok(ret, &err);
		return;
	}
	assert_int_equal(ret, -1);
	assert_error(&err, ERROR_USAGE, wanted);
}

static void test_arity_names_the_missing_or_stray_argument(void **state)
{
	(void)state;
	assert_args(&restore_like, 0, false, 0, "BOX is missing: box restore BOX SNAP [X]");
	assert_args(&restore_like, 1, false, 1, "SNAP is missing");
	assert_args(&restore_like, 2, false, 2, NULL);
	assert_args(&restore_like, 3, true, 1, NULL);
	assert_args(&restore_like, 4, false, 4, "unexpected argument 'd'");
	assert_args(&exec_like, 1, false, 1, "CMD is missing: box exec BOX -- CMD...");
	assert_args(&exec_like, 1, true, 1, "CMD is missing");
	assert_args(&exec_like, 2, true, 0, "BOX is missing");
	assert_args(&exec_like, 3, true, 2, "unexpected argument 'b'");
	assert_args(&exec_like, 4, true, 1, NULL);
	assert_args(&exec_like, 4, false, 4, NULL);
}

static void test_help_shows_what_is_not_hidden(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	char line[128];

	(void)state;
	help_overview(&text);
	for (size_t i = 0; i < command_count; i++) {
		snprintf(line, sizeof(line), "\n  %s ", commands[i].name);
		assert_int_equal(
			strstr(str_get(&text), line) != NULL, !(commands[i].needs & HIDDEN));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_complete),
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_option_names_are_unique_with_the_general_ones),
		cmocka_unit_test(test_groups_stand_together),
		cmocka_unit_test(test_an_unknown_name_gets_the_nearest),
		cmocka_unit_test(test_arity_names_the_missing_or_stray_argument),
		cmocka_unit_test(test_help_shows_what_is_not_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The question before what cannot be undone, asked on a pseudo-terminal or where none is. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/session.h"

static const struct command remove_like = {
	.name = "rm",
	.args = "BOX...",
	.confirm = "remove {} and every snapshot",
	.needs = CONFIRM,
};

static const char *const command_line[] = { "box", "rm", "web", "it's", "--no-input", NULL };

/* Standard input and stderr replaced for one question. */
struct stage {
	int saved_in, saved_err;
	int master; /* the terminal's other end; -1 */
	int told; /* what was written to stderr can be read here */
};

static void stage_open(struct stage *st, int in)
{
	int ends[2];

	st->saved_in = dup(STDIN_FILENO);
	st->saved_err = dup(STDERR_FILENO);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	st->told = ends[0];
	assert_true(dup2(in, STDIN_FILENO) >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	(void)close(ends[1]);
	(void)close(in);
}

/* What was told meanwhile; given. */
static char *stage_close(struct stage *st)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)dup2(st->saved_in, STDIN_FILENO);
	(void)dup2(st->saved_err, STDERR_FILENO);
	(void)close(st->saved_in);
	(void)close(st->saved_err);
	assert_ok(fd_read_all(st->told, 1 << 16, &text, "stderr", &err), &err);
	(void)close(st->told);
	if (st->master >= 0)
		(void)close(st->master);
	str_append(&text, "");
	return str_take(&text, &err);
}

/* Ask with this standard input; the answer's return value, and what was told (given). */
static int ask(
	struct stage *st, int in, struct global_options global, char **told, struct error *err)
{
	const char *args[] = { "web", "\x1b[2J", NULL };
	struct call call = { .args = args, .count = 2, .before = 2, .global = global };
	struct session s;
	int ret;

	stage_open(st, in);
	session_init(&s, &remove_like, &call, (char *const *)command_line);
	ret = session_prepare(&s, &call, err);
	session_done(&s);
	*told = stage_close(st);
	return ret;
}

/* A terminal on which this was typed. */
static int terminal(struct stage *st, const char *typed)
{
	int slave;

	assert_int_equal(openpty(&st->master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(write(st->master, typed, strlen(typed)), (ssize_t)strlen(typed));
	return slave;
}

static void assert_answer(const char *typed, int wanted)
{
	struct stage st = { .master = -1 };
	struct error err = { 0 };
	char *told = NULL;
	int ret = ask(
		&st, terminal(&st, typed), (struct global_options){ .quiet = true }, &told, &err);

	if (ret != wanted)
		fail_msg("'%s' gave %d: %s", typed, ret, err.text);
	assert_non_null(strstr(told,
		"box: remove web, \\x1b[2J and every snapshot? this cannot be undone. [y/N] "));
	if (wanted < 0)
		assert_error(&err, ERROR_FAILED, "aborted");
	free(told);
}

static void test_only_a_clear_yes_goes_on(void **state)
{
	static const char *const yes[] = { "y\n", "Y\n", "yes\n", "YES\n", "Yes\n" };
	static const char *const no[] = { "n\n", "\n", "yeah\n", "yy\n", " y\n", "no\n", "\x04",
		"y\x04\x04" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		assert_answer(yes[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_answer(no[i], -1);
}

static int null_input(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void test_without_a_terminal_the_act_is_refused_by_name(void **state)
{
	struct stage st = { .master = -1 };
	struct error err = { 0 };
	char *told = NULL;

	(void)state;
	assert_int_equal(ask(&st, null_input(), (struct global_options){ 0 }, &told, &err), -1);
	assert_error(&err, ERROR_USAGE,
		"refusing to remove web, \\x1b[2J and every snapshot: standard input is no terminal");
	assert_string_equal(told, "");
	free(told);
}

static void test_no_input_prints_the_command_that_would_answer(void **state)
{
	struct stage st = { .master = -1 };
	struct error err = { 0 };
	char *told = NULL;
	int in = terminal(&st, "y\n");

	(void)state;
	assert_int_equal(
		ask(&st, in, (struct global_options){ .no_input = true }, &told, &err), -1);
	assert_error(&err, ERROR_USAGE, "to say yes: box rm --force web 'it'\\''s'");
	assert_string_equal(told, "");
	free(told);
}

static void test_force_asks_nobody(void **state)
{
	struct stage st = { .master = -1 };
	struct error err = { 0 };
	char *told = NULL;

	(void)state;
	assert_ok(ask(&st, null_input(), (struct global_options){ .force = true, .no_input = true },
			  &told, &err),
		&err);
	assert_string_equal(told, "");
	free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_clear_yes_goes_on),
		cmocka_unit_test(test_without_a_terminal_the_act_is_refused_by_name),
		cmocka_unit_test(test_no_input_prints_the_command_that_would_answer),
		cmocka_unit_test(test_force_asks_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

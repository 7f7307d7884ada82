/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion against the real table, for the commands that are always there. */
#include "tests/unit/test.h"

#include "base/str.h"
#include "cli/command.h"
#include "cli/complete.h"

#define WORDS(...) ((const char *[]){ __VA_ARGS__, NULL })

/* The candidates for the last word, given. */
static char *complete(const char *const *words)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	size_t count = 0;

	while (words[count])
		count++;
	complete_words(words, count, NULL, &text);
	str_append(&text, "");
	return str_take(&text, &err);
}

static void assert_candidates(const char *const *words, const char *wanted)
{
	_cleanup_free_ char *text = complete(words);

	assert_string_equal(text, wanted);
}

static void test_commands_come_first_and_hidden_ones_never(void **state)
{
	_cleanup_free_ char *all = complete(WORDS(""));

	(void)state;
	assert_non_null(strstr(all, "version\tprint the version\n"));
	assert_null(strstr(all, "__complete"));
	assert_candidates(WORDS("vers"), "version\tprint the version\n");
	assert_candidates(WORDS("nothing-like-it"), "");
	assert_candidates(WORDS("nothing-like-it", ""), "");
	assert_candidates(WORDS("__complete", ""), "");
}

static void test_arguments_by_their_place(void **state)
{
	(void)state;
	assert_candidates(WORDS("completion", ""), "bash\nzsh\nfish\n");
	assert_candidates(WORDS("completion", "--quiet", "z"), "zsh\n");
	assert_candidates(WORDS("completion", "bash", ""), "");
	assert_candidates(
		WORDS("help", "completio"), "completion\tprint a completion script for a shell\n");
	assert_candidates(WORDS("completion", "--", "f"), "fish\n");
}

static void test_options_that_the_command_takes(void **state)
{
	_cleanup_free_ char *all = complete(WORDS("version", "--"));

	(void)state;
	assert_non_null(strstr(all, "--json\t"));
	assert_null(strstr(all, "--force"));
	assert_candidates(WORDS("version", "--js"), "--json\tprint JSON for programs\n");
	assert_candidates(WORDS("version", "--", "--js"), "");
}

static void test_the_value_of_an_option_is_no_argument(void **state)
{
	(void)state;
	assert_candidates(WORDS("completion", "--connect", ""), "");
	assert_candidates(WORDS("completion", "--connect", "uri", "ba"), "bash\n");
	assert_candidates(WORDS("completion", "--connect=uri", "ba"), "bash\n");
	assert_candidates(WORDS("completion", "--connect", "=", "uri", "ba"), "bash\n"); /* bash */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_come_first_and_hidden_ones_never),
		cmocka_unit_test(test_arguments_by_their_place),
		cmocka_unit_test(test_options_that_the_command_takes),
		cmocka_unit_test(test_the_value_of_an_option_is_no_argument),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

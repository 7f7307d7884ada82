/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "cli/command.h"
#include "cli/option.h"

struct values {
	const char *text, *name, *label;
	uint64_t number, size, duration;
	bool flag;
};

static const struct option_row rows[] = {
	{ .name = "text",
		.letter = 't',
		.arg = "T",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct values, text) },
	{ .name = "name",
		.arg = "N",
		.kind = OPTION_NAME,
		.offset = offsetof(struct values, name) },
	{ .name = "label",
		.arg = "L",
		.kind = OPTION_LABEL,
		.offset = offsetof(struct values, label) },
	{ .name = "number",
		.arg = "N",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct values, number) },
	{ .name = "size",
		.arg = "S",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct values, size) },
	{ .name = "time",
		.arg = "D",
		.kind = OPTION_DURATION,
		.offset = offsetof(struct values, duration) },
	{ .name = "flag", .kind = OPTION_FLAG, .offset = offsetof(struct values, flag) },
};
static const struct option_table table = OPTION_TABLE(struct values, rows);
static const struct option_rules plain = { .own = &table };
static const struct option_rules rest = { .own = &table, .takes_rest = true, .own_args = 1 };

/* Parse words that end with NULL. */
static int parse(const struct option_rules *rules, const char *const *words, struct call *ret,
	struct error *err)
{
	size_t count = 0;

	while (words[count])
		count++;
	return options_parse(rules, words, count, ret, err);
}
#define WORDS(...) ((const char *[]){ __VA_ARGS__, NULL })

static void test_each_kind_is_read_into_its_member(void **state)
{
	_cleanup_(call_done) struct call call = { 0 };
	const struct values *v;
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(&plain,
			  WORDS("a", "--text", "x y", "--name=web", "--label", "L.1", "--number=7",
				  "--size", "2GiB", "--time=5m", "--flag", "b"),
			  &call, &err),
		&err);
	v = call.options;
	assert_string_equal(v->text, "x y");
	assert_string_equal(v->name, "web");
	assert_string_equal(v->label, "L.1");
	assert_int_equal(v->number, 7);
	assert_int_equal(v->size, 2ull << 30);
	assert_int_equal(v->duration, 300000);
	assert_true(v->flag);
	assert_int_equal(call.count, 2);
	assert_string_equal(call.args[0], "a");
	assert_string_equal(call.args[1], "b");
	assert_null(call.args[2]);
	assert_false(call.dashes);
	assert_int_equal(call.before, 2);
}

static void test_dashes_end_options_and_a_single_dash_is_an_argument(void **state)
{
	_cleanup_(call_done) struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(
		parse(&plain, WORDS("-", "--", "--flag", "--", "-q", "--help"), &call, &err), &err);
	assert_int_equal(call.count, 5);
	assert_int_equal(call.before, 1);
	assert_true(call.dashes);
	assert_string_equal(call.args[1], "--flag");
	assert_string_equal(call.args[2], "--");
	assert_false(((struct values *)call.options)->flag);
	assert_false(call.global.quiet);
	assert_false(call.global.help);
}

static void test_letters_and_the_last_of_a_repeated_option_count(void **state)
{
	_cleanup_(call_done) struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(&plain, WORDS("-t", "one", "-q", "-t", "two"), &call, &err), &err);
	assert_string_equal(((struct values *)call.options)->text, "two");
	assert_true(call.global.quiet);
}

static void test_what_is_asked_wrong_names_the_word(void **state)
{
	static const struct {
		const char *words[4];
		const char *text;
	} bad[] = {
		{ { "--flg" }, "unknown option '--flg'; did you mean '--flag'?" },
		{ { "--tex=secret" }, "unknown option '--tex'; did you mean '--text'?" },
		{ { "-x" }, "unknown option '-x'" },
		{ { "-qf" }, "unknown option '-qf'" },
		{ { "--\x1b[2J" }, "unknown option '--\\x1b[2J'" },
		{ { "--flag=yes" }, "option '--flag' takes no value" },
		{ { "--text" }, "option '--text' needs a value: --text T" },
		{ { "--text", "--flag" }, "option '--text' needs a value: --text T" },
		{ { "--text=" }, "option '--text' needs a value: --text T" },
		{ { "--text", "" }, "option '--text' needs a value: --text T" },
		{ { "--number", "0" }, "--number" },
		{ { "--number=-1" }, "--number" },
		{ { "--size", "20" }, "--size" },
		{ { "--time", "soon" }, "--time" },
		{ { "--name", "All_" }, "--name" },
		{ { "--label", "a/b" }, "--label" },
		{ { "--json" }, "unknown option '--json'" },
		{ { "--force" }, "unknown option '--force'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(call_done) struct call call = { 0 };
		struct error err = { 0 };

		assert_int_equal(parse(&plain, bad[i].words, &call, &err), -1);
		assert_error(&err, ERROR_USAGE, bad[i].text);
		assert_null(call.args);
	}
}

static void test_needs_decide_which_general_options_there_are(void **state)
{
	const struct option_rules rules = { .needs = CONFIRM | TAKES_JSON };
	_cleanup_(call_done) struct call call = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(&rules, WORDS("-f", "--json", "--connect=test:///default", "--no-input"),
			  &call, &err),
		&err);
	assert_true(call.global.force && call.global.json && call.global.no_input);
	assert_string_equal(call.global.connect, "test:///default");
	assert_null(call.options);
}

static void test_help_is_seen_before_anything_is_wrong(void **state)
{
	_cleanup_(call_done) struct call call = { 0 }, after = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(&plain, WORDS("--size", "20", "--nonsense", "--help"), &call, &err), &err);
	assert_true(call.global.help);
	assert_ok(
		parse(&rest, WORDS("web", "--", "ls", "--help", "--version"), &after, &err), &err);
	assert_false(after.global.help || after.global.version);
	assert_int_equal(after.count, 4);
}

static void test_words_of_another_program_need_dashes_before_its_options(void **state)
{
	_cleanup_(call_done) struct call call = { 0 }, bare = { 0 }, wrong = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(&rest, WORDS("web", "--flag", "--", "ls", "-l", ""), &call, &err), &err);
	assert_int_equal(call.before, 1);
	assert_int_equal(call.count, 4);
	assert_string_equal(call.args[3], "");
	assert_ok(parse(&rest, WORDS("--flag", "web", "ls", "/"), &bare, &err), &err);
	assert_int_equal(bare.count, 3);
	assert_int_equal(parse(&rest, WORDS("web", "ls", "-l"), &wrong, &err), -1);
	assert_error(&err, ERROR_USAGE,
		"'-l' comes after the first word of the command to run; put '--'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_is_read_into_its_member),
		cmocka_unit_test(test_dashes_end_options_and_a_single_dash_is_an_argument),
		cmocka_unit_test(test_letters_and_the_last_of_a_repeated_option_count),
		cmocka_unit_test(test_what_is_asked_wrong_names_the_word),
		cmocka_unit_test(test_needs_decide_which_general_options_there_are),
		cmocka_unit_test(test_help_is_seen_before_anything_is_wrong),
		cmocka_unit_test(test_words_of_another_program_need_dashes_before_its_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

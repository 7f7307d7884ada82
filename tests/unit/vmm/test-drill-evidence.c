/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "tests/unit/vmm/drill-world.h"

static struct drill_world world;
static struct drill_plan plan;

static int setup(void **state)
{
	(void)state;
	world_make(&world);
	plan_make(&world, NULL, false, &plan);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	drill_plan_done(&plan);
	drill_world_done(&world);
	return 0;
}

/* The first item of a claim with this want. */
static struct drill_item *item_of(enum drill_want want)
{
	vec_foreach(struct drill_item, item, &plan.items) {
		if (!item->control && drill_item_probe(item)->want == want)
			return item;
	}
	fail_msg("no item wants %d", (int)want);
	return NULL;
}

static void test_lines_become_answers(void **state)
{
	static const struct {
		enum drill_want want;
		const char *line;
		enum drill_answer answer;
	} cases[] = {
		{ WANT_SILENCE, "open", ANSWER_OPEN },
		{ WANT_SILENCE, "open 52:54:00:00:00:0b", ANSWER_OPEN },
		{ WANT_SILENCE, "refused", ANSWER_REFUSED },
		{ WANT_SILENCE, "silent", ANSWER_SILENT },
		{ WANT_SILENCE, "sent 60", ANSWER_SENT },
		{ WANT_SILENCE, "unreachable", ANSWER_NEAR },
		{ WANT_SILENCE, "unreachable 10.88.0.1", ANSWER_NEAR },
		{ WANT_SILENCE, "unreachable 10.88.0.2", ANSWER_NEAR },
		{ WANT_SILENCE, "unreachable 10.20.30.40", ANSWER_FAR },
		{ WANT_SILENCE, "openly", ANSWER_FAILED },
		{ WANT_SILENCE, "", ANSWER_FAILED },
		{ WANT_SILENCE, "box-probe: cannot open a socket", ANSWER_FAILED },
		{ WANT_NO_NAME, "open NXDOMAIN", ANSWER_NO_NAME },
		{ WANT_NO_NAME, "open NOERROR", ANSWER_NO_NAME },
		{ WANT_NO_NAME, "open REFUSED", ANSWER_NO_NAME },
		{ WANT_NO_NAME, "open NOERROR 10.88.0.3", ANSWER_NAME },
		{ WANT_NO_NAME, "silent", ANSWER_SILENT },
		{ WANT_NAME, "open NOERROR 203.0.113.80", ANSWER_NAME },
		{ WANT_PINNED, "open NXDOMAIN", ANSWER_NO_NAME },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct drill_item *item = item_of(cases[i].want);

		item->answer = ANSWER_NONE;
		drill_take_line(&world, item, cases[i].line);
		if (item->answer != cases[i].answer)
			fail_msg("'%s' is %d, wanted %d", cases[i].line, (int)item->answer,
				(int)cases[i].answer);
	}
}

static void test_the_first_line_is_the_answer(void **state)
{
	struct drill_item *item = item_of(WANT_SILENCE);

	(void)state;
	drill_take_line(&world, item, "open");
	drill_take_line(&world, item, "silent");
	drill_take_end(item, 0);
	assert_int_equal(item->answer, ANSWER_OPEN);
}

static void test_an_end_without_a_line_is_a_failure(void **state)
{
	struct drill_item *item = item_of(WANT_SILENCE);

	(void)state;
	drill_take_end(item, 127);
	assert_int_equal(item->answer, ANSWER_FAILED);
	assert_string_equal(item->text, "the probe ended with status 127");
}

static void test_texts_are_made_harmless_and_cut(void **state)
{
	struct drill_item *item = item_of(WANT_SILENCE);
	char line[4096];

	(void)state;
	drill_take_line(&world, item, "x\x1b]52;c;AAAA\x07\r");
	assert_null(strpbrk(item->text, "\x1b\x07\r"));
	item->answer = ANSWER_NONE;
	memset(line, 'y', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	drill_take_line(&world, item, line);
	assert_int_equal(strlen(item->text), DRILL_TEXT_MAX - 1);
}

static void scan(struct drill_item *item, const char *const *lines, unsigned status)
{
	item->answer = ANSWER_NONE;
	item->text[0] = '\0';
	for (; *lines; lines++)
		drill_take_line(&world, item, *lines);
	drill_take_end(item, status);
}

static void test_scans(void **state)
{
	struct drill_item *item = item_of(WANT_CLEAN);

	(void)state;
	scan(item, (const char *[]){ "selftest ok", "scanned 9", NULL }, 0);
	assert_int_equal(item->answer, ANSWER_YES);
	scan(item, (const char *[]){ "selftest ok", "scanned 0", NULL }, 0);
	assert_int_equal(item->answer, ANSWER_UNSEEN);
	scan(item, (const char *[]){ "selftest ok", "blind /root", "scanned 9", NULL }, 0);
	assert_int_equal(item->answer, ANSWER_UNSEEN);
	scan(item,
		(const char *[]){ "selftest ok", "blind /x", "found /root/.netrc a login",
			"scanned 9", NULL },
		0);
	assert_int_equal(item->answer, ANSWER_NO);
	assert_string_equal(item->text, "/root/.netrc a login");
	scan(item, (const char *[]){ "box-probe: the made-up token was not found", NULL }, 1);
	assert_int_equal(item->answer, ANSWER_FAILED);
	assert_non_null(strstr(item->text, "made-up token"));
	scan(item, (const char *[]){ "selftest ok", "scanned 9", NULL }, 137);
	assert_int_equal(item->answer, ANSWER_FAILED);
	scan(item, (const char *[]){ "selftest ok", NULL }, 0);
	assert_int_equal(item->answer, ANSWER_FAILED);
}

static bool sight(enum drill_place place, const char *line)
{
	return drill_take_sight(&world, &plan, place, line);
}

static void test_sights(void **state)
{
	struct drill_item *item = &plan.items.items[4];

	(void)state;
	assert_true(sight(DRILL_HOST, "seen bxtaaaaaaaa in 0800 52:54:00:00:00:0a 02:62:6f:78:00:01"
				      " 10.88.0.2 1.1.1.1 bxd0123x0005"));
	assert_int_equal(item->sight_count, 1);
	assert_int_equal(item->sights[0].where, WHERE_WIRE);
	assert_string_equal(item->sights[0].iface, "bxtaaaaaaaa");
	assert_false(item->sights[0].out);
	assert_int_equal(item->sights[0].source, 0x0a580002);
	assert_int_equal(item->sights[0].dest, 0x01010101);
	assert_true(sight(DRILL_HOST, "seen local udp 10.88.0.2 bxd0123x0005"));
	assert_true(drill_item_seen(item, WHERE_LOCAL));
	assert_false(drill_item_seen(item, WHERE_B));
	assert_true(sight(DRILL_B, "seen eth0 in 88b5 a b - - bxd0123x0005"));
	assert_true(drill_item_seen(item, WHERE_B));
}

static void test_lines_that_are_no_sight(void **state)
{
	(void)state;
	assert_false(sight(DRILL_HOST, "ready"));
	assert_false(sight(DRILL_HOST, "seen"));
	assert_false(sight(DRILL_HOST, "seen eth0 in 0800 a b - -"));
	assert_false(sight(DRILL_HOST, "seen eth0 in 0800 a b - - bxd0123xzzzz"));
	assert_false(sight(DRILL_B, "seen eth0 out 0800 a b - - bxd0123x0005"));
	/* A box cannot say what the host's own stack was given. */
	assert_false(sight(DRILL_B, "seen local udp 10.88.0.2 bxd0123x0005"));
	assert_int_equal(plan.items.items[4].sight_count, 0);
}

static void test_sights_are_bounded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		char line[128];

		(void)snprintf(line, sizeof(line), "seen eth%u in 0800 a b - - bxd0123x0005", i);
		assert_true(sight(DRILL_HOST, line));
		assert_true(sight(DRILL_HOST, line));
	}
	assert_int_equal(plan.items.items[4].sight_count, DRILL_SIGHTS_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines_become_answers),
		TEST(test_the_first_line_is_the_answer),
		TEST(test_an_end_without_a_line_is_a_failure),
		TEST(test_texts_are_made_harmless_and_cut),
		TEST(test_scans),
		TEST(test_sights),
		TEST(test_lines_that_are_no_sight),
		TEST(test_sights_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

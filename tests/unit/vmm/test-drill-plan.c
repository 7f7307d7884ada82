/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "probe/serve.h"
#include "tests/unit/vmm/drill-world.h"

static struct drill_world world;
static struct drill_plan plan;

static int setup(void **state)
{
	(void)state;
	world_make(&world);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	drill_plan_done(&plan);
	drill_world_done(&world);
	return 0;
}

static void test_every_claim_can_be_planned(void **state)
{
	(void)state;
	plan_make(&world, NULL, false, &plan);
	assert_true(plan.items.len < SERVE_IDS_MAX);
	vec_foreach(const struct drill_item, item, &plan.items) {
		assert_true(item->answer == ANSWER_NONE);
		assert_null(strchr(item->line, '{'));
		assert_true(strlen(item->line) < SERVE_LINE_MAX - 16);
	}
	for (size_t i = 0; i < drill_claim_count; i++) {
		bool planned = false;

		vec_foreach(const struct drill_item, item, &plan.items)
			planned = planned || (!item->control && item->index == i);
		if (!planned)
			fail_msg("nothing is planned for '%s'", drill_claims[i].id);
	}
}

static void test_lines_are_filled_in(void **state)
{
	(void)state;
	plan_make(&world, "peer-routed", false, &plan);
	assert_string_equal(plan.items.items[plan.items.len - 2].line,
		"send eth0 udp smac=52:54:00:00:00:0a dmac=" NET_GATEWAY_MAC
		" sip=10.88.0.2 dip=10.88.0.3 dport=40200 token=bxd0123x000a");
	assert_true(plan.items.items[plan.items.len - 2].token);
}

static void test_neighbours_of_the_host_are_targets(void **state)
{
	unsigned own = 0, neighbour = 0;

	(void)state;
	plan_make(&world, "range-10", false, &plan);
	vec_foreach(const struct drill_item, item, &plan.items) {
		own += strstr(item->line, "10.255.255.254") != NULL;
		neighbour += strstr(item->line, "10.20.30.40") != NULL;
		assert_null(strstr(item->line, "10.20.30.1 "));
	}
	assert_int_equal(own, 4);
	assert_int_equal(neighbour, 4);
}

/* To an address of the host its input rules apply, not the range's. */
static void test_addresses_of_the_host_are_no_targets(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(drill_addresses_push(&world.addresses, 0xc0a80101, &err), &err);
	plan_make(&world, "range-192-168", false, &plan);
	vec_foreach(const struct drill_item, item, &plan.items)
		assert_null(strstr(item->line, "192.168.1.1"));
}

static void test_no_round_moves_one_counter_for_two_claims(void **state)
{
	(void)state;
	plan_make(&world, NULL, false, &plan);
	vec_foreach(const struct drill_item, a, &plan.items) {
		vec_foreach(const struct drill_item, b, &plan.items) {
			if (a->control || b->control || a->round != b->round ||
				a->index == b->index)
				continue;
			for (size_t i = 0; i < DRILL_COUNTERS_MAX; i++) {
				const char *name = drill_claims[a->index].counters[i];

				for (size_t k = 0; name && k < DRILL_COUNTERS_MAX; k++)
					assert_false(str_equal(
						name, drill_claims[b->index].counters[k]));
			}
		}
	}
}

static void test_phases_follow_one_another(void **state)
{
	enum drill_phase last = PHASE_MAIN;
	unsigned round = 0;

	(void)state;
	for (int in_one = 0; in_one < 2; in_one++) {
		plan_make(&world, NULL, in_one, &plan);
		last = PHASE_MAIN;
		round = 0;
		vec_foreach(const struct drill_item, item, &plan.items) {
			assert_true(item->round >= round && item->round < plan.rounds);
			assert_int_equal(item->control, item->round == 0);
			assert_true(drill_plan_phase(&plan, item->round) >= last);
			round = item->round;
			last = drill_plan_phase(&plan, round);
		}
		assert_int_equal(last, PHASE_DOOR_GONE);
		if (in_one)
			assert_int_equal(plan.rounds, 1 + DRILL_PHASES);
		drill_plan_done(&plan);
	}
}

static void test_tokens_lead_back_to_their_items(void **state)
{
	char token[32];

	(void)state;
	plan_make(&world, NULL, false, &plan);
	for (size_t i = 0; i < plan.items.len; i++)
		assert_int_equal(drill_token_item(&world, &plan, drill_token(&world, i, token)), i);
	assert_int_equal(drill_token_item(&world, &plan, "bxd0123x0000"), plan.items.len);
	assert_int_equal(drill_token_item(&world, &plan, "bxd0123xffff"), plan.items.len);
	assert_int_equal(drill_token_item(&world, &plan, "bxd0123x001"), plan.items.len);
	assert_int_equal(drill_token_item(&world, &plan, "bxd0123x 01f"), plan.items.len);
	assert_int_equal(drill_token_item(&world, &plan, "bxd9999x0001"), plan.items.len);
}

static void test_controls_are_those_that_claims_need(void **state)
{
	(void)state;
	plan_make(&world, "one-nic", false, &plan);
	for (unsigned c = 0; c < DRILL_CONTROLS; c++)
		assert_int_equal(plan.controls[c], c == CONTROL_HOST_SEES);
	drill_plan_done(&plan);
	plan_make(&world, "door-open", false, &plan);
	assert_true(plan.controls[CONTROL_B_SERVES]);
	assert_false(plan.controls[CONTROL_A_EGRESS]);
}

static void test_what_only_the_host_knows_is_unseen_elsewhere(void **state)
{
	(void)state;
	world.host = false;
	plan_make(&world, "host-addresses", false, &plan);
	vec_foreach(const struct drill_item, item, &plan.items) {
		if (!item->control)
			assert_int_equal(item->answer, ANSWER_UNSEEN);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_claim_can_be_planned),
		TEST(test_lines_are_filled_in),
		TEST(test_neighbours_of_the_host_are_targets),
		TEST(test_addresses_of_the_host_are_no_targets),
		TEST(test_no_round_moves_one_counter_for_two_claims),
		TEST(test_phases_follow_one_another),
		TEST(test_tokens_lead_back_to_their_items),
		TEST(test_controls_are_those_that_claims_need),
		TEST(test_what_only_the_host_knows_is_unseen_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/golden.h"

#include "net/blocked.h"
#include "net/rules-fields.h"
#include "net/rules.h"

static const struct net_port two_boxes[] = {
	{
		.tap = "bxt01234567",
		.mac = { 0x52, 0x54, 0, 1, 2, 3 },
		.addr = 0x0a580002,
		.doors = { { 8080, 80 }, { 2222, 22 } },
		.n_doors = 2,
	},
	{ .tap = "bxt89abcdef", .mac = { 0x52, 0x54, 0, 1, 2, 4 }, .addr = 0x0a580003 },
};

static void build(bool ibrname, struct ruleset *rs)
{
	struct net_config c;

	net_config_default(&c);
	rules_build(&c, ibrname, rs);
}

static void test_text_without_boxes(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct ruleset rs;

	(void)state;
	build(false, &rs);
	rules_print(&rs, NULL, 0, &text);
	assert_golden("rules/no-boxes.nft", str_get(&text));
}

static void test_text_with_two_boxes_ibrname_and_another_subnet(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct ruleset rs;

	(void)state;
	build(true, &rs);
	rs.config.subnet = 0x0a5f1000;
	rs.config.prefix = 20;
	rules_print(&rs, two_boxes, 2, &text);
	assert_golden("rules/two-boxes-ibrname.nft", str_get(&text));
}

/* Invariants that every row must keep, whoever adds one. */
static void test_every_rule_is_sound(void **state)
{
	struct ruleset rs;

	(void)state;
	build(true, &rs);
	for (size_t i = 0; i < rs.n_chains; i++) {
		const struct chain *chain = &rs.chains[i];

		assert_true(chain->n_rules > 0);
		for (size_t j = 0; j < chain->n_rules; j++) {
			const struct rule *r = chain->rules[j];

			assert_non_null(r->says);
			assert_true(r->match[0].fields[0] != FIELD_NONE);
			assert_true((r->counter != NULL) == (r->verdict == RULES_DROP));
			if (r->counter)
				assert_true(str_starts(r->counter, "drop_"));
		}
	}
}

/* What a chain does not drop or accept for its own traffic it leaves alone: policy accept is only for others. */
static void test_the_last_word_of_each_filter_is_a_drop(void **state)
{
	static const char *const closed[] = { "input", "forward", "output" };
	struct ruleset rs;

	(void)state;
	build(false, &rs);
	for (size_t i = 0; i < rs.n_chains; i++) {
		for (size_t j = 0; j < ARRAY_LEN(closed); j++) {
			if (str_equal(rs.chains[i].name, closed[j]))
				assert_int_equal(
					rs.chains[i].rules[rs.chains[i].n_rules - 1]->verdict,
					RULES_DROP);
		}
	}
}

static void test_every_blocked_range_has_its_rule(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct ruleset rs;
	char line[128];

	(void)state;
	build(false, &rs);
	rules_print(&rs, NULL, 0, &text);
	for (size_t i = 0; i < n_blocked_ranges; i++) {
		snprintf(line, sizeof(line), "ip daddr %s counter name %s drop",
			blocked_ranges[i].cidr, blocked_ranges[i].counter);
		if (!strstr(str_get(&text), line))
			fail_msg("no rule '%s'", line);
	}
}

static void test_counters_are_listed_once_and_told(void **state)
{
	const char *names[64];
	struct ruleset rs;
	size_t n;

	(void)state;
	build(true, &rs);
	for (int f = 0; f < RULES_FAMILIES; f++) {
		n = rules_counters(&rs, (enum rules_family)f, names, ARRAY_LEN(names));
		assert_true(n > 5);
		for (size_t i = 0; i < n; i++) {
			assert_non_null(rules_counter_says(&rs, names[i]));
			for (size_t j = 0; j < i; j++)
				assert_string_not_equal(names[i], names[j]);
		}
	}
	assert_null(rules_counter_says(&rs, "drop_nothing"));
}

static void test_every_value_can_be_encoded(void **state)
{
	uint8_t bytes[FIELD_VALUE_MAX], mask[FIELD_VALUE_MAX];
	struct match m[2 * RULES_MATCHES];
	struct error err = { 0 };
	struct ruleset rs;
	char buf[24];
	unsigned len;

	(void)state;
	build(true, &rs);
	for (size_t i = 0; i < rs.n_chains; i++) {
		for (size_t j = 0; j < rs.chains[i].n_rules; j++) {
			size_t n = rules_expand(rs.chains[i].family, rs.chains[i].rules[j], m);

			for (size_t k = 0; k < n; k++) {
				if (m[k].op == OP_EQ || m[k].op == OP_NE)
					assert_ok(field_encode(m[k].fields[0],
							  rules_value(&rs, m[k].value, buf), bytes,
							  mask, &len, &err),
						&err);
			}
		}
	}
}

static void test_values_become_the_kernels_bytes(void **state)
{
	uint8_t bytes[FIELD_VALUE_MAX], mask[FIELD_VALUE_MAX];
	struct error err = { 0 };
	unsigned len = 0;

	(void)state;
	assert_ok(field_encode(FIELD_IP_DADDR, "172.16.0.0/12", bytes, mask, &len, &err), &err);
	assert_memory_equal(bytes, "\xac\x10\0\0", 4);
	assert_memory_equal(mask, "\xff\xf0\0\0", 4);
	assert_ok(field_encode(FIELD_UDP_DPORT, "68", bytes, mask, &len, &err), &err);
	assert_memory_equal(bytes, "\0\x44", 2);
	assert_ok(field_encode(FIELD_IIFNAME, "bxt*", bytes, mask, &len, &err), &err);
	assert_int_equal(len, 3);
	assert_ok(field_encode(FIELD_IIFNAME, "boxnet", bytes, mask, &len, &err), &err);
	assert_int_equal(len, 16);
	assert_memory_equal(bytes, "boxnet\0\0\0\0\0\0\0\0\0", 16);
	assert_ok(field_encode(FIELD_ETHER_TYPE, "arp", bytes, mask, &len, &err), &err);
	assert_memory_equal(bytes, "\x08\x06", 2);
	assert_int_equal(field_encode(FIELD_CT_STATE, "fresh", bytes, mask, &len, &err), -1);
	assert_error(&err, ERROR_INVALID, "'ct state' has no value 'fresh'");
}

static void test_elements_are_padded_to_registers(void **state)
{
	struct element e;

	(void)state;
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (str_equal(rules_sets[i].name, "sources")) {
			rules_element(&rules_sets[i], &two_boxes[0], 0, &e);
			assert_int_equal(e.key_len, 28);
			assert_memory_equal(e.key,
				"bxt01234567\0\0\0\0\0\x52\x54\0\x01\x02\x03\0\0\x0a\x58\0\x02",
				28);
		}
		if (str_equal(rules_sets[i].name, "doors")) {
			assert_int_equal(rules_element_count(&rules_sets[i], &two_boxes[0]), 2);
			assert_int_equal(rules_element_count(&rules_sets[i], &two_boxes[1]), 0);
			rules_element(&rules_sets[i], &two_boxes[0], 1, &e);
			assert_int_equal(e.key_len, 2);
			assert_memory_equal(e.key, "\x08\xae", 2);
			assert_memory_equal(e.data, "\x0a\x58\0\x02\0\x16\0\0", 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_without_boxes),
		cmocka_unit_test(test_text_with_two_boxes_ibrname_and_another_subnet),
		cmocka_unit_test(test_every_rule_is_sound),
		cmocka_unit_test(test_the_last_word_of_each_filter_is_a_drop),
		cmocka_unit_test(test_every_blocked_range_has_its_rule),
		cmocka_unit_test(test_counters_are_listed_once_and_told),
		cmocka_unit_test(test_every_value_can_be_encoded),
		cmocka_unit_test(test_values_become_the_kernels_bytes),
		cmocka_unit_test(test_elements_are_padded_to_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

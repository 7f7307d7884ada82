/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <ctype.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "net/blocked.h"
#include "net/rules.h"
#include "vmm/drill-claim.h"

#define FOR_CLAIMS(c) \
	for (const struct drill_claim *c = drill_claims; c < drill_claims + drill_claim_count; c++)

static void test_ids_are_kebab_case_and_unique(void **state)
{
	(void)state;
	FOR_CLAIMS(c)
	{
		assert_true(islower((unsigned char)c->id[0]));
		for (const char *p = c->id; *p; p++)
			assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) ||
				    (*p == '-' && isalnum((unsigned char)p[1])));
		assert_ptr_equal(drill_claim_find(c->id), c);
	}
	assert_null(drill_claim_find("no-such-claim"));
}

static void test_rows_are_complete(void **state)
{
	(void)state;
	FOR_CLAIMS(c)
	{
		assert_true(c->says && strlen(c->says) > 10 && c->says[strlen(c->says) - 1] != '.');
		assert_non_null(c->probes[0].line);
		assert_true(drill_probe_count(c->probes, DRILL_PROBES_MAX) < DRILL_PROBES_MAX);
	}
	for (size_t i = 0; i < DRILL_CONTROLS; i++) {
		assert_non_null(drill_controls[i].says);
		assert_non_null(drill_controls[i].probes[0].line);
	}
}

static void test_groups_are_together(void **state)
{
	(void)state;
	for (size_t i = 1; i < drill_claim_count; i++) {
		for (size_t k = 0; k + 1 < i; k++) {
			if (strcmp(drill_claims[k].group, drill_claims[i].group) == 0)
				assert_string_equal(
					drill_claims[i - 1].group, drill_claims[i].group);
		}
	}
}

/* A silence needs something that proves it, and the watcher that it relies on needs its control. */
static void test_silence_has_a_proof(void **state)
{
	(void)state;
	FOR_CLAIMS(c)
	{
		bool silence = false;

		for (size_t i = 0; c->probes[i].line; i++)
			silence = silence || c->probes[i].want == WANT_SILENCE;
		if (!silence)
			continue;
		assert_true(c->controls != 0);
		assert_true(c->counters[0] || c->proofs & ~(unsigned)COUNTER_OPTIONAL);
		if (c->proofs & PROOF_A)
			assert_true(c->controls & 1u << CONTROL_A_DNS);
		if (c->proofs & PROOF_B)
			assert_true(c->controls & 1u << CONTROL_B_DNS);
	}
}

/* Counters of rules that no probe from inside a box can reach, or that are second lines behind others. */
static const char *const unprobed[] = {
	"drop_foreign_port", /* a NIC that somebody puts on the bridge by hand: packet tests */
	"drop_past_bridge", /* the same */
	"drop_to_host", /* ARP about other addresses of the host: packet tests */
	"drop_ip_options", /* needs a host that takes source routes: packet tests */
	"drop_foreign_host", /* behind drop_spoof_mac and drop_spoof_ip */
	"drop_foreign_routed", /* the same */
	"drop_stolen_mac", /* needs a port that is not a box's */
	"drop_to_box", /* the same */
	"drop_ipv6_input", /* behind drop_ipv6_bridge */
	"drop_ipv6_forward", /* the same */
	"drop_ipv6_output", /* the host has no IPv6 address on the bridge to send from */
	"drop_invalid", /* needs a packet that connection tracking refuses */
	"drop_door_closed", /* needs a connection that outlives its door */
};

static bool listed(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(names[i], name))
			return true;
	}
	return false;
}

static void test_counters_are_those_of_the_rules(void **state)
{
	const char *names[128];
	struct net_config config;
	struct ruleset rs;
	size_t n;

	(void)state;
	net_config_default(&config);
	rules_build(&config, true, &rs);
	n = rules_counters(&rs, RULES_BRIDGE, names, ARRAY_LEN(names));
	n += rules_counters(&rs, RULES_INET, names + n, ARRAY_LEN(names) - n);
	FOR_CLAIMS(c)
	{
		for (size_t i = 0; i < DRILL_COUNTERS_MAX && c->counters[i]; i++) {
			if (!listed(names, n, c->counters[i]))
				fail_msg("%s: no rule has the counter '%s'", c->id, c->counters[i]);
		}
	}
	for (size_t i = 0; i < n; i++) {
		bool claimed = listed(unprobed, ARRAY_LEN(unprobed), names[i]);

		FOR_CLAIMS(c)
		claimed = claimed || listed(c->counters, DRILL_COUNTERS_MAX, names[i]);
		if (!claimed)
			fail_msg("no claim is about the counter '%s'", names[i]);
	}
}

static void test_targets_are_in_ranges_that_are_dropped(void **state)
{
	(void)state;
	FOR_CLAIMS(c)
	{
		char text[256], *save = NULL;

		if (!c->targets)
			continue;
		strcpy(text, c->targets);
		for (char *word = strtok_r(text, " ", &save); word;
			word = strtok_r(NULL, " ", &save)) {
			struct error err = { 0 };
			uint32_t addr = 0;

			if (word[0] == '{')
				continue;
			assert_ok(parse_ipv4(word, "target", &addr, &err), &err);
			assert_non_null(blocked_find(addr));
			if (strcmp(c->group, "ranges") == 0)
				assert_string_equal(blocked_find(addr)->counter, c->counters[0]);
		}
	}
}

/* Each range that the rules know has a claim. */
static void test_every_range_is_claimed(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_blocked_ranges; i++) {
		bool claimed = false;

		FOR_CLAIMS(c)
		claimed = claimed ||
			  listed(c->counters, DRILL_COUNTERS_MAX, blocked_ranges[i].counter);
		assert_true(claimed);
	}
}

/* ---- documents ---- */

static void read_document(const char *path, struct str *ret)
{
	struct error err = { 0 };

	assert_ok(file_read(AT_FDCWD, path, 1 << 20, ret, &err), &err);
}

/* The document has each claim's line, and a line that begins like one is a claim's. */
static void compare_document(const char *text, const char *before, const char *after)
{
	size_t found = 0;

	FOR_CLAIMS(c)
	{
		_cleanup_str_ struct str line = STR_INIT;

		str_printf(&line, "\n%s%s%s", before, c->id, after);
		if (!strstr(text, str_get(&line)))
			fail_msg("no line for '%s'", c->id);
	}
	for (const char *p = text; (p = strchr(p, '\n')); p++) {
		char id[64];
		size_t len;

		if (strncmp(p + 1, before, strlen(before)) != 0)
			continue;
		p += 1 + strlen(before);
		len = strcspn(p, after);
		if (len >= sizeof(id) || strncmp(p + len, after, strlen(after)) != 0)
			continue;
		memcpy(id, p, len);
		id[len] = '\0';
		if (!drill_claim_find(id))
			fail_msg("there is no claim '%s'", id);
		found++;
	}
	assert_int_equal(found, drill_claim_count);
}

static void test_manual_and_threats_name_each_claim(void **state)
{
	_cleanup_str_ struct str manual = STR_INIT, threats = STR_INIT;
	char *section, *end;

	(void)state;
	read_document(SOURCE_ROOT "/docs/THREATS.md", &threats);
	compare_document(str_get(&threats), "| `", "` |");
	read_document(SOURCE_ROOT "/docs/man/box-isolation.7.scd", &manual);
	section = strstr(str_get(&manual), "\n# CLAIMS\n");
	assert_non_null(section);
	end = strstr(section + 1, "\n# ");
	assert_non_null(end);
	*end = '\0';
	compare_document(section, "*", "*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_are_kebab_case_and_unique),
		cmocka_unit_test(test_rows_are_complete),
		cmocka_unit_test(test_groups_are_together),
		cmocka_unit_test(test_silence_has_a_proof),
		cmocka_unit_test(test_counters_are_those_of_the_rules),
		cmocka_unit_test(test_targets_are_in_ranges_that_are_dropped),
		cmocka_unit_test(test_every_range_is_claimed),
		cmocka_unit_test(test_manual_and_threats_name_each_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

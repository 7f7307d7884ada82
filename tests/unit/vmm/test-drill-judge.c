/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "tests/unit/vmm/drill-world.h"

static struct drill_world world;
static struct drill_plan plan;
static struct drill_scene scene;

static int setup(void **state)
{
	(void)state;
	world_make(&world);
	scene = (struct drill_scene){ .counts = VEC_INIT };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	drill_scene_done(&scene);
	drill_plan_done(&plan);
	drill_world_done(&world);
	return 0;
}

/* A drill of this claim in which everything goes as it should, seen by root on the host. */
static void make(const char *id)
{
	drill_plan_done(&plan);
	drill_scene_done(&scene);
	plan_make(&world, id, false, &plan);
	all_well(&world, &plan);
	count_well(&plan, &scene);
}

#define JUDGE(id, wanted, part)                                           \
	do {                                                              \
		struct drill_result r;                                    \
                                                                          \
		drill_judge(&world, &plan, &scene, claim_index(id), &r);  \
		if (r.verdict != (wanted) || !strstr(r.reason, part))     \
			fail_msg("%s: %s, '%s'; wanted %s with '%s'", id, \
				drill_verdict_name(r.verdict), r.reason,  \
				drill_verdict_name(wanted), part);        \
	} while (0)

/* The first probe of the claim, from item on. */
static size_t first_item(const char *id)
{
	for (size_t i = 0; i < plan.items.len; i++) {
		if (!plan.items.items[i].control && plan.items.items[i].index == claim_index(id))
			return i;
	}
	fail_msg("'%s' has no probe", id);
	return 0;
}

static struct drill_item *item_at(const char *id, size_t n)
{
	return &plan.items.items[first_item(id) + n];
}

static void answer(struct drill_item *item, const char *line)
{
	item->answer = ANSWER_NONE;
	drill_take_line(&world, item, line);
}

static void test_all_claims_hold_when_all_is_well(void **state)
{
	(void)state;
	for (size_t i = 0; i < drill_claim_count; i++) {
		make(drill_claims[i].id);
		JUDGE(drill_claims[i].id, DRILL_HOLDS, "");
	}
	make(NULL);
	for (size_t i = 0; i < drill_claim_count; i++)
		JUDGE(drill_claims[i].id, DRILL_HOLDS, "");
}

/* Without an observation nothing holds. */
static void test_no_claim_holds_by_itself(void **state)
{
	(void)state;
	plan_make(&world, NULL, false, &plan);
	for (size_t i = 0; i < drill_claim_count; i++)
		JUDGE(drill_claims[i].id, DRILL_UNKNOWN, "");
	scene.counters = scene.wire = scene.stack = true;
	for (size_t i = 0; i < drill_claim_count; i++)
		JUDGE(drill_claims[i].id, DRILL_UNKNOWN, "");
}

/* Each control that a claim names makes it unknown when it is not good. */
static void test_every_control_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < drill_claim_count; i++) {
		for (unsigned c = 0; c < DRILL_CONTROLS; c++) {
			if (!(drill_claims[i].controls & 1u << c))
				continue;
			make(drill_claims[i].id);
			vec_foreach(struct drill_item, item, &plan.items) {
				if (item->control && item->index == c)
					item->answer = ANSWER_SILENT;
				if (item->control && item->index == c)
					item->sight_count = 0;
			}
			JUDGE(drill_claims[i].id, DRILL_UNKNOWN, drill_controls[c].says);
		}
	}
}

/* Each probe that did not run makes its claim unknown. */
static void test_every_probe_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < drill_claim_count; i++) {
		size_t n;

		make(drill_claims[i].id);
		n = plan.items.len;
		for (size_t k = 0; k < n; k++) {
			make(drill_claims[i].id);
			if (plan.items.items[k].control)
				continue;
			plan.items.items[k].answer = ANSWER_FAILED;
			JUDGE(drill_claims[i].id, DRILL_UNKNOWN, "could not run");
		}
	}
}

/* An answer to any probe that wants silence breaks the claim, whatever else is true. */
static void test_an_answer_breaks_a_silence(void **state)
{
	static const char *const lines[] = { "open", "refused", "unreachable 10.20.30.40" };

	(void)state;
	for (size_t i = 0; i < drill_claim_count; i++) {
		const struct drill_claim *c = &drill_claims[i];

		for (size_t k = 0; c->probes[k].line; k++) {
			if (c->probes[k].want != WANT_SILENCE)
				continue;
			for (size_t l = 0; l < ARRAY_LEN(lines); l++) {
				make(c->id);
				vec_foreach(struct drill_item, item, &plan.items) {
					if (!item->control && item->row == k)
						answer(item, lines[l]);
					if (item->control)
						item->answer = ANSWER_FAILED;
				}
				JUDGE(c->id, DRILL_BROKEN, lines[l]);
			}
		}
	}
}

/* A packet that is seen where it must not be breaks the claim, for every probe that carries a token. */
static void test_an_arrival_breaks_a_silence(void **state)
{
	(void)state;
	for (size_t i = 0; i < drill_claim_count; i++) {
		make(drill_claims[i].id);
		for (size_t k = 0; k < plan.items.len; k++) {
			const struct drill_probe *probe = drill_item_probe(&plan.items.items[k]);

			if (plan.items.items[k].control || !plan.items.items[k].token ||
				probe->want != WANT_SILENCE || drill_claims[i].passes & PASS_PEER)
				continue;
			see(&world, &plan, k, probe->from == DRILL_B ? DRILL_A : DRILL_B, "eth0",
				"in", "10.88.0.2", "10.88.0.3");
			JUDGE(drill_claims[i].id, DRILL_BROKEN, "at the peer's network device");
			make(drill_claims[i].id);
		}
	}
}

static void test_wire(void **state)
{
	size_t at;

	(void)state;
	make("range-10");
	at = first_item("range-10") + 4; /* the first that is sent by hand */
	assert_true(plan.items.items[at].token);
	see(&world, &plan, at, DRILL_HOST, "boxnet", "in", "10.88.0.2", "10.0.0.1");
	JUDGE("range-10", DRILL_HOLDS, "dropped");
	see(&world, &plan, at, DRILL_HOST, "boxnet", "out", "10.88.0.1", "10.88.0.2");
	JUDGE("range-10", DRILL_HOLDS, "dropped"); /* the gateway's own word */
	see(&world, &plan, at, DRILL_HOST, "lan0", "out", "10.20.30.1", "10.0.0.1");
	JUDGE("range-10", DRILL_BROKEN, "going out at 'lan0'");
	/* An answer of the target on its way back. */
	make("range-10");
	see(&world, &plan, at, DRILL_HOST, "boxnet", "out", "10.0.0.1", "10.88.0.2");
	JUDGE("range-10", DRILL_BROKEN, "going out at 'boxnet'");
	/* What the bridge's rules drop may not come up on the bridge. */
	make("spoof-ip");
	see(&world, &plan, first_item("spoof-ip"), DRILL_HOST, "boxnet", "in", "10.88.0.3",
		"203.0.113.53");
	JUDGE("spoof-ip", DRILL_BROKEN, "coming in at 'boxnet'");
	make("peer-udp");
	see(&world, &plan, first_item("peer-udp"), DRILL_HOST, "bxtbbbbbbbb", "out", "10.88.0.2",
		"10.88.0.3");
	JUDGE("peer-udp", DRILL_BROKEN, "going out at 'bxtbbbbbbbb'");
}

static void test_hosts_own_stack(void **state)
{
	char line[128], token[32];

	(void)state;
	make("host-gateway-icmp");
	(void)snprintf(line, sizeof(line), "seen local icmp 10.88.0.2 %s",
		drill_token(&world, first_item("host-gateway-icmp"), token));
	assert_true(drill_take_sight(&world, &plan, DRILL_HOST, line));
	JUDGE("host-gateway-icmp", DRILL_BROKEN, "in the host's own stack");
}

/* What the host itself sends is seen on its bridge and loopback, and is an arrival only at a tap. */
static void test_what_the_host_sends(void **state)
{
	size_t at;

	(void)state;
	make("peer-flood");
	at = first_item("peer-flood");
	see(&world, &plan, at, DRILL_HOST, "boxnet", "out", "10.88.0.1", "10.88.0.255");
	JUDGE("peer-flood", DRILL_HOLDS, "");
	see(&world, &plan, at, DRILL_HOST, "bxtaaaaaaaa", "out", "10.88.0.1", "10.88.0.255");
	JUDGE("peer-flood", DRILL_BROKEN, "bxtaaaaaaaa");
	make("outside-to-box");
	at = first_item("outside-to-box");
	see(&world, &plan, at, DRILL_HOST, DRILL_STRANGER "0", "in", "198.18.0.9", "10.88.0.3");
	JUDGE("outside-to-box", DRILL_HOLDS, "");
}

static void test_a_packet_that_never_left_says_nothing(void **state)
{
	(void)state;
	make("peer-raw");
	item_at("peer-raw", 0)->sight_count = 0;
	JUDGE("peer-raw", DRILL_UNKNOWN, "did not reach the host");
	/* Without the host's view it cannot be known; the receiver's silence has to do. */
	scene.wire = scene.counters = false;
	JUDGE("peer-raw", DRILL_HOLDS, "somebody watched");
	make("range-10");
	answer(item_at("range-10", 0), "unreachable 10.88.0.1");
	JUDGE("range-10", DRILL_UNKNOWN, "knows no way");
}

static void test_counters(void **state)
{
	(void)state;
	make("range-10");
	scene.counts.items[0].packets = 0;
	JUDGE("range-10", DRILL_UNKNOWN, "something else did the rest");
	/* Of another round: not ours. */
	make("range-10");
	vec_foreach(struct drill_count, count, &scene.counts)
		count->round = 9;
	JUDGE("range-10", DRILL_UNKNOWN, "dropped 0 of");
	/* The port flag comes before the rule. */
	make("peer-tcp");
	scene.counts.len = 0;
	JUDGE("peer-tcp", DRILL_HOLDS, "somebody watched");
}

/* Without root on the host: only what the boxes themselves prove. */
static void test_without_root(void **state)
{
	static const char *const proven[] = { "peer-tcp", "peer-udp", "peer-icmp", "peer-arp",
		"peer-raw", "peer-broadcast", "peer-routed", "peer-vlan", "rogue-dhcp", "ipv6-peer",
		"host-to-box", "door-open", "door-only-one", "door-gone", "peer-name",
		"egress-public", "dns-public" };
	static const char *const unproven[] = { "range-10", "range-metadata", "host-gateway-tcp",
		"host-gateway-udp", "host-gateway-icmp", "host-addresses", "host-loopback",
		"spoof-mac", "spoof-ip", "spoof-arp", "ipv6-host", "ipv6-internet" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(proven) + ARRAY_LEN(unproven); i++) {
		bool is_proven = i < ARRAY_LEN(proven);
		const char *id = is_proven ? proven[i] : unproven[i - ARRAY_LEN(proven)];

		make(id);
		vec_foreach(struct drill_item, item, &plan.items) {
			size_t kept = 0;

			for (size_t k = 0; k < item->sight_count; k++) {
				if (item->sights[k].where == WHERE_A ||
					item->sights[k].where == WHERE_B)
					item->sights[kept++] = item->sights[k];
			}
			item->sight_count = kept;
		}
		scene.counters = scene.wire = scene.stack = false;
		if (is_proven)
			JUDGE(id, DRILL_HOLDS, "");
		else
			JUDGE(id, DRILL_UNKNOWN, "need root");
	}
	make("dns-pinned");
	item_at("dns-pinned", 0)->sight_count = 0;
	scene.wire = false;
	JUDGE("dns-pinned", DRILL_UNKNOWN, "cannot be watched");
}

/* Quick: one round, and the counter has to have moved by the sum of what everybody sent. */
static void test_claims_that_share_a_counter(void **state)
{
	bool selected[256] = { false };
	struct error err = { 0 };

	(void)state;
	selected[claim_index("host-gateway-udp")] = true;
	selected[claim_index("host-gateway-icmp")] = true;
	assert_ok(drill_plan_make(&world, selected, true, &plan, &err), &err);
	all_well(&world, &plan);
	count_well(&plan, &scene);
	JUDGE("host-gateway-udp", DRILL_HOLDS, "4 of 4");
	JUDGE("host-gateway-icmp", DRILL_HOLDS, "4 of 4");
	/* The ping arrives, and so is not dropped: the others' packets are still all accounted for. */
	answer(item_at("host-gateway-icmp", 0), "open");
	scene.counts.items[scene.counts.len - 1].packets = 0;
	JUDGE("host-gateway-icmp", DRILL_BROKEN, "arrived");
	JUDGE("host-gateway-udp", DRILL_HOLDS, "3 of 3");
	/* One is neither counted nor seen: nobody can say whose it was. */
	scene.counts.items[0].packets = 0;
	JUDGE("host-gateway-udp", DRILL_UNKNOWN, "2 of 3");
}

static void test_positive_claims(void **state)
{
	struct error err = { 0 };

	(void)state;
	make("egress-public");
	answer(item_at("egress-public", 0), "silent");
	JUDGE("egress-public", DRILL_BROKEN, "silent");
	make("dns-public");
	answer(item_at("dns-public", 0), "open NXDOMAIN");
	JUDGE("dns-public", DRILL_BROKEN, "NXDOMAIN");
	answer(item_at("dns-public", 0), "silent");
	JUDGE("dns-public", DRILL_UNKNOWN, "silent");
	make("door-open");
	answer(item_at("door-open", 0), "refused");
	JUDGE("door-open", DRILL_BROKEN, "refused");
	/* Of two resolvers one suffices. */
	world.net.dns[world.net.n_dns++] = 0x08080808;
	make("egress-public");
	answer(item_at("egress-public", 0), "silent");
	JUDGE("egress-public", DRILL_HOLDS, "");
	answer(item_at("egress-public", 1), "silent");
	JUDGE("egress-public", DRILL_BROKEN, "silent");
	(void)err;
}

static void test_doors(void **state)
{
	(void)state;
	make("door-gone");
	answer(item_at("door-gone", 0), "open");
	JUDGE("door-gone", DRILL_BROKEN, "it is open");
	answer(item_at("door-gone", 0), "silent");
	JUDGE("door-gone", DRILL_UNKNOWN, "nothing came back");
	make("door-loopback-only");
	answer(item_at("door-loopback-only", 0), "refused");
	JUDGE("door-loopback-only", DRILL_HOLDS, "");
	answer(item_at("door-loopback-only", 1), "open");
	JUDGE("door-loopback-only", DRILL_BROKEN, "it is open");
	make("door-outside");
	see(&world, &plan, first_item("door-outside"), DRILL_B, "eth0", "in", "198.18.0.9",
		"10.88.0.3");
	JUDGE("door-outside", DRILL_BROKEN, "at the peer's");
}

static void test_names(void **state)
{
	(void)state;
	make("peer-name");
	answer(item_at("peer-name", 2), "open NOERROR 10.88.0.3");
	JUDGE("peer-name", DRILL_BROKEN, "10.88.0.3");
	make("peer-name");
	answer(item_at("peer-name", 2), "silent");
	JUDGE("peer-name", DRILL_UNKNOWN, "does not answer");
	make("peer-reverse");
	answer(item_at("peer-reverse", 0), "open NOERROR drill-b.");
	JUDGE("peer-reverse", DRILL_BROKEN, "drill-b");
}

static void test_what_leaves_the_host(void **state)
{
	(void)state;
	make("dns-pinned");
	see(&world, &plan, first_item("dns-pinned"), DRILL_HOST, "lan0", "out", "10.20.30.1",
		"10.20.30.40");
	JUDGE("dns-pinned", DRILL_BROKEN, "to 10.20.30.40");
	make("dns-pinned");
	see(&world, &plan, first_item("dns-pinned"), DRILL_HOST, "wan0", "out", "-", "-");
	JUDGE("dns-pinned", DRILL_BROKEN, "not IPv4");
	make("dns-pinned");
	item_at("dns-pinned", 0)->sight_count = 1;
	JUDGE("dns-pinned", DRILL_UNKNOWN, "not seen leaving");
	make("egress-hidden");
	see(&world, &plan, first_item("egress-hidden"), DRILL_HOST, "wan0", "out", "10.88.0.2",
		"203.0.113.53");
	JUDGE("egress-hidden", DRILL_BROKEN, "from 10.88.0.2");
	/* On loopback, bridge and taps it is not outside. */
	make("egress-hidden");
	see(&world, &plan, first_item("egress-hidden"), DRILL_HOST, "boxnet", "out", "10.88.0.2",
		"203.0.113.53");
	JUDGE("egress-hidden", DRILL_HOLDS, "");
}

static void test_checks(void **state)
{
	(void)state;
	make("one-nic");
	item_at("one-nic", 0)->answer = ANSWER_NO;
	JUDGE("one-nic", DRILL_BROKEN, "");
	item_at("one-nic", 0)->answer = ANSWER_UNSEEN;
	JUDGE("one-nic", DRILL_UNKNOWN, "cannot be seen");
	make("image-credentials");
	item_at("image-credentials", 0)->answer = ANSWER_NO;
	JUDGE("image-credentials", DRILL_BROKEN, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_claims_hold_when_all_is_well),
		TEST(test_no_claim_holds_by_itself),
		TEST(test_every_control_counts),
		TEST(test_every_probe_counts),
		TEST(test_an_answer_breaks_a_silence),
		TEST(test_an_arrival_breaks_a_silence),
		TEST(test_wire),
		TEST(test_hosts_own_stack),
		TEST(test_what_the_host_sends),
		TEST(test_a_packet_that_never_left_says_nothing),
		TEST(test_counters),
		TEST(test_without_root),
		TEST(test_claims_that_share_a_counter),
		TEST(test_positive_claims),
		TEST(test_doors),
		TEST(test_names),
		TEST(test_what_leaves_the_host),
		TEST(test_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

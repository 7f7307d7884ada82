/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets, not listings. In order:
 *
 *  1. without rules every probe gets where it wants to (else its drop would prove nothing);
 *  2. with rules every probe goes as it must, the kernel's port isolation being off: rules alone do it;
 *  3. port isolation alone, without our bridge table, keeps boxes apart, and both together;
 *  4. with br_netfilter on, as container engines have it, everything is the same;
 *  5. mutation: each rule is taken away in turn, and at least one probe must notice; each rule is put
 *     before the others in turn, and the comparison with the kernel must notice, whoever moved it.
 *
 * Needs root; status 77 when it may not make network namespaces.
 */
#include <stdio.h>
#include <string.h>

#include "net/nft-check.h"
#include "net/nft.h"
#include "tests/net/probes.h"

static int failures;

static void fail(const char *part, const char *what, const char *why)
{
	printf("FAIL %s: %s: %s\n", part, what, why);
	failures++;
}

static void die(const struct error *err)
{
	printf("error: %s\n", err->text);
	exit(1);
}

/* All probes; verbose says which fail. Returns how many do. */
static size_t run_all(struct world *w, const struct ruleset *rs, const char *part)
{
	size_t bad = 0;

	for (size_t i = 0; i < n_probes; i++) {
		_cleanup_str_ struct str why = STR_INIT;
		struct error err = { 0 };
		int ret = probe_run(w, rs, &probes[i], &why, &err);

		if (ret < 0)
			die(&err);
		bad += ret > 0;
		if (ret > 0 && part)
			fail(part, probes[i].name, str_get(&why));
	}
	return bad;
}

/* The first probe that fails; NULL: none does. */
static const struct probe *first_red(
	struct world *w, const struct ruleset *rs, size_t *hint, struct str *why)
{
	for (size_t i = 0; i < n_probes; i++) {
		size_t at = (*hint + i) % n_probes;
		struct error err = { 0 };
		int ret;

		str_clear(why);
		ret = probe_run(w, rs, &probes[at], why, &err);
		if (ret < 0)
			die(&err);
		if (ret > 0) {
			*hint = at;
			return &probes[at];
		}
	}
	return NULL;
}

static void load(struct world *w, const struct ruleset *rs)
{
	struct error err = { 0 };

	if (nft_apply(w->nl, rs, probe_ports, 2, &err) < 0)
		die(&err);
}

static void test_open(struct world *w)
{
	struct error err = { 0 };

	if (nft_remove(w->nl, &err) < 0)
		die(&err);
	for (size_t i = 0; i < n_probes; i++) {
		_cleanup_str_ struct str why = STR_INIT;
		int ret = probe_run_open(w, &probes[i], &why, &err);

		if (ret < 0)
			die(&err);
		if (ret > 0)
			fail("without rules", probes[i].name, str_get(&why));
	}
}

/* Only what crosses from box to box on the bridge; the rest of the rules is not there. */
static void test_flag_alone(struct world *w)
{
	struct error err = { 0 };
	size_t n = 0;

	if (nft_remove(w->nl, &err) < 0 || world_isolate(w, true, &err) < 0)
		die(&err);
	for (size_t i = 0; i < n_probes; i++) {
		const struct probe *p = &probes[i];
		uint32_t source = 0;
		unsigned bits = 0;

		if (p->story || p->from != BOX_A || !(p->open & AT(BOX_B)) ||
			str_equal(p->counter, "drop_box_to_box_routed"))
			continue;
		n++;
		if (probe_send(w, p, &bits, &source, &err) < 0)
			die(&err);
		if (bits & AT(BOX_B))
			fail("port isolation alone", p->name, "box B hears it");
	}
	if (n < 10)
		fail("port isolation alone", "probes", "too few were run");
}

static void test_both(struct world *w, const struct ruleset *rs)
{
	load(w, rs);
	for (size_t i = 0; i < n_probes; i++) {
		_cleanup_str_ struct str why = STR_INIT;
		struct probe p = probes[i];
		struct error err = { 0 };
		int ret;

		/* The flag stops frames before our rule sees and counts them. */
		if (str_equal(p.counter, "drop_box_to_box"))
			p.counter = NULL;
		ret = probe_run(w, rs, &p, &why, &err);
		if (ret < 0)
			die(&err);
		if (ret > 0)
			fail("port isolation and rules", p.name, str_get(&why));
	}
}

/* Whether the kernel has br_netfilter: a stock host has it only once something has asked for it. */
static bool set_bridge_netfilter(struct world *w, const char *value)
{
	struct error err = { 0 };
	char line[128];

	(void)snprintf(
		line, sizeof(line), "sysctl -qw net.bridge.bridge-nf-call-iptables=%s", value);
	if (world_run(w, HV, line, &err) == 0)
		return true;
	printf("note: no br_netfilter in this kernel\n");
	return false;
}

/* What the mutations compare with: it is not left out on a host without br_netfilter. */
static void test_rules_alone(struct world *w, const struct ruleset *rs)
{
	(void)set_bridge_netfilter(w, "0");
	load(w, rs);
	(void)run_all(w, rs, "rules alone");
}

static void test_bridge_netfilter(struct world *w, const struct ruleset *rs)
{
	if (!set_bridge_netfilter(w, "1"))
		return;
	load(w, rs);
	(void)run_all(w, rs, "br_netfilter on");
}

static void describe(const struct chain *chain, const struct rule *rule, struct str *into)
{
	str_clear(into);
	str_printf(into, "%s %s: %s %s", rules_family_name(chain->family), chain->name,
		rule->counter ? rule->counter : "let pass", rule->says);
}

static void take_away(struct chain *chain, size_t at)
{
	memmove(&chain->rules[at], &chain->rules[at + 1],
		(chain->n_rules - at - 1) * sizeof(chain->rules[0]));
	chain->n_rules--;
}

static void put_first(struct chain *chain, size_t at)
{
	const struct rule *rule = chain->rules[at];

	memmove(&chain->rules[1], &chain->rules[0], at * sizeof(chain->rules[0]));
	chain->rules[0] = rule;
}

/* The comparison must see what was changed, whatever packets say. */
static void expect_difference(
	struct world *w, const struct ruleset *rs, const char *part, const char *what)
{
	_cleanup_nft_differences_ struct nft_differences d = VEC_INIT;
	struct error err = { 0 };

	if (nft_check(w->nl, rs, probe_ports, 2, &d, &err) < 0)
		die(&err);
	if (d.len == 0)
		fail(part, what, "not noticed by the comparison with the kernel");
}

static void mutate_removed(struct world *w, const struct ruleset *rs, size_t c, size_t at)
{
	_cleanup_str_ struct str what = STR_INIT, why = STR_INIT;
	struct ruleset mutant = *rs;
	const struct probe *red;
	static size_t hint;

	describe(&rs->chains[c], rs->chains[c].rules[at], &what);
	take_away(&mutant.chains[c], at);
	load(w, &mutant);
	expect_difference(w, rs, "rule removed", str_get(&what));
	red = first_red(w, &mutant, &hint, &why);
	if (red)
		printf("without [%s] red: %s (%s)\n", str_get(&what), red->name, str_get(&why));
	else
		fail("rule removed", str_get(&what), "no probe noticed");
}

/* Returns whether a probe noticed: order does not matter between rules that cannot both match. */
static bool mutate_moved(struct world *w, const struct ruleset *rs, size_t c, size_t at)
{
	_cleanup_str_ struct str what = STR_INIT, why = STR_INIT;
	struct ruleset mutant = *rs;
	const struct probe *red;
	static size_t hint;

	describe(&rs->chains[c], rs->chains[c].rules[at], &what);
	put_first(&mutant.chains[c], at);
	load(w, &mutant);
	expect_difference(w, rs, "rule moved", str_get(&what));
	red = first_red(w, &mutant, &hint, &why);
	if (red)
		printf("first [%s] red: %s (%s)\n", str_get(&what), red->name, str_get(&why));
	return red != NULL;
}

/*
 * An accept that comes first opens something, where it is not about the same packets as its place
 * demands. These are the ones of which that must be seen.
 */
static bool order_matters(const struct chain *chain, size_t at)
{
	return chain->rules[at]->verdict == RULES_ACCEPT && at > 0 &&
	       (str_equal(chain->rules[at]->says, "boxes to the public internet") ||
		       str_equal(chain->rules[at]->says, "DNS to the gateway"));
}

static void test_mutations(struct world *w, const struct ruleset *rs)
{
	size_t removed = 0, moved = 0, red = 0;

	for (size_t c = 0; c < rs->n_chains; c++) {
		for (size_t at = 0; at < rs->chains[c].n_rules; at++) {
			mutate_removed(w, rs, c, at);
			removed++;
			if (at == 0)
				continue;
			moved++;
			if (mutate_moved(w, rs, c, at))
				red++;
			else if (order_matters(&rs->chains[c], at))
				fail("rule moved", rs->chains[c].rules[at]->says,
					"no probe noticed");
		}
	}
	printf("mutations: %zu rules removed, %zu moved to the front (%zu of them noticed by packets)\n",
		removed, moved, red);
}

int main(void)
{
	struct error err = { 0 };
	struct net_config config;
	struct ruleset rs;
	struct world w;

	if (world_open(&w, &err) < 0) {
		printf("%s: %s\n", err.kind == ERROR_DENIED ? "skipped" : "error", err.text);
		return err.kind == ERROR_DENIED ? 77 : 1;
	}
	net_config_default(&config);
	rules_build(&config, false, &rs);
	test_open(&w);
	test_rules_alone(&w, &rs);
	test_flag_alone(&w);
	test_both(&w, &rs);
	if (world_isolate(&w, false, &err) < 0)
		die(&err);
	test_bridge_netfilter(&w, &rs);
	if (failures == 0)
		test_mutations(&w, &rs);
	printf("%zu probes, %d failures\n", n_probes, failures);
	world_close(&w);
	return failures > 0;
}

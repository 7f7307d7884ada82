/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/nft.h"

#include <errno.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "net/nft-batch.h"

enum {
	/* One attribute holds 64 KiB, an element of ours takes about 60 bytes. */
	ELEMENTS_PER_MESSAGE = 500,
	COUNTERS_MAX = 64,
};

static const char applying[] = "cannot load the isolation rules";

/* A table of a name of its own that is made and taken away in one batch: the kernel checks the rule. */
bool nft_has_ibrname(struct nl *nl)
{
	static const char name[] = "box-try-ibrname";
	_cleanup_nft_batch_ struct nft_batch b = { 0 };
	_cleanup_(nftnl_chain_free_p) struct nftnl_chain *chain = nftnl_chain_alloc();
	_cleanup_(nftnl_rule_free_p) struct nftnl_rule *rule = nftnl_rule_alloc();
	struct nftnl_expr *e = nftnl_expr_alloc("meta");
	struct error err = { 0 };

	if (!chain || !rule || !e || nft_batch_begin(&b, nl, &err) < 0)
		return false;
	nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, name);
	nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, "try");
	nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, name);
	nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, "try");
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, NFT_META_BRI_IIFNAME);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
	nftnl_rule_add_expr(rule, e);
	nft_batch_table(&b, RULES_BRIDGE, name, true);
	nft_batch_chain(&b, RULES_BRIDGE, chain);
	nft_batch_rule(&b, RULES_BRIDGE, rule);
	nft_batch_table(&b, RULES_BRIDGE, name, false);
	return nft_batch_send(&b, "trying ibrname", &err) == 0;
}

static int batch_counters(
	struct nft_batch *b, const struct ruleset *rs, enum rules_family family, struct error *err)
{
	const char *names[COUNTERS_MAX];
	size_t n = rules_counters(rs, family, names, COUNTERS_MAX);

	for (size_t i = 0; i < n; i++) {
		_cleanup_(nftnl_obj_free_p) struct nftnl_obj *obj = nft_counter_new(
			family, names[i], err);

		if (!obj)
			return -1;
		nft_batch_counter(b, family, obj);
	}
	return 0;
}

static int batch_sets(struct nft_batch *b, enum rules_family family, struct error *err)
{
	for (size_t i = 0; i < n_rules_sets; i++) {
		_cleanup_(nftnl_set_free_p) struct nftnl_set *set = NULL;

		if (rules_sets[i].family != family)
			continue;
		set = nft_set_new(&rules_sets[i], (uint32_t)i + 1, err);
		if (!set)
			return -1;
		nft_batch_set(b, family, set);
	}
	return 0;
}

static int batch_chain(
	struct nft_batch *b, const struct ruleset *rs, const struct chain *chain, struct error *err)
{
	_cleanup_(nftnl_chain_free_p) struct nftnl_chain *nc = nft_chain_new(chain, err);

	if (!nc)
		return -1;
	nft_batch_chain(b, chain->family, nc);
	for (size_t i = 0; i < chain->n_rules; i++) {
		_cleanup_(nftnl_rule_free_p) struct nftnl_rule *rule = nft_rule_new(
			rs, chain, chain->rules[i], err);

		if (!rule)
			return -1;
		nft_batch_rule(b, chain->family, rule);
	}
	return 0;
}

/* Elements of all ports into (or out of) one set, in as few messages as an attribute's length allows. */
static int batch_elements(struct nft_batch *b, const struct set_def *def,
	const struct net_port *ports, size_t n_ports, uint16_t flags, struct error *err)
{
	size_t i = 0;

	while (i < n_ports) {
		_cleanup_(nftnl_set_free_p) struct nftnl_set *set = nft_set_new(def, 0, err);
		int n = 0;

		if (!set)
			return -1;
		for (; i < n_ports && n + NET_DOORS_MAX <= ELEMENTS_PER_MESSAGE; i++) {
			int added = nft_set_add_elements(set, def, &ports[i], err);

			if (added < 0)
				return -1;
			n += added;
		}
		if (n > 0)
			nft_batch_elements(b, def->family, set, flags);
	}
	return 0;
}

static int batch_family(
	struct nft_batch *b, const struct ruleset *rs, enum rules_family family, struct error *err)
{
	/* Added first, so that "delete" cannot fail when there is none. */
	nft_batch_table(b, family, RULES_TABLE, true);
	nft_batch_table(b, family, RULES_TABLE, false);
	nft_batch_table(b, family, RULES_TABLE, true);
	if (batch_counters(b, rs, family, err) < 0 || batch_sets(b, family, err) < 0)
		return -1;
	for (size_t i = 0; i < rs->n_chains; i++) {
		if (rs->chains[i].family == family && batch_chain(b, rs, &rs->chains[i], err) < 0)
			return -1;
	}
	return 0;
}

int nft_apply(struct nl *nl, const struct ruleset *rs, const struct net_port *ports, size_t n_ports,
	struct error *err)
{
	_cleanup_nft_batch_ struct nft_batch b = { 0 };

	if (nft_batch_begin(&b, nl, err) < 0 || batch_family(&b, rs, RULES_BRIDGE, err) < 0 ||
		batch_family(&b, rs, RULES_INET, err) < 0)
		return error_wrap(err, "%s", applying);
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (batch_elements(&b, &rules_sets[i], ports, n_ports, NLM_F_CREATE, err) < 0)
			return error_wrap(err, "%s", applying);
	}
	return nft_batch_send(&b, applying, err);
}

int nft_swap_port(
	struct nl *nl, const struct net_port *old, const struct net_port *new, struct error *err)
{
	_cleanup_nft_batch_ struct nft_batch b = { 0 };

	if (!old && !new)
		return 0;
	if (nft_batch_begin(&b, nl, err) < 0)
		return -1;
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (old && batch_elements(&b, &rules_sets[i], old, 1, 0, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (new &&batch_elements(
			    &b, &rules_sets[i], new, 1, NLM_F_CREATE | NLM_F_EXCL, err) < 0)
			return -1;
	}
	return nft_batch_send(&b, "cannot change the isolation rules' entries", err);
}

int nft_remove(struct nl *nl, struct error *err)
{
	_cleanup_nft_batch_ struct nft_batch b = { 0 };

	if (nft_batch_begin(&b, nl, err) < 0)
		return -1;
	for (int f = 0; f < RULES_FAMILIES; f++) {
		nft_batch_table(&b, (enum rules_family)f, RULES_TABLE, true);
		nft_batch_table(&b, (enum rules_family)f, RULES_TABLE, false);
	}
	return nft_batch_send(&b, "cannot remove the isolation rules", err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule of ours as libnftnl's object: what is sent, and what the kernel's rules are compared with. */
#ifndef NET_NFT_RULE_H
#define NET_NFT_RULE_H

#include <libnftnl/chain.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include "base/error.h"
#include "net/rules.h"

DEFINE_CLEANUP(struct nftnl_table *, nftnl_table_free);
DEFINE_CLEANUP(struct nftnl_chain *, nftnl_chain_free);
DEFINE_CLEANUP(struct nftnl_rule *, nftnl_rule_free);
DEFINE_CLEANUP(struct nftnl_set *, nftnl_set_free);
DEFINE_CLEANUP(struct nftnl_obj *, nftnl_obj_free);

/* NFPROTO_BRIDGE or NFPROTO_INET. */
uint16_t nft_family(enum rules_family family);

/* The number of the hook in this family. */
uint32_t nft_hook(enum rules_family family, enum rules_hook hook);

/* Each gives a new object, or NULL with err. */
struct nftnl_rule *nft_rule_new(const struct ruleset *rs, const struct chain *chain,
	const struct rule *rule, struct error *err) MUST_CHECK;
struct nftnl_chain *nft_chain_new(const struct chain *chain, struct error *err) MUST_CHECK;

/* id is the set's number within a batch; the kernel looks sets of the same batch up by it. */
struct nftnl_set *nft_set_new(const struct set_def *def, uint32_t id, struct error *err) MUST_CHECK;
struct nftnl_obj *nft_counter_new(
	enum rules_family family, const char *name, struct error *err) MUST_CHECK;

/* Put the elements of a port into a set object. Returns how many, or -1. */
int nft_set_add_elements(struct nftnl_set *set, const struct set_def *def,
	const struct net_port *port, struct error *err) MUST_CHECK;

#endif

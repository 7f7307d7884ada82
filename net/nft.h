/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules into the kernel, over libnftnl: every change is one batch, of which the kernel does all or
 * nothing. Needs CAP_NET_ADMIN in the network namespace it runs in.
 */
#ifndef NET_NFT_H
#define NET_NFT_H

#include <stdbool.h>

#include "base/error.h"
#include "net/nl.h"
#include "net/rules.h"

/* Whether the kernel can match the bridge that a port belongs to; seen by trying, nothing is changed. */
bool nft_has_ibrname(struct nl *nl);

/*
 * Replace both tables by the rule set and the elements of these ports. Between the old rules and the
 * new there is no moment without. Counters start at zero.
 */
int nft_apply(struct nl *nl, const struct ruleset *rs, const struct net_port *ports, size_t n_ports,
	struct error *err) MUST_CHECK;

/*
 * In one batch: take the elements of old out and put those of new in; either may be NULL. ERROR_EXISTS
 * when an element of new is there already: another box has this MAC, address, tap or door.
 */
int nft_swap_port(struct nl *nl, const struct net_port *old, const struct net_port *new,
	struct error *err) MUST_CHECK;

/* Take both tables out; their absence before is a success. */
int nft_remove(struct nl *nl, struct error *err) MUST_CHECK;

/* 1 when one of our tables is in the kernel, asleep or not; 0 when neither is; -1 on error. */
int nft_present(struct nl *nl, struct error *err) MUST_CHECK;

struct nft_counter {
	enum rules_family family;
	char name[48];
	uint64_t packets;
	uint64_t bytes;
};

/*
 * All named counters of our tables into counters, at most max; *ret_n how many. None when the tables
 * are not there.
 */
int nft_counters(struct nl *nl, struct nft_counter *counters, size_t max, size_t *ret_n,
	struct error *err) MUST_CHECK;

#endif

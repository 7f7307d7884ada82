/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is what the kernel has what we put there? Every service of the host may flush or change tables that
 * are not its own, and says nothing. So the kernel's tables, chains, rules, sets and elements are read
 * back and compared with the rules as data, at every start of a box and by the doctor.
 */
#ifndef NET_NFT_CHECK_H
#define NET_NFT_CHECK_H

#include "base/error.h"
#include "base/vec.h"
#include "net/nl.h"
#include "net/rules.h"

/* Sentences for people, as in "inet box, chain forward: the rule against ... is missing". */
VEC_DEFINE(nft_differences, char *);

void nft_differences_free(struct nft_differences *d);
#define _cleanup_nft_differences_ _cleanup_(nft_differences_free)

/* How many sentences are told at most; a last one says that there are more. */
enum { NFT_DIFFERENCES_MAX = 64 };

/*
 * Compare. An empty list: the kernel has exactly the rule set and these ports' elements, in the same
 * order, and nothing else in our tables. ret is appended to. Needs CAP_NET_ADMIN (ERROR_DENIED).
 */
int nft_check(struct nl *nl, const struct ruleset *rs, const struct net_port *ports, size_t n_ports,
	struct nft_differences *ret, struct error *err) MUST_CHECK;

#endif

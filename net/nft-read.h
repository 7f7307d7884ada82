/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel has in our tables, read into plain lists. */
#ifndef NET_NFT_READ_H
#define NET_NFT_READ_H

#include "base/error.h"
#include "base/vec.h"
#include "net/nft-rule.h"
#include "net/nl.h"
#include "net/rules.h"

enum { NFT_NAME_MAX = 64 }; /* longer names are cut: none of ours is that long */

struct nft_row {
	char name[NFT_NAME_MAX]; /* of the chain or set; for a rule, of its chain */
	char *text; /* owned; all that counts of it, in one spelling for ours and the kernel's */
};
VEC_DEFINE(nft_rows, struct nft_row);
void nft_rows_free(struct nft_rows *rows);

VEC_DEFINE(nft_elements, struct element);

struct nft_state {
	bool present; /* the table is there and not dormant; else the rest is empty */
	struct nft_rows chains, rules, sets; /* owned; rules in their order */
};
void nft_state_done(struct nft_state *state);
#define _cleanup_nft_state_ _cleanup_(nft_state_done)

/* The spelling of an object: its attributes, or its expressions one after the other. NULL with err. */
char *nft_chain_text(const struct nftnl_chain *chain, struct error *err) MUST_CHECK;
char *nft_rule_text(struct nftnl_rule *rule, struct error *err) MUST_CHECK;
char *nft_set_text(const struct nftnl_set *set, struct error *err) MUST_CHECK;

/* The kernel's generation of rules: the same before and after reading means nobody changed anything. */
int nft_generation(struct nl *nl, uint32_t *ret, struct error *err) MUST_CHECK;

/* Table box of this family. ret is overwritten. */
int nft_read(struct nl *nl, enum rules_family family, struct nft_state *ret,
	struct error *err) MUST_CHECK;

/* Elements of one of our sets, appended to ret. ERROR_NOT_FOUND when there is no such set. */
int nft_read_elements(struct nl *nl, const struct set_def *set, struct nft_elements *ret,
	struct error *err) MUST_CHECK;

#endif

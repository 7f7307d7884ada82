/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One batch of nftables messages: begun, filled, sent once. A failure to allocate is sticky, as in
 * struct str, and told by nft_batch_send.
 */
#ifndef NET_NFT_BATCH_H
#define NET_NFT_BATCH_H

#include "base/error.h"
#include "base/str.h"
#include "net/nft-rule.h"
#include "net/nl.h"

struct nft_batch {
	struct nl *nl; /* lent */
	struct str bytes; /* owned */
	char *scratch; /* owned; one message */
	uint32_t acked; /* sequence number of the message that is to be acknowledged */
	size_t acked_at; /* where in bytes it begins */
};

int nft_batch_begin(struct nft_batch *b, struct nl *nl, struct error *err) MUST_CHECK;
void nft_batch_done(struct nft_batch *b);
#define _cleanup_nft_batch_ _cleanup_(nft_batch_done)

/* Each appends one message. "Add" of a table is fine when it exists; flags are NLM_F_CREATE and such. */
void nft_batch_table(struct nft_batch *b, enum rules_family family, const char *name, bool add);
void nft_batch_chain(struct nft_batch *b, enum rules_family family, struct nftnl_chain *chain);
void nft_batch_rule(struct nft_batch *b, enum rules_family family, struct nftnl_rule *rule);
void nft_batch_set(struct nft_batch *b, enum rules_family family, struct nftnl_set *set);
void nft_batch_counter(struct nft_batch *b, enum rules_family family, struct nftnl_obj *counter);

/*
 * The elements of the set object: with NLM_F_CREATE put in, and with NLM_F_EXCL fail when one is there
 * already; without flags taken out, and fail when one is not there.
 */
void nft_batch_elements(
	struct nft_batch *b, enum rules_family family, struct nftnl_set *set, uint16_t flags);

/* End the batch and send it. what names the change in errors. */
int nft_batch_send(struct nft_batch *b, const char *what, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/nft-batch.h"

#include <libnftnl/batch.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <string.h>

/* One attribute holds at most 64 KiB, so a message of ours does not come near twice that. */
enum { SCRATCH = 131072 };

static void append(struct nft_batch *b, const struct nlmsghdr *nlh)
{
	b->acked = nlh->nlmsg_seq;
	b->acked_at = b->bytes.len;
	str_append_len(&b->bytes, nlh, MNL_ALIGN(nlh->nlmsg_len));
}

static struct nlmsghdr *header(struct nft_batch *b, uint16_t type, uint16_t family, uint16_t flags)
{
	return nftnl_nlmsg_build_hdr(b->scratch, type, family, flags, nl_seq(b->nl));
}

int nft_batch_begin(struct nft_batch *b, struct nl *nl, struct error *err)
{
	*b = (struct nft_batch){ .nl = nl, .bytes = STR_INIT };
	b->scratch = calloc(1, SCRATCH);
	if (!b->scratch)
		return error_oom(err);
	(void)nftnl_batch_begin(b->scratch, nl_seq(nl));
	append(b, (const struct nlmsghdr *)b->scratch);
	return 0;
}

void nft_batch_done(struct nft_batch *b)
{
	str_done(&b->bytes);
	free(b->scratch);
	b->scratch = NULL;
}

void nft_batch_table(struct nft_batch *b, enum rules_family family, const char *name, bool add)
{
	struct nlmsghdr *nlh = header(b, add ? NFT_MSG_NEWTABLE : NFT_MSG_DELTABLE,
		nft_family(family), add ? NLM_F_CREATE : 0);

	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, name);
	append(b, nlh);
}

void nft_batch_chain(struct nft_batch *b, enum rules_family family, struct nftnl_chain *chain)
{
	struct nlmsghdr *nlh = header(b, NFT_MSG_NEWCHAIN, nft_family(family), NLM_F_CREATE);

	nftnl_chain_nlmsg_build_payload(nlh, chain);
	append(b, nlh);
}

void nft_batch_rule(struct nft_batch *b, enum rules_family family, struct nftnl_rule *rule)
{
	struct nlmsghdr *nlh = header(
		b, NFT_MSG_NEWRULE, nft_family(family), NLM_F_CREATE | NLM_F_APPEND);

	nftnl_rule_nlmsg_build_payload(nlh, rule);
	append(b, nlh);
}

void nft_batch_set(struct nft_batch *b, enum rules_family family, struct nftnl_set *set)
{
	struct nlmsghdr *nlh = header(b, NFT_MSG_NEWSET, nft_family(family), NLM_F_CREATE);

	nftnl_set_nlmsg_build_payload(nlh, set);
	append(b, nlh);
}

void nft_batch_counter(struct nft_batch *b, enum rules_family family, struct nftnl_obj *counter)
{
	struct nlmsghdr *nlh = header(b, NFT_MSG_NEWOBJ, nft_family(family), NLM_F_CREATE);

	nftnl_obj_nlmsg_build_payload(nlh, counter);
	append(b, nlh);
}

void nft_batch_elements(
	struct nft_batch *b, enum rules_family family, struct nftnl_set *set, uint16_t flags)
{
	struct nlmsghdr *nlh = header(
		b, flags ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM, nft_family(family), flags);

	nftnl_set_elems_nlmsg_build_payload(nlh, set);
	append(b, nlh);
}

int nft_batch_send(struct nft_batch *b, const char *what, struct error *err)
{
	uint32_t acked = b->acked;
	size_t at = b->acked_at;

	/* An acknowledgement of the last change stands for all: the kernel goes through them in order. */
	if (!b->bytes.failed)
		((struct nlmsghdr *)(void *)(b->bytes.data + at))->nlmsg_flags |= NLM_F_ACK;
	(void)nftnl_batch_end(b->scratch, nl_seq(b->nl));
	append(b, (const struct nlmsghdr *)b->scratch);
	if (str_ok(&b->bytes, err) < 0)
		return -1;
	return nl_send(b->nl, b->bytes.data, b->bytes.len, acked, what, err);
}

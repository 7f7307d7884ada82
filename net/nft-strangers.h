/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains that others made with nftables and that drop what they do not know: base chains of ip and inet at
 * hook input or forward with policy drop. Not those of iptables, ufw, Docker and firewalld, which have ways
 * of their own to be asked (firewalls.h).
 */
#ifndef NET_NFT_STRANGERS_H
#define NET_NFT_STRANGERS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"

struct nft_stranger {
	const char *family; /* "ip", "inet" */
	char table[64], chain[64]; /* fit for a terminal; cut when longer */
	bool forward; /* hook forward; else input */
	bool names_us; /* a rule or set of that table has the name of our bridge */
};
VEC_DEFINE(nft_strangers, struct nft_stranger);

int nft_strangers_read(struct nft_strangers *ret, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One netlink socket, over libmnl: send, collect answers, dump. The kernel's own words (extended
 * acknowledgement) go into the error. Everything is synchronous: the kernel has done, or refused, what
 * was asked when the call returns.
 */
#ifndef NET_NL_H
#define NET_NL_H

#include <libmnl/libmnl.h>
#include <stdint.h>

#include "base/error.h"

struct nl;

/* bus: NETLINK_NETFILTER, NETLINK_ROUTE, NETLINK_SOCK_DIAG. NULL on failure. */
struct nl *nl_open(int bus, struct error *err) MUST_CHECK;
void nl_close(struct nl *nl); /* NULL is fine */
DEFINE_CLEANUP(struct nl *, nl_close);

/* A sequence number for the next message. */
uint32_t nl_seq(struct nl *nl);

/*
 * Dump: send the request (NLM_F_DUMP is set here) and give each answer to cb (MNL_CB_OK to go on,
 * MNL_CB_ERROR with errno set to stop). The kernel says when the dump was interrupted by a change: it
 * is then repeated from the start, a bounded number of times, and restart (may be NULL) is called
 * before each repetition so that cb's data can be emptied. what names the thing in errors.
 */
struct nl_dump {
	struct nlmsghdr *request;
	mnl_cb_t cb;
	void (*restart)(void *data);
	void *data;
	const char *what;
};
int nl_dump(struct nl *nl, const struct nl_dump *dump, struct error *err) MUST_CHECK;

/* Ask for one object: as nl_dump, but for a request that has one answer. It ends with an acknowledgement. */
int nl_get(struct nl *nl, const struct nl_dump *get, struct error *err) MUST_CHECK;

/*
 * Send one or many messages in one datagram and read all answers. Whoever built them set NLM_F_ACK on
 * the last one that is acknowledged, with sequence number acked: without that acknowledgement the call
 * fails. The first refusal is the error, with the kernel's words.
 */
int nl_send(struct nl *nl, const void *bytes, size_t len, uint32_t acked, const char *what,
	struct error *err) MUST_CHECK;

#endif

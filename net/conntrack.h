/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections that the kernel tracks. An address goes from box to box; its connections must not. */
#ifndef NET_CONNTRACK_H
#define NET_CONNTRACK_H

#include <stdint.h>

#include "net/nl.h"

/*
 * Forget every connection that began at this address (host byte order), so that no answer to one gets
 * anywhere. nl is a socket of NETLINK_NETFILTER.
 */
int conntrack_forget(struct nl *nl, uint32_t addr, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of the libvirt network "boxnet": an open bridge (libvirt adds no rules; ours are the only
 * ones) with dnsmasq for DHCP by reservation and for DNS to pinned resolvers. Pure.
 */
#ifndef NET_NETWORK_DEF_H
#define NET_NETWORK_DEF_H

#include "base/error.h"
#include "net/config.h"

/*
 * The network's XML, given (free it). Reservations are not part of it: each is added with
 * virNetworkUpdate, and must not have a name, which dnsmasq would serve to siblings.
 */
char *network_def_xml(const struct net_config *c, struct error *err) MUST_CHECK;

#endif

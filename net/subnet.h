/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which subnet boxnet gets: 10.88.0.0/24, else the first free of 10.89 to 10.127, or what BOX_SUBNET
 * says. A subnet that the host uses in any way is refused: a box whose network is also the host's
 * uplink loses its way out, or takes the host's away (seen when a host is itself a box).
 */
#ifndef NET_SUBNET_H
#define NET_SUBNET_H

#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"
#include "net/config.h"

/* Something of the host that covers addresses. */
struct host_net {
	uint32_t
		addr; /* host byte order: the network of an address or a route; the gateway's address */
	unsigned prefix;
	enum host_net_kind {
		HOST_ADDRESS, /* an interface has an address in it */
		HOST_ROUTE, /* a route leads there */
		HOST_GATEWAY, /* a route, the default one too, goes by this router */
	} kind;
	char dev[16];
};
VEC_DEFINE(host_nets, struct host_net);

/*
 * Pure. pin: BOX_SUBNET, NULL or "" when not given. existing: the network that is set up already, NULL
 * when there is none; it is kept, and another pin is refused. What belongs to boxnet itself among nets
 * is not held against it. *ret: its subnet and prefix are set, the rest is left alone. Refusals name
 * who uses the subnet.
 */
int subnet_choose(const struct host_nets *nets, const char *pin, const struct net_config *existing,
	struct net_config *ret, struct error *err) MUST_CHECK;

/*
 * What of nets collides with this subnet, lent; NULL: nothing. Also for the doctor: an interface that
 * came later.
 */
const struct host_net *subnet_clash(const struct host_nets *nets, uint32_t subnet, unsigned prefix);

/* "eth0 has an address in 10.88.0.0/16", appended to into. */

void subnet_describe(const struct host_net *net, struct str *into);

/* Addresses and routes of all tables of this network namespace, appended to ret. No privilege. */
int subnet_read_host(struct host_nets *ret, struct error *err) MUST_CHECK;

#endif

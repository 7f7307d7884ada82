/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/subnet.h"

#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "net/blocked.h"

enum {
	FIRST_CANDIDATE = 88, /* the second byte: 10.88 */
	LAST_CANDIDATE = 127,
	/*
	 * A route that covers more than any private range is a way out, not a claim: 0/0, and the halves
	 * 0/1 and 128/1 by which VPNs outdo it.
	 */
	SHORTEST_CLAIM = 8,
};

static bool overlap(uint32_t a, unsigned a_prefix, uint32_t b, unsigned b_prefix)
{
	uint32_t mask = net_mask(MIN(a_prefix, b_prefix));

	return (a & mask) == (b & mask);
}

const struct host_net *subnet_clash(const struct host_nets *nets, uint32_t subnet, unsigned prefix)
{
	vec_foreach(const struct host_net, n, nets) {
		if (str_equal(n->dev, NET_BRIDGE) || n->prefix < SHORTEST_CLAIM)
			continue;
		if (overlap(n->addr, n->prefix, subnet, prefix))
			return n;
	}
	return NULL;
}

void subnet_describe(const struct host_net *net, struct str *into)
{
	char text[16];

	str_append_escaped(into, net->dev, strnlen(net->dev, sizeof(net->dev)), false);
	(void)net_format_ipv4(net->addr, text);
	switch (net->kind) {
	case HOST_ADDRESS:
		str_printf(into, " has an address in %s/%u", text, net->prefix);
		break;
	case HOST_ROUTE:
		str_printf(into, " has a route to %s/%u", text, net->prefix);
		break;
	case HOST_GATEWAY:
		str_printf(into, " has the router %s", text);
		break;
	}
}

/* Refuse the subnet when the host uses it; hint is the next step. */
static int refuse_clash(const struct host_nets *nets, const struct net_config *c, const char *hint,
	struct error *err)
{
	_cleanup_str_ struct str who = STR_INIT;
	const struct host_net *clash = subnet_clash(nets, c->subnet, c->prefix);
	char text[16];

	if (!clash)
		return 0;
	subnet_describe(clash, &who);
	return error_set(err, ERROR_BUSY, "subnet '%s/%u' is in use: %s; %s",
		net_format_ipv4(c->subnet, text), c->prefix, str_get(&who), hint);
}

/* Only what no public host can have, or boxes would lose the way to it. */
static bool is_private(const struct net_config *c)
{
	static const char *const allowed[] = { "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
		"100.64.0.0/10" };
	const struct blocked *range = blocked_find(c->subnet);

	for (size_t i = 0; range && i < ARRAY_LEN(allowed); i++) {
		if (str_equal(range->cidr, allowed[i]))
			return c->prefix >= range->prefix;
	}
	return false;
}

static int parse_pin(const char *pin, struct net_config *ret, struct error *err)
{
	struct net_config c = { 0 };

	if (parse_cidr(pin, "BOX_SUBNET", &c.subnet, &c.prefix, err) < 0)
		return -1;
	if (c.prefix < 16 || c.prefix > 28)
		return error_set(err, ERROR_USAGE,
			"BOX_SUBNET '%s': its length must be from /16 to /28, as in 10.88.0.0/24",
			pin);
	if (!is_private(&c))
		return error_set(err, ERROR_USAGE,
			"BOX_SUBNET '%s' is not private; give one of 10/8, 172.16/12, 192.168/16 or 100.64/10",
			pin);
	*ret = c;
	return 0;
}

static int choose_pinned(const struct host_nets *nets, const char *pin,
	const struct net_config *existing, struct net_config *ret, struct error *err)
{
	struct net_config c = { 0 };
	char text[16];

	if (parse_pin(pin, &c, err) < 0)
		return -1;
	if (existing && (existing->subnet != c.subnet || existing->prefix != c.prefix))
		return error_set(err, ERROR_BUSY,
			"BOX_SUBNET '%s': this host is set up with %s/%u, and its boxes have addresses in it; \"box teardown-host\" first",
			pin, net_format_ipv4(existing->subnet, text), existing->prefix);
	if (refuse_clash(nets, &c, "give another BOX_SUBNET", err) < 0)
		return -1;
	*ret = c;
	return 0;
}

static int choose_free(const struct host_nets *nets, struct net_config *ret, struct error *err)
{
	_cleanup_str_ struct str who = STR_INIT;

	for (uint32_t i = FIRST_CANDIDATE; i <= LAST_CANDIDATE; i++) {
		struct net_config c = { .subnet = 10u << 24 | i << 16, .prefix = 24 };
		const struct host_net *clash = subnet_clash(nets, c.subnet, c.prefix);

		if (!clash) {
			*ret = c;
			return 0;
		}
		if (i == FIRST_CANDIDATE)
			subnet_describe(clash, &who);
	}
	return error_set(err, ERROR_BUSY,
		"no subnet of 10.88.0.0/24 to 10.127.0.0/24 is free (%s); give a free one, as in BOX_SUBNET=192.168.88.0/24",
		str_get(&who));
}

int subnet_choose(const struct host_nets *nets, const char *pin, const struct net_config *existing,
	struct net_config *ret, struct error *err)
{
	struct net_config c = { 0 };

	if (pin && pin[0]) {
		if (choose_pinned(nets, pin, existing, &c, err) < 0)
			return -1;
	} else if (existing) {
		c = *existing;
		if (refuse_clash(nets, &c,
			    "free it, or \"box teardown-host\" and set up with another BOX_SUBNET",
			    err) < 0)
			return -1;
	} else if (choose_free(nets, &c, err) < 0) {
		return -1;
	}
	ret->subnet = c.subnet;
	ret->prefix = c.prefix;
	return 0;
}

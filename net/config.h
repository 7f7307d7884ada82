/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the network of this host is: the few choices that setup-host makes once and that the hook and
 * the boot unit read back, since neither may ask libvirt. The file is /etc/box/net.conf:
 *
 *	# box: written by "box setup-host"
 *	subnet 10.88.0.0/24
 *	dns 1.1.1.1 8.8.8.8
 */
#ifndef NET_CONFIG_H
#define NET_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

#define NET_BRIDGE "boxnet" /* the libvirt network has the same name */
#define NET_TAP_PREFIX "bxt"
#define NET_CONFIG_PATH "/etc/box/net.conf"
#define NET_DNS_MAX 4

/* The bridge's own MAC: locally administered, so that no box (52:54:00) can ever have it. */
#define NET_GATEWAY_MAC "02:62:6f:78:00:01"

struct net_config {
	uint32_t subnet; /* host byte order, host bits zero */
	unsigned prefix; /* 16 to 28 */
	uint32_t dns[NET_DNS_MAX]; /* public resolvers, host byte order */
	size_t n_dns;
};

/* 10.88.0.0/24 with 1.1.1.1 and 8.8.8.8. */
void net_config_default(struct net_config *ret);

static inline uint32_t net_mask(unsigned prefix)
{
	return prefix ? UINT32_MAX << (32 - prefix) : 0;
}

static inline uint32_t net_gateway(const struct net_config *c)
{
	return c->subnet + 1;
}

static inline uint32_t net_broadcast(const struct net_config *c)
{
	return c->subnet | ~net_mask(c->prefix);
}

/* Whether a box may have addr: in the subnet, and neither its ends nor the gateway. */
static inline int net_is_box_address(const struct net_config *c, uint32_t addr)
{
	return (addr & net_mask(c->prefix)) == c->subnet && addr > net_gateway(c) &&
	       addr < net_broadcast(c);
}

/* The file's text, appended to into. */
void net_config_format(const struct net_config *c, struct str *into);

/* Read such text; what names it in errors. Unknown or repeated words are fatal, with the line. */
int net_config_parse(
	const char *text, const char *what, struct net_config *ret, struct error *err) MUST_CHECK;

/* Read the file at path. ERROR_NOT_FOUND, with "box setup-host" as the next step, when there is none. */
int net_config_load(const char *path, struct net_config *ret, struct error *err) MUST_CHECK;

/*
 * The resolvers in text, separated by blanks or commas ("1.1.1.1 8.8.8.8"), into c. ERROR_USAGE for
 * one that is not a public address: a resolver inside the LAN or of a VPN would answer with its names.
 */
int net_config_set_dns(struct net_config *c, const char *text, struct error *err) MUST_CHECK;

/* a.b.c.d into buf (16 bytes), returned. */
const char *net_format_ipv4(uint32_t addr, char buf[16]);

/* xx:xx:xx:xx:xx:xx into buf (18 bytes), returned. */
const char *net_format_mac(const uint8_t mac[6], char buf[18]);

#endif

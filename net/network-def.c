/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/network-def.h"

#include <stdio.h>

#include "base/xml.h"

#define DNSMASQ_NS "http://libvirt.org/schemas/network/dnsmasq/1.0"

/*
 * What libvirt has no element for. dnsmasq is as old as 2.89 (no-ident). A resolver that is
 * shared by boxes that must not know of one another has to know as little as it can.
 */
static const char *const dnsmasq_options[] = {
	"no-hosts", /* /etc/hosts of the host is no box's business */
	"dhcp-ignore-names", /* no name that a box gives itself is registered */
	"dhcp-ignore-clid", /* a client is its MAC: clones share the id that systemd derives from machine-id */
	"stop-dns-rebind", /* answers with private addresses are dropped */
	"domain-needed", /* plain names go nowhere */
	"bogus-priv", /* look-ups of private addresses, siblings' too, end here: no such name */
	"cache-size=0", /* a cache would tell a box what its siblings look up */
	"no-ident", /* and so would the counts in "hits.bind" and the like */
	"dhcp-ignore=tag:!known", /* no reservation, no lease */
};

static void write_options(struct xml_writer *w)
{
	xml_open(w, "dnsmasq:options", "xmlns:dnsmasq", DNSMASQ_NS, NULL);
	for (size_t i = 0; i < ARRAY_LEN(dnsmasq_options); i++)
		xml_empty(w, "dnsmasq:option", "value", dnsmasq_options[i], NULL);
	xml_close(w);
}

static void write_dns(struct xml_writer *w, const struct net_config *c)
{
	char text[16];

	xml_open(w, "dns", NULL);
	for (size_t i = 0; i < c->n_dns; i++)
		xml_empty(w, "forwarder", "addr", net_format_ipv4(c->dns[i], text), NULL);
	xml_close(w);
}

char *network_def_xml(const struct net_config *c, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);
	char gateway[16], mask[16], first[16], last[16];

	if (!w)
		return NULL;
	xml_open(w, "network", NULL);
	xml_leaf(w, "name", "%s", NET_BRIDGE);
	xml_empty(w, "forward", "mode", "open", NULL);
	xml_empty(w, "bridge", "name", NET_BRIDGE, "stp", "off", "delay", "0", NULL);
	xml_empty(w, "mac", "address", NET_GATEWAY_MAC, NULL);
	write_dns(w, c);
	xml_open(w, "ip", "family", "ipv4", "address", net_format_ipv4(net_gateway(c), gateway),
		"netmask", net_format_ipv4(net_mask(c->prefix), mask), NULL);
	xml_open(w, "dhcp", NULL);
	xml_empty(w, "range", "start", net_format_ipv4(net_gateway(c) + 1, first), "end",
		net_format_ipv4(net_broadcast(c) - 1, last), NULL);
	xml_close(w);
	xml_close(w);
	xml_empty(w, "port", "isolated", "yes", NULL); /* of every NIC, however it is attached */
	write_options(w);
	return xml_finish(w, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/network.h"

#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "base/xml.h"

void network_view_done(struct network_view *view)
{
	network_hosts_done(&view->hosts);
	*view = (struct network_view){ 0 };
}

/* "255.255.255.0" or, in attribute prefix, "24". */
static int read_prefix(struct xml *x, unsigned *ret, struct error *err)
{
	char text[16];
	uint32_t mask = 0;
	uint64_t prefix = 0;
	int found = xml_u64(x, NULL, "/network/ip[1]/@prefix", 32, &prefix, err);

	if (found < 0)
		return -1;
	if (found == 0) {
		found = xml_copy(x, NULL, "/network/ip[1]/@netmask", text, sizeof(text), err);
		if (found < 0 || (found && parse_ipv4(text, "the netmask", &mask, err) < 0))
			return -1;
		prefix = (uint64_t)__builtin_popcount(mask);
	}
	if (prefix < 8 || prefix > 30)
		return error_set(err, ERROR_INVALID,
			"the network '" NETWORK_NAME "' has no subnet of a usable size");
	*ret = (unsigned)prefix;
	return 0;
}

static int read_hosts(struct xml *x, struct network_view *view, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(x, NULL, "/network/ip[1]/dhcp/host", &nodes, err) < 0)
		return -1;
	xml_foreach(n, &nodes) {
		struct network_host host = { 0 };
		char text[16];
		int mac = xml_copy(x, n, "@mac", host.mac, sizeof(host.mac), err);
		int ip = xml_copy(x, n, "@ip", text, sizeof(text), err);

		if (mac < 0 || ip < 0)
			return -1;
		if (ip == 1 && parse_ipv4(text, "a reserved address", &host.address, err) < 0)
			return -1;
		if (network_hosts_push(&view->hosts, host, err) < 0)
			return -1;
	}
	return 0;
}

int network_view_parse(const char *xml, struct network_view *ret, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(
		xml, strlen(xml), "the XML of network '" NETWORK_NAME "'", err);
	_cleanup_network_view_ struct network_view view = { 0 };
	char text[16];
	int found;

	if (!x)
		return -1;
	found = xml_copy(x, NULL, "/network/ip[1]/@address", text, sizeof(text), err);
	if (found < 0)
		return -1;
	if (!found)
		return error_set(err, ERROR_INVALID,
			"the network '" NETWORK_NAME "' has no address; run: box setup-host");
	if (parse_ipv4(text, "the gateway", &view.gateway, err) < 0 ||
		read_prefix(x, &view.prefix, err) < 0 || read_hosts(x, &view, err) < 0)
		return -1;
	*ret = view;
	view = (struct network_view){ 0 };
	return 0;
}

static bool is_reserved(const struct network_view *view, uint32_t address)
{
	vec_foreach(struct network_host, h, &view->hosts) {
		if (h->address == address)
			return true;
	}
	return false;
}

static bool is_leased(uint32_t address, const uint32_t *leased, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (leased[i] == address)
			return true;
	return false;
}

uint32_t network_choose(
	const struct network_view *view, const uint32_t *leased, size_t n_leased, uint32_t start)
{
	uint32_t mask = UINT32_MAX << (32 - view->prefix);
	uint32_t first = (view->gateway & mask) + 1;
	uint32_t count = (view->gateway | ~mask) - first; /* without the broadcast address */

	for (uint32_t i = 0; i < count; i++) {
		uint32_t a = first + (start % count + i) % count;

		if (a != view->gateway && !is_reserved(view, a) && !is_leased(a, leased, n_leased))
			return a;
	}
	return 0;
}

const struct network_host *network_view_find(const struct network_view *view, const char *mac)
{
	vec_foreach(struct network_host, h, &view->hosts) {
		if (strcasecmp(h->mac, mac) == 0)
			return h;
	}
	return NULL;
}

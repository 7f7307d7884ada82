/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/network.h"

#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/xml.h"

#define RESERVE_TRIES 64 /* others reserving at the same time; each try reads the network anew */

int network_view_read(virNetworkPtr net, struct network_view *ret, struct error *err)
{
	_cleanup_free_ char *text = virNetworkGetXMLDesc(net, 0);

	if (!text)
		return error_virt(err, "cannot read the network '" NETWORK_NAME "'");
	return network_view_parse(text, ret, err);
}

virNetworkPtr network_open(virConnectPtr conn, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = virNetworkLookupByName(conn, NETWORK_NAME);

	if (!net && virt_last_code() == VIR_ERR_NO_NETWORK) {
		(void)error_set(err, ERROR_NOT_FOUND,
			"this host is not set up: it has no network '" NETWORK_NAME
			"'; run: box setup-host");
		return NULL;
	}
	if (!net) {
		(void)error_virt(err, "cannot look up the network '" NETWORK_NAME "'");
		return NULL;
	}
	if (virNetworkIsActive(net) != 1) {
		(void)error_set(err, ERROR_FAILED,
			"the network '" NETWORK_NAME "' is not active; run: box setup-host");
		return NULL;
	}
	return TAKE(net);
}

/* ---- reservations ---- */

/* address 0: by MAC alone, as deletion takes it. Free it. */
static char *host_xml(const char *mac, uint32_t address, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	xml_open(w, "host", "mac", mac, NULL);
	if (address) {
		xml_attr(w, "ip", "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
			address >> 8 & 255, address & 255);
		xml_open(w, "lease", NULL);
		xml_attr(w, "expiry", "%d", NETWORK_LEASE_MINUTES);
		xml_attr(w, "unit", "minutes");
		xml_close(w);
	}
	return xml_finish(w, err);
}

VEC_DEFINE(addresses, uint32_t);

/* Addresses lent out at the moment. Not being able to ask costs a choice, not the reservation. */
static int read_leases(virNetworkPtr net, struct addresses *ret, struct error *err)
{
	virNetworkDHCPLeasePtr *leases = NULL;
	int len = virNetworkGetDHCPLeases(net, NULL, &leases, 0);
	int result = 0;

	for (int i = 0; i < len; i++) {
		uint32_t address = 0;
		struct error ignored = { 0 };

		if (result == 0 && parse_ipv4(leases[i]->ipaddr, "lease", &address, &ignored) == 0)
			result = addresses_push(ret, address, err);
		virNetworkDHCPLeaseFree(leases[i]);
	}
	free(leases);
	return result;
}

static int update_host(virNetworkPtr net, virNetworkUpdateCommand command, const char *xml)
{
	unsigned flags = VIR_NETWORK_UPDATE_AFFECT_CONFIG;

	if (virNetworkIsActive(net) == 1)
		flags |= VIR_NETWORK_UPDATE_AFFECT_LIVE;
	return virNetworkUpdate(net, command, VIR_NETWORK_SECTION_IP_DHCP_HOST, -1, xml, flags);
}

/*
 * Where to begin to look for an address, once any was lent out: anywhere, by the MAC. libvirt hears of a lease some time after it was
 * given; the lowest address that looks free would be the one of a box that has just gone, whose lease still stands.
 */
static uint32_t place_of(const char *mac)
{
	uint32_t place = 2166136261u; /* FNV-1a */

	for (; *mac; mac++)
		place = (place ^ (unsigned char)*mac) * 16777619u;
	return place;
}

/* 1 reserved, 0 somebody else was quicker, -1 error. */
static int reserve_once(virNetworkPtr net, const char *mac, struct addresses *leases, uint32_t *ret,
	struct error *err)
{
	_cleanup_network_view_ struct network_view view = { 0 };
	_cleanup_free_ char *xml = NULL;
	uint32_t address;

	if (network_view_read(net, &view, err) < 0)
		return -1;
	if (network_view_find(&view, mac))
		return error_set(err, ERROR_EXISTS, "the MAC %s has an address already", mac);
	address = network_choose(
		&view, leases->items, leases->len, leases->len ? place_of(mac) : 0);
	if (!address)
		return error_set(err, ERROR_NO_SPACE,
			"the subnet of '" NETWORK_NAME
			"' has no address left: remove boxes, wait %d minutes for leases of removed "
			"ones to end, or set up a larger one (BOX_SUBNET)",
			NETWORK_LEASE_MINUTES);
	xml = host_xml(mac, address, err);
	if (!xml)
		return -1;
	if (update_host(net, VIR_NETWORK_UPDATE_COMMAND_ADD_LAST, xml) == 0) {
		*ret = address;
		return 1;
	}
	if (virt_last_code() == VIR_ERR_OPERATION_INVALID)
		return 0; /* libvirt: there is an existing dhcp host entry */
	return error_virt(err, "cannot reserve an address in '" NETWORK_NAME "'");
}

int network_reserve(virNetworkPtr net, const char *mac, uint32_t *ret, struct error *err)
{
	struct addresses leases = VEC_INIT;
	int done = read_leases(net, &leases, err);

	for (int i = 0; done == 0 && i < RESERVE_TRIES; i++)
		done = reserve_once(net, mac, &leases, ret, err);
	addresses_done(&leases);
	if (done == 0)
		return error_set(err, ERROR_BUSY,
			"cannot reserve an address in '" NETWORK_NAME
			"': others kept taking the free ones; try again");
	return done < 0 ? -1 : 0;
}

int network_reserve_again(virNetworkPtr net, const char *mac, uint32_t address, struct error *err)
{
	_cleanup_network_view_ struct network_view view = { 0 };
	_cleanup_free_ char *xml = NULL;
	uint32_t mask;

	if (network_view_read(net, &view, err) < 0)
		return -1;
	mask = view.prefix ? ~0u << (32 - view.prefix) : 0;
	if (network_view_find(&view, mac) || (address & mask) != (view.gateway & mask) ||
		address == view.gateway)
		return 0;
	xml = host_xml(mac, address, err);
	if (!xml)
		return -1;
	if (update_host(net, VIR_NETWORK_UPDATE_COMMAND_ADD_LAST, xml) < 0)
		return error_virt(err, "cannot reserve the address of %s again", mac);
	return 1;
}

int network_release(virConnectPtr conn, const char *mac, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = virNetworkLookupByName(conn, NETWORK_NAME);
	_cleanup_network_view_ struct network_view view = { 0 };
	_cleanup_free_ char *xml = NULL;

	if (!net && virt_last_code() == VIR_ERR_NO_NETWORK)
		return 0;
	if (!net)
		return error_virt(err, "cannot look up the network '" NETWORK_NAME "'");
	xml = host_xml(mac, 0, err);
	if (!xml)
		return -1;
	if (update_host(net, VIR_NETWORK_UPDATE_COMMAND_DELETE, xml) < 0 &&
		virt_last_code() != VIR_ERR_OPERATION_INVALID)
		return error_virt(err, "cannot give back the address of %s", mac);
	if (network_view_read(net, &view, err) < 0)
		return -1;
	if (network_view_find(&view, mac))
		return error_set(err, ERROR_FAILED,
			"the address of %s is still reserved after it was given back", mac);
	return 0;
}

int network_nudge(virConnectPtr conn, const char *mac, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = network_open(conn, err);
	_cleanup_network_view_ struct network_view view = { 0 };
	const struct network_host *host;
	_cleanup_free_ char *xml = NULL;

	if (!net || network_view_read(net, &view, err) < 0)
		return -1;
	host = network_view_find(&view, mac);
	if (!host)
		return error_set(err, ERROR_NOT_FOUND,
			"the network '" NETWORK_NAME
			"' has no address reserved for %s; see \"box doctor\"",
			mac);
	xml = host_xml(host->mac, host->address, err);
	if (!xml)
		return -1;
	if (update_host(net, VIR_NETWORK_UPDATE_COMMAND_MODIFY, xml) < 0)
		return error_virt(err, "cannot update the network '" NETWORK_NAME "'");
	return 0;
}

/* ---- setting up and taking down ---- */

static int keep_uuid(struct xml *x, struct xml *before, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes root = { 0 };
	_cleanup_free_ char *uuid = NULL;
	_cleanup_free_ char *element = NULL;

	if (xml_str(before, NULL, "/network/uuid", 64, &uuid, err) < 0 ||
		xml_nodes(x, NULL, "/network", &root, err) < 0)
		return -1;
	if (!uuid || !root.len)
		return 0;
	element = str_format(err, "<uuid>%s</uuid>", uuid);
	return element ? xml_insert(x, root.items[0], element, err) : -1;
}

static int keep_hosts(struct xml *x, const char *old, struct error *err)
{
	_cleanup_network_view_ struct network_view view = { 0 };
	_cleanup_xml_nodes_ struct xml_nodes dhcp = { 0 };

	if (network_view_parse(old, &view, err) < 0) {
		error_clear(err); /* a network of our name without our shape: nothing to keep */
		return 0;
	}
	if (xml_nodes(x, NULL, "/network/ip[1]/dhcp", &dhcp, err) < 0)
		return -1;
	vec_foreach(struct network_host, h, &view.hosts) {
		_cleanup_free_ char *host = host_xml(h->mac, h->address, err);

		if (!host || (dhcp.len && xml_insert(x, dhcp.items[0], host, err) < 0))
			return -1;
	}
	return 0;
}

/* The new definition with the old one's UUID and reservations. Free it. */
static char *merge_def(const char *def, const char *old, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(def, strlen(def), "the definition", err);
	_cleanup_(xml_free_p) struct xml *before = NULL;

	if (x)
		before = xml_parse(old, strlen(old), "the network's XML", err);
	if (!before || keep_uuid(x, before, err) < 0 || keep_hosts(x, old, err) < 0)
		return NULL;
	return xml_dump(x, err);
}

static int count_ports(virNetworkPtr net)
{
	virNetworkPortPtr *ports = NULL;
	int len = virNetworkListAllPorts(net, &ports, 0);

	for (int i = 0; i < len; i++)
		(void)virNetworkPortFree(ports[i]);
	free(ports);
	return len;
}

static int restart(virNetworkPtr net, struct error *err)
{
	if (virNetworkDestroy(net) < 0 || virNetworkCreate(net) < 0)
		return error_virt(err, "cannot restart the network '" NETWORK_NAME "'");
	return 0;
}

/* Redefine what exists; *ret_changed when libvirt's idea of it differs afterwards. */
static int redefine(virConnectPtr conn, virNetworkPtr net, const char *def, bool *ret_changed,
	struct error *err)
{
	_cleanup_free_ char *old = virNetworkGetXMLDesc(net, VIR_NETWORK_XML_INACTIVE);
	_cleanup_free_ char *merged = NULL;
	_cleanup_free_ char *now = NULL;
	_cleanup_(virNetworkFree_p) virNetworkPtr same = NULL;

	if (!old)
		return error_virt(err, "cannot read the network '" NETWORK_NAME "'");
	merged = merge_def(def, old, err);
	if (!merged)
		return -1;
	same = virNetworkDefineXML(conn, merged);
	if (!same)
		return error_virt(err, "cannot define the network '" NETWORK_NAME "'");
	now = virNetworkGetXMLDesc(net, VIR_NETWORK_XML_INACTIVE);
	if (!now)
		return error_virt(err, "cannot read the network '" NETWORK_NAME "'");
	*ret_changed = !str_equal(old, now);
	if (!*ret_changed || virNetworkIsActive(net) != 1)
		return 0;
	if (count_ports(net) > 0) {
		_cleanup_(virNetworkFree_p) virNetworkPtr back = virNetworkDefineXML(conn, old);

		return error_set(err, ERROR_BUSY,
			"cannot change the network '" NETWORK_NAME
			"' while boxes run; stop them first: box down all%s",
			back ? "" : " (and its old definition could not be put back)");
	}
	return restart(net, err);
}

int network_setup(virConnectPtr conn, const char *def, bool *ret_changed, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = virNetworkLookupByName(conn, NETWORK_NAME);
	bool changed = false;
	int autostart = 0;

	if (!net && virt_last_code() != VIR_ERR_NO_NETWORK)
		return error_virt(err, "cannot look up the network '" NETWORK_NAME "'");
	if (net) {
		if (redefine(conn, net, def, &changed, err) < 0)
			return -1;
	} else {
		net = virNetworkDefineXML(conn, def);
		if (!net)
			return error_virt(err, "cannot define the network '" NETWORK_NAME "'");
		changed = true;
	}
	if (virNetworkIsActive(net) != 1) {
		if (virNetworkCreate(net) < 0)
			return error_virt(err, "cannot start the network '" NETWORK_NAME "'");
		changed = true;
	}
	if (virNetworkGetAutostart(net, &autostart) < 0 ||
		(!autostart && virNetworkSetAutostart(net, 1) < 0))
		return error_virt(err, "cannot autostart the network '" NETWORK_NAME "'");
	if (ret_changed)
		*ret_changed = changed || !autostart;
	return 0;
}

int network_teardown(virConnectPtr conn, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = virNetworkLookupByName(conn, NETWORK_NAME);
	_cleanup_(virNetworkFree_p) virNetworkPtr still = NULL;

	if (!net && virt_last_code() == VIR_ERR_NO_NETWORK)
		return 0;
	if (!net)
		return error_virt(err, "cannot look up the network '" NETWORK_NAME "'");
	if (virNetworkIsActive(net) == 1 && virNetworkDestroy(net) < 0)
		return error_virt(err, "cannot stop the network '" NETWORK_NAME "'");
	if (virNetworkUndefine(net) < 0)
		return error_virt(err, "cannot undefine the network '" NETWORK_NAME "'");
	still = virNetworkLookupByName(conn, NETWORK_NAME);
	if (still)
		return error_set(err, ERROR_FAILED,
			"the network '" NETWORK_NAME "' is still there after it was undefined");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/port.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/xml.h"

enum { TEXT_MAX = 64 };

bool port_uuid_ok(const char *uuid)
{
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool hex = (uuid[i] >= '0' && uuid[i] <= '9') || (uuid[i] >= 'a' && uuid[i] <= 'f');

		if (dash ? uuid[i] != '-' : !hex)
			return false;
	}
	return uuid[36] == '\0';
}

/* The one name a box's tap may have: a stranger's domain cannot take a box's. */
static void tap_of(const char *uuid, char tap[NET_TAP_MAX])
{
	(void)snprintf(tap, NET_TAP_MAX, NET_TAP_PREFIX "%.8s", uuid);
}

static int wrong(struct error *err, const char *what)
{
	if (err->kind == ERROR_NONE)
		return error_set(err, ERROR_INVALID, "the box's %s is missing", what);
	err->kind = ERROR_INVALID;
	return error_wrap(err, "the box's %s", what);
}

static int read_address(struct xml *x, struct xml_node *mark, const struct net_config *config,
	struct net_port *port, struct error *err)
{
	char text[TEXT_MAX], subnet[16];

	if (xml_copy(x, mark, "box:address", text, sizeof(text), err) <= 0 ||
		parse_ipv4(text, "address", &port->addr, err) < 0)
		return wrong(err, "address");
	if (!net_is_box_address(config, port->addr))
		return error_set(err, ERROR_INVALID,
			"the box's address '%s' is not one of this host's network %s/%u", text,
			net_format_ipv4(config->subnet, subnet), config->prefix);
	return 0;
}

static int read_door(struct xml *x, struct xml_node *node, struct net_port *port, struct error *err)
{
	uint64_t host = 0, inside = 0;

	if (xml_u64(x, node, "@host", 65535, &host, err) <= 0 ||
		xml_u64(x, node, "@port", 65535, &inside, err) <= 0 || host == 0 || inside == 0)
		return wrong(err, "door");
	for (size_t i = 0; i < port->n_doors; i++) {
		if (port->doors[i].host == host)
			return error_set(err, ERROR_INVALID,
				"the box has two doors at 127.0.0.1:%u", (unsigned)host);
	}
	port->doors[port->n_doors++] = (struct net_door){ .host = (uint16_t)host,
		.port = (uint16_t)inside };
	return 0;
}

static int read_doors(
	struct xml *x, struct xml_node *mark, struct net_port *port, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes doors = { 0 };

	if (xml_nodes(x, mark, "box:door", &doors, err) < 0)
		return -1;
	if (doors.len > NET_DOORS_MAX)
		return error_set(
			err, ERROR_INVALID, "the box has more than %d doors", NET_DOORS_MAX);
	xml_foreach(node, &doors) {
		if (read_door(x, node, port, err) < 0)
			return -1;
	}
	return 0;
}

/* The MAC may be any host's address, but not the gateway's: it would be the gateway to its siblings. */
static int read_mac(struct xml *x, struct xml_node *nic, struct net_port *port, struct error *err)
{
	uint8_t gateway[6];
	char text[TEXT_MAX];

	if (xml_copy(x, nic, "mac/@address", text, sizeof(text), err) <= 0 ||
		parse_mac(text, "MAC", port->mac, err) < 0 ||
		parse_mac(NET_GATEWAY_MAC, "MAC", gateway, err) < 0)
		return wrong(err, "MAC");
	if (port->mac[0] & 1 || memcmp(port->mac, gateway, sizeof(gateway)) == 0 ||
		memcmp(port->mac, "\0\0\0\0\0", sizeof(gateway)) == 0)
		return error_set(err, ERROR_INVALID, "no box may have the MAC '%s'", text);
	return 0;
}

/* 1 when the domain has exactly one NIC on boxnet with the box's own tap, 0 when none, -1 when more. */
static int read_nic(struct xml *x, struct net_port *port, struct error *err)
{
	static const char nics[] =
		"//domain/devices/interface[@type='network'][source/@network='" NET_BRIDGE "']";
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };
	char tap[TEXT_MAX];
	int found = 0, ret;

	if (xml_nodes(x, NULL, nics, &nodes, err) < 0)
		return -1;
	xml_foreach(node, &nodes) {
		ret = xml_copy(x, node, "target/@dev", tap, sizeof(tap), err);
		if (ret < 0)
			return -1;
		if (ret == 0 || !str_equal(tap, port->tap))
			continue;
		if (++found > 1)
			return error_set(
				err, ERROR_INVALID, "the box has two NICs called '%s'", port->tap);
		if (read_mac(x, node, port, err) < 0)
			return -1;
	}
	return found;
}

int port_from_domain(const char *xml, size_t len, const struct net_config *config,
	struct net_port *ret, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(xml, len, "the domain's XML", err);
	_cleanup_xml_nodes_ struct xml_nodes marks = { 0 };
	struct net_port port = { 0 };
	int found;

	if (!x || xml_namespace(x, "box", PORT_NAMESPACE, err) < 0 ||
		xml_nodes(x, NULL, "//domain/metadata/box:box", &marks, err) < 0)
		return -1;
	if (marks.len == 0)
		return 0;
	if (xml_copy(x, NULL, "//domain/uuid", port.uuid, sizeof(port.uuid), err) <= 0 ||
		!port_uuid_ok(port.uuid))
		return wrong(err, "UUID");
	tap_of(port.uuid, port.tap);
	found = read_nic(x, &port, err);
	if (found <= 0)
		return found;
	if (read_address(x, marks.items[0], config, &port, err) < 0 ||
		read_doors(x, marks.items[0], &port, err) < 0)
		return -1;
	*ret = port;
	return 1;
}

int port_conflict(const struct net_port *port, const struct net_port *other, struct error *err)
{
	char text[18];

	if (str_equal(port->uuid, other->uuid))
		return 0;
	if (str_equal(port->tap, other->tap))
		return error_set(err, ERROR_EXISTS, "the tap '%s' is that of the running box %s",
			port->tap, other->uuid);
	if (memcmp(port->mac, other->mac, sizeof(port->mac)) == 0)
		return error_set(err, ERROR_EXISTS, "the MAC '%s' is that of the running box %s",
			net_format_mac(port->mac, text), other->uuid);
	if (port->addr == other->addr)
		return error_set(err, ERROR_EXISTS,
			"the address '%s' is that of the running box %s",
			net_format_ipv4(port->addr, text), other->uuid);
	for (size_t i = 0; i < port->n_doors; i++) {
		for (size_t j = 0; j < other->n_doors; j++) {
			if (port->doors[i].host == other->doors[j].host)
				return error_set(err, ERROR_EXISTS,
					"the door at 127.0.0.1:%u is that of the running box %s",
					port->doors[i].host, other->uuid);
		}
	}
	return 0;
}

void port_format(const struct net_port *port, struct str *into)
{
	char text[18];

	str_printf(into, "tap %s\n", port->tap);
	str_printf(into, "mac %s\n", net_format_mac(port->mac, text));
	str_printf(into, "address %s\n", net_format_ipv4(port->addr, text));
	for (size_t i = 0; i < port->n_doors; i++)
		str_printf(into, "door %u %u\n", port->doors[i].host, port->doors[i].port);
}

static int parse_door(char *text, struct net_port *port, struct error *err)
{
	char *inside = strchr(text, ' ');
	uint64_t host = 0, number = 0;

	if (!inside || port->n_doors == NET_DOORS_MAX)
		return error_set(err, ERROR_INVALID, "bad door '%s'", text);
	*inside++ = '\0';
	if (parse_u64(text, 1, 65535, "door", &host, err) < 0 ||
		parse_u64(inside, 1, 65535, "door", &number, err) < 0)
		return -1;
	port->doors[port->n_doors++] = (struct net_door){ .host = (uint16_t)host,
		.port = (uint16_t)number };
	return 0;
}

static int parse_line(char *line, struct net_port *port, struct error *err)
{
	char *value = strchr(line, ' ');

	if (!value)
		return error_set(err, ERROR_INVALID, "bad line '%s'", line);
	*value++ = '\0';
	if (str_equal(line, "mac"))
		return parse_mac(value, "mac", port->mac, err);
	if (str_equal(line, "address"))
		return parse_ipv4(value, "address", &port->addr, err);
	if (str_equal(line, "door"))
		return parse_door(value, port, err);
	if (str_equal(line, "tap") && str_equal(value, port->tap))
		return 0;
	return error_set(err, ERROR_INVALID, "bad line '%s'", line);
}

int port_parse(const char *text, const char *uuid, struct net_port *ret, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(text, err);
	struct net_port port = { 0 };
	char *next = copy;

	if (!copy)
		return -1;
	if (!port_uuid_ok(uuid))
		return error_set(err, ERROR_INVALID, "'%s' is not a UUID", uuid);
	memcpy(port.uuid, uuid, sizeof(port.uuid));
	tap_of(uuid, port.tap);
	while (next) {
		char *line = strsep(&next, "\n");

		if (line[0] && parse_line(line, &port, err) < 0) {
			err->kind = ERROR_INVALID;
			return -1;
		}
	}
	if (port.addr == 0 || memcmp(port.mac, "\0\0\0\0\0", sizeof(port.mac)) == 0)
		return error_set(err, ERROR_INVALID, "the record is cut");
	*ret = port;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets, and what a box puts into them. A box is in all of them or, without an entry, nothing of it
 * passes: the rules ask for membership and drop the rest, so a flushed set closes the door.
 */
#include <arpa/inet.h>
#include <string.h>

#include "net/rules-fields.h"
#include "net/rules.h"

const struct set_def rules_sets[] = {
	/* which MAC may send from, and be sent to, which tap */
	{ RULES_BRIDGE, "taps", { PART_TAP, PART_MAC }, { PART_NONE }, NULL },
	/* which address that MAC may use on that tap, in IPv4 and in ARP */
	{ RULES_BRIDGE, "sources", { PART_TAP, PART_MAC, PART_ADDR }, { PART_NONE }, NULL },
	/* which tap hears the host's ARP request for an address */
	{ RULES_BRIDGE, "addresses", { PART_TAP, PART_ADDR }, { PART_NONE }, NULL },
	/* whose DHCP answers that tap hears when they are broadcast */
	{ RULES_BRIDGE, "clients", { PART_TAP, PART_CHADDR }, { PART_NONE },
		"oifname . @th,288,48" },
	/* MACs of boxes: seen on any other port they are stolen */
	{ RULES_BRIDGE, "macs", { PART_MAC }, { PART_NONE }, NULL },
	/* the same two where packets are routed, for frames that came in by no tap of ours */
	{ RULES_INET, "hosts", { PART_MAC, PART_ADDR }, { PART_NONE }, NULL },
	{ RULES_INET, "macs", { PART_MAC }, { PART_NONE }, NULL },
	/* doors: port on 127.0.0.1 to address and port of the box; and these two by themselves */
	{ RULES_INET, "doors", { PART_DOOR_HOST }, { PART_ADDR, PART_DOOR_PORT }, NULL },
	{ RULES_INET, "door_targets", { PART_ADDR, PART_DOOR_PORT }, { PART_NONE }, NULL },
};
const size_t n_rules_sets = ARRAY_LEN(rules_sets);

static const struct part_row {
	enum field_type type;
	unsigned len;
	bool door;
	bool raw; /* nft spells it as a number */
} part_rows[PARTS] = {
	[PART_TAP] = { TYPE_IFNAME, 16 },
	[PART_MAC] = { TYPE_ETHER, 6 },
	[PART_CHADDR] = { TYPE_ETHER, 6, .raw = true },
	[PART_ADDR] = { TYPE_IPV4, 4 },
	[PART_DOOR_HOST] = { TYPE_SERVICE, 2, .door = true },
	[PART_DOOR_PORT] = { TYPE_SERVICE, 2, .door = true },
};

/* The kernel's registers are words of 4 bytes. */
static unsigned padded(enum part part)
{
	return (part_rows[part].len + 3) & ~3u;
}

unsigned rules_parts_len(const enum part parts[RULES_JOINED])
{
	unsigned len = 0;

	for (size_t i = 0; i < RULES_JOINED && parts[i]; i++)
		len += padded(parts[i]);
	/* A key of one part has its own length: nothing follows that would need alignment. */
	return parts[0] && !parts[1] ? part_rows[parts[0]].len : len;
}

uint32_t rules_parts_type(const enum part parts[RULES_JOINED])
{
	uint32_t type = 0;

	for (size_t i = 0; i < RULES_JOINED && parts[i]; i++)
		type = type << 6 | (uint32_t)part_rows[parts[i]].type;
	return type;
}

size_t rules_element_count(const struct set_def *set, const struct net_port *port)
{
	for (size_t i = 0; i < RULES_JOINED && set->key[i]; i++) {
		if (part_rows[set->key[i]].door)
			return port->n_doors;
	}
	return 1;
}

static void part_encode(
	enum part part, const struct net_port *port, const struct net_door *door, uint8_t *bytes)
{
	uint32_t addr = htonl(port->addr);
	uint16_t number;

	switch (part) {
	case PART_TAP:
		memcpy(bytes, port->tap, strnlen(port->tap, NET_TAP_MAX));
		break;
	case PART_MAC:
	case PART_CHADDR:
		memcpy(bytes, port->mac, sizeof(port->mac));
		break;
	case PART_ADDR:
		memcpy(bytes, &addr, sizeof(addr));
		break;
	default:
		number = htons(part == PART_DOOR_HOST ? door->host : door->port);
		memcpy(bytes, &number, sizeof(number));
	}
}

static void parts_encode(const enum part parts[RULES_JOINED], const struct net_port *port,
	const struct net_door *door, uint8_t *bytes)
{
	for (size_t i = 0; i < RULES_JOINED && parts[i]; i++) {
		part_encode(parts[i], port, door, bytes);
		bytes += padded(parts[i]);
	}
}

void rules_element(
	const struct set_def *set, const struct net_port *port, size_t index, struct element *ret)
{
	*ret = (struct element){
		.key_len = rules_parts_len(set->key),
		.data_len = rules_parts_len(set->data),
	};
	parts_encode(set->key, port, &port->doors[index], ret->key);
	parts_encode(set->data, port, &port->doors[index], ret->data);
}

static void print_part(enum part part, const uint8_t *bytes, struct str *into)
{
	char text[18];
	uint32_t addr;
	uint16_t number;

	switch (part_rows[part].type) {
	case TYPE_IFNAME:
		str_append_char(into, '"');
		str_append_escaped(into, bytes, strnlen((const char *)bytes, NET_TAP_MAX), false);
		str_append_char(into, '"');
		break;
	case TYPE_ETHER:
		if (part_rows[part].raw) {
			str_append(into, "0x");
			for (size_t i = 0; i < 6; i++)
				str_printf(into, "%02x", bytes[i]);
			break;
		}
		str_append(into, net_format_mac(bytes, text));
		break;
	case TYPE_IPV4:
		memcpy(&addr, bytes, sizeof(addr));
		str_append(into, net_format_ipv4(ntohl(addr), text));
		break;
	default:
		memcpy(&number, bytes, sizeof(number));
		str_printf(into, "%u", ntohs(number));
	}
}

static void print_parts(const enum part parts[RULES_JOINED], const uint8_t *bytes, struct str *into)
{
	for (size_t i = 0; i < RULES_JOINED && parts[i]; i++) {
		if (i > 0)
			str_append(into, " . ");
		print_part(parts[i], bytes, into);
		bytes += padded(parts[i]);
	}
}

void rules_print_element_bytes(const struct set_def *set, const struct element *e, struct str *into)
{
	print_parts(set->key, e->key, into);
	if (set->data[0]) {
		str_append(into, " : ");
		print_parts(set->data, e->data, into);
	}
}

void rules_print_element(
	const struct set_def *set, const struct net_port *port, size_t index, struct str *into)
{
	struct element e;

	rules_element(set, port, index, &e);
	rules_print_element_bytes(set, &e, into);
}

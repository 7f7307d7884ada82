/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory of operation.
 *
 * A frame of a box goes: its tap (a port of the bridge) -> bridge prerouting -> either to another
 * port (bridge forward) or up to the host with boxnet as its interface -> inet prerouting -> inet
 * input, when it is for an address of the host, or inet forward -> nat postrouting. What the host itself sends
 * goes inet output -> inet postrouting -> bridge output -> a port.
 *
 *  1. Every chain has policy accept and begins by leaving alone what is not boxnet's: this program
 *     shares the host with others. Inside that, everything not named is dropped, and counted.
 *  2. Membership in a set is what lets a box's frames in. A box without elements, a set that somebody
 *     flushed, a tap that somebody made by hand: nothing passes.
 *  3. Interfaces are matched by name, never an address alone: an address outlives its box.
 *  4. Blocked destinations are dropped before connection tracking is asked, so that a flow that began
 *     while the rules were not in force ends when they are.
 *  5. A frame for a group address in 01:80:c2:00:00:0x skips bridge prerouting and comes up on the
 *     port itself, not on the bridge, which learns from it all the same (net/bridge/br_input.c): hence
 *     bridge input, and "iifname bxt*" in inet prerouting.
 *  6. 127/8, 0/8 and 224/4 are dropped in inet prerouting: routing would send them to input, or
 *     throw them away uncounted, before inet forward sees them. 10/8 and the others wait for forward, which
 *     comes after destination NAT: a port published by a container engine is no way around.
 *  7. The bridge's own frames go to taps only, and to the tap that they are for: the bridge floods
 *     what it has not learnt, and one box would see what is meant for another.
 *  8. The kernel may lack "meta ibrname" (NFT_BRIDGE_META). Nothing depends on it. A NIC that somebody puts on the
 *     bridge by hand is stopped by: its name (bridge forward, output) and its absence from the sets (inet).
 *  9. In inet output a door's packets still carry "lo" as their interface, since destination NAT
 *     happened in the same hook; so doors are scoped in inet postrouting.
 */
#include "net/rules.h"

#include <stdio.h>
#include <string.h>

#include "net/rules-fields.h"

/* clang-format off */
#define EQ(field, value) { OP_EQ, { field }, value }
#define NE(field, value) { OP_NE, { field }, value }
#define IN(set, ...) { OP_IN, { __VA_ARGS__ }, set }
#define NOT_IN(set, ...) { OP_NOT_IN, { __VA_ARGS__ }, set }

#define FROM_BOX EQ(FIELD_IIFNAME, NET_BRIDGE)
#define TO_BOX EQ(FIELD_OIFNAME, NET_BRIDGE)
#define FROM_TAP EQ(FIELD_IIFNAME, NET_TAP_PREFIX "*")
#define TO_TAP EQ(FIELD_OIFNAME, NET_TAP_PREFIX "*")
#define NOT_FROM_TAP NE(FIELD_IIFNAME, NET_TAP_PREFIX "*")
#define NOT_TO_TAP NE(FIELD_OIFNAME, NET_TAP_PREFIX "*")

#define DROP(name, text, ...) { .says = text, .match = { __VA_ARGS__ }, .counter = name, .verdict = RULES_DROP }
#define ACCEPT(text, ...) { .says = text, .match = { __VA_ARGS__ }, .verdict = RULES_ACCEPT }
/* Destination 01:80:c2:00:00:0x (IEEE 802.1D): not forwarded, and not shown to bridge prerouting. */
#define LINK_LOCAL_GROUP EQ(FIELD_ETHER_LINK_LOCAL, "01:80:c2:00:00:00")
#define BLOCK(name, cidr) DROP(name, "boxes to " cidr, FROM_BOX, EQ(FIELD_IP_DADDR, cidr))

/* Kernels with NFT_BRIDGE_META only; an addition to the rest. */
static const struct rule ibrname_prerouting =
	DROP("drop_foreign_port", "frames of a port of boxnet that is no tap of a box",
		EQ(FIELD_IBRNAME, NET_BRIDGE), NOT_FROM_TAP);
static const struct rule ibrname_forward =
	DROP("drop_box_to_box", "frames between ports of boxnet, whatever they are called",
		EQ(FIELD_IBRNAME, NET_BRIDGE));

static const struct rule ibrname_input =
	DROP("drop_foreign_port", "frames that come up past the bridge on a port that is no tap of a box",
		EQ(FIELD_IBRNAME, NET_BRIDGE), NOT_FROM_TAP);

static const struct rule bridge_prerouting[] = {
	DROP("drop_stolen_mac", "a box's MAC on a port that is no tap of a box",
		NOT_FROM_TAP, IN("macs", FIELD_ETHER_SADDR)),
	ACCEPT("ports of other bridges", NOT_FROM_TAP),
	DROP("drop_spoof_mac", "frames whose MAC is not that of the tap's box; taps without an entry",
		NOT_IN("taps", FIELD_IIFNAME, FIELD_ETHER_SADDR)),
	DROP("drop_vlan", "frames with a VLAN tag", EQ(FIELD_ETHER_TYPE, "8021q")),
	DROP("drop_qinq", "frames with two VLAN tags", EQ(FIELD_ETHER_TYPE, "8021ad")),
	DROP("drop_ipv6_bridge", "IPv6 frames of boxes", EQ(FIELD_ETHER_TYPE, "ip6")),
	DROP("drop_multicast_frame", "frames of boxes to a group other than broadcast",
		EQ(FIELD_ETHER_GROUP, "01:00:00:00:00:00"),
		NE(FIELD_ETHER_DADDR, "ff:ff:ff:ff:ff:ff")),
	ACCEPT("ARP with the box's own MAC and address",
		IN("sources", FIELD_IIFNAME, FIELD_ARP_SADDR_ETHER, FIELD_ARP_SADDR_IP)),
	ACCEPT("ARP probes, which have no sender address yet (RFC 5227)",
		EQ(FIELD_ARP_OPERATION, "request"), EQ(FIELD_ARP_SADDR_IP, "0.0.0.0"),
		IN("taps", FIELD_IIFNAME, FIELD_ARP_SADDR_ETHER)),
	DROP("drop_spoof_arp", "ARP that claims another MAC or address: the gateway's, a sibling's",
		EQ(FIELD_ETHER_TYPE, "arp")),
	DROP("drop_ethertype", "frames that are neither IPv4 nor ARP", NE(FIELD_ETHER_TYPE, "ip")),
	ACCEPT("a DHCP client that has no address yet",
		EQ(FIELD_IP_SADDR, "0.0.0.0"), EQ(FIELD_IP_DADDR, "255.255.255.255"),
		EQ(FIELD_UDP_SPORT, "68"), EQ(FIELD_UDP_DPORT, "67")),
	DROP("drop_spoof_ip", "packets whose source is not the box's own address",
		NOT_IN("sources", FIELD_IIFNAME, FIELD_ETHER_SADDR, FIELD_IP_SADDR)),
	DROP("drop_dhcp_server", "boxes that play DHCP server", EQ(FIELD_UDP_SPORT, "67")),
};

static const struct rule bridge_input[] = {
	DROP("drop_stolen_mac", "a box's MAC in a frame that a foreign port sends past the bridge",
		NOT_FROM_TAP, LINK_LOCAL_GROUP, IN("macs", FIELD_ETHER_SADDR)),
	DROP("drop_past_bridge", "IPv4 sent past a bridge, as no honest stack does",
		NOT_FROM_TAP, LINK_LOCAL_GROUP, EQ(FIELD_ETHER_TYPE, "ip")),
	DROP("drop_past_bridge", "IPv6 sent past a bridge, as no honest stack does",
		NOT_FROM_TAP, LINK_LOCAL_GROUP, EQ(FIELD_ETHER_TYPE, "ip6")),
	ACCEPT("what other bridges take up", NOT_FROM_TAP),
	DROP("drop_spoof_mac", "another's MAC in a frame past the bridge, which would learn from it",
		NOT_IN("taps", FIELD_IIFNAME, FIELD_ETHER_SADDR)),
	ACCEPT("IPv4, which is for the inet rules to judge", EQ(FIELD_ETHER_TYPE, "ip")),
	ACCEPT("ARP about the gateway, which is the only address that boxes may ask for",
		EQ(FIELD_ETHER_DADDR, "ff:ff:ff:ff:ff:ff"), EQ(FIELD_ARP_DADDR_IP, "$gateway")),
	ACCEPT("ARP to the gateway",
		EQ(FIELD_ETHER_DADDR, "$gateway_mac"), EQ(FIELD_ARP_DADDR_IP, "$gateway")),
	DROP("drop_to_host", "frames to the host that are neither", FROM_TAP),
};

static const struct rule bridge_forward[] = {
	DROP("drop_box_to_box", "frames of a box to any other port", FROM_TAP),
	DROP("drop_to_box", "frames of a foreign port to a box", TO_TAP),
};

static const struct rule bridge_output[] = {
	DROP("drop_foreign_port", "the gateway's frames to a port that is no tap of a box",
		NOT_TO_TAP, EQ(FIELD_ETHER_SADDR, "$gateway_mac")),
	ACCEPT("frames to the box they are for", IN("taps", FIELD_OIFNAME, FIELD_ETHER_DADDR)),
	ACCEPT("the gateway's ARP request, to the box it asks for",
		IN("addresses", FIELD_OIFNAME, FIELD_ARP_DADDR_IP)),
	ACCEPT("DHCP answers that are broadcast, to the client they are about",
		EQ(FIELD_ETHER_DADDR, "ff:ff:ff:ff:ff:ff"),
		EQ(FIELD_IP_SADDR, "$gateway"), EQ(FIELD_UDP_SPORT, "67"),
		EQ(FIELD_UDP_DPORT, "68"), IN("clients", FIELD_OIFNAME, FIELD_DHCP_CHADDR)),
	DROP("drop_flood", "what the bridge would flood to boxes it is not for", TO_TAP),
};

static const struct rule inet_prerouting[] = {
	DROP("drop_tap", "packets that come up on a tap itself, past the bridge", FROM_TAP),
	DROP("drop_ip_options", "packets with IP options: source routes, of which the next hop is not the destination",
		FROM_BOX, NE(FIELD_IP_HDRLENGTH, "5")),
	BLOCK("drop_loopback_127_8", "127.0.0.0/8"),
	BLOCK("drop_this_network_0_8", "0.0.0.0/8"),
	BLOCK("drop_multicast_224_4", "224.0.0.0/4"),
};

static const struct rule inet_input[] = {
	ACCEPT("what is not from boxnet", NE(FIELD_IIFNAME, NET_BRIDGE)),
	DROP("drop_ipv6_input", "IPv6 to the host", EQ(FIELD_NFPROTO, "ipv6")),
	ACCEPT("DHCP of a box that has no address yet",
		EQ(FIELD_IP_SADDR, "0.0.0.0"), EQ(FIELD_IP_DADDR, "255.255.255.255"),
		EQ(FIELD_UDP_SPORT, "68"), EQ(FIELD_UDP_DPORT, "67"),
		IN("macs", FIELD_ETHER_SADDR)),
	DROP("drop_foreign_host", "packets to the host whose MAC and address are no box's",
		NOT_IN("hosts", FIELD_ETHER_SADDR, FIELD_IP_SADDR)),
	ACCEPT("DHCP to the gateway", EQ(FIELD_IP_DADDR, "$gateway"),
		EQ(FIELD_UDP_SPORT, "68"), EQ(FIELD_UDP_DPORT, "67")),
	ACCEPT("DHCP to everybody", EQ(FIELD_IP_DADDR, "255.255.255.255"),
		EQ(FIELD_UDP_SPORT, "68"), EQ(FIELD_UDP_DPORT, "67")),
	ACCEPT("DNS to the gateway", EQ(FIELD_IP_DADDR, "$gateway"), EQ(FIELD_UDP_DPORT, "53")),
	ACCEPT("DNS over TCP to the gateway", EQ(FIELD_IP_DADDR, "$gateway"),
		EQ(FIELD_TCP_DPORT, "53")),
	ACCEPT("replies through an open door",
		EQ(FIELD_CT_STATE, "established"), EQ(FIELD_CT_DIRECTION, "reply"),
		EQ(FIELD_CT_STATUS, "dnat"), IN("door_targets", FIELD_IP_SADDR, FIELD_TCP_SPORT)),
	DROP("drop_host_gateway", "everything else to the gateway", EQ(FIELD_IP_DADDR, "$gateway")),
	DROP("drop_host", "everything to the host's other addresses", FROM_BOX),
};

static const struct rule inet_forward[] = {
	DROP("drop_ipv6_forward", "IPv6 of boxes", FROM_BOX, EQ(FIELD_NFPROTO, "ipv6")),
	DROP("drop_ipv6_forward", "IPv6 to boxes", TO_BOX, EQ(FIELD_NFPROTO, "ipv6")),
	DROP("drop_box_to_box_routed", "boxes to boxes by way of the gateway", FROM_BOX, TO_BOX),
	DROP("drop_foreign_routed", "packets whose MAC and address are no box's", FROM_BOX,
		NOT_IN("hosts", FIELD_ETHER_SADDR, FIELD_IP_SADDR)),
	DROP("drop_host_published", "boxes to what the host publishes by destination NAT", FROM_BOX,
		EQ(FIELD_CT_STATUS, "dnat")),
	BLOCK("drop_lan_10_8", "10.0.0.0/8"),
	BLOCK("drop_lan_172_16_12", "172.16.0.0/12"),
	BLOCK("drop_lan_192_168_16", "192.168.0.0/16"),
	BLOCK("drop_cgnat_100_64_10", "100.64.0.0/10"),
	BLOCK("drop_link_local_169_254_16", "169.254.0.0/16"),
	BLOCK("drop_protocol_192_0_0_24", "192.0.0.0/24"),
	BLOCK("drop_benchmark_198_18_15", "198.18.0.0/15"),
	BLOCK("drop_reserved_240_4", "240.0.0.0/4"),
	ACCEPT("boxes to the public internet", FROM_BOX,
		EQ(FIELD_CT_STATE, "new,established,related")),
	DROP("drop_invalid", "packets that belong to no connection, which NAT would not hide", FROM_BOX),
	ACCEPT("replies from the public internet", TO_BOX,
		EQ(FIELD_CT_STATE, "established,related"), EQ(FIELD_CT_DIRECTION, "reply")),
	DROP("drop_outside_to_box", "anybody else to boxes", TO_BOX),
};

static const struct rule inet_output[] = {
	ACCEPT("what does not go to boxnet", NE(FIELD_OIFNAME, NET_BRIDGE)),
	DROP("drop_ipv6_output", "IPv6 of the host to boxes", EQ(FIELD_NFPROTO, "ipv6")),
	ACCEPT("DHCP answers", EQ(FIELD_IP_SADDR, "$gateway"),
		EQ(FIELD_UDP_SPORT, "67"), EQ(FIELD_UDP_DPORT, "68")),
	ACCEPT("DNS answers", EQ(FIELD_CT_STATE, "established"), EQ(FIELD_CT_DIRECTION, "reply"),
		EQ(FIELD_IP_SADDR, "$gateway"), EQ(FIELD_UDP_SPORT, "53")),
	ACCEPT("DNS answers over TCP", EQ(FIELD_CT_STATE, "established"),
		EQ(FIELD_CT_DIRECTION, "reply"), EQ(FIELD_IP_SADDR, "$gateway"),
		EQ(FIELD_TCP_SPORT, "53")),
	ACCEPT("the gateway's word that a packet was too big, or that nobody is there",
		EQ(FIELD_CT_STATE, "related"), EQ(FIELD_ICMP_TYPE, "destination-unreachable")),
	ACCEPT("the gateway's word that a packet's time ran out", EQ(FIELD_CT_STATE, "related"),
		EQ(FIELD_ICMP_TYPE, "time-exceeded")),
	DROP("drop_host_to_box", "the host to boxes", TO_BOX),
};

static const struct rule inet_postrouting[] = {
	DROP("drop_door_closed", "connections of a door that is not open any more", TO_BOX,
		EQ(FIELD_CT_STATUS, "dnat"), EQ(FIELD_CT_DIRECTION, "original"),
		NOT_IN("door_targets", FIELD_IP_DADDR, FIELD_TCP_DPORT)),
};

static const struct rule inet_doors[] = {
	{ .says = "open doors, from the host's own 127.0.0.1 alone",
		.match = { EQ(FIELD_IP_DADDR, "127.0.0.1"), EQ(FIELD_L4PROTO, "tcp") },
		.verdict = RULES_DNAT_DOOR },
};

static const struct rule inet_source_nat[] = {
	{ .says = "connections through a door come from the gateway",
		.match = { TO_BOX, EQ(FIELD_IP_SADDR, "127.0.0.0/8") },
		.verdict = RULES_MASQUERADE },
	{ .says = "boxes go out under the host's address",
		.match = { FROM_BOX, NE(FIELD_OIFNAME, NET_BRIDGE), EQ(FIELD_IP_SADDR, "$subnet") },
		.verdict = RULES_MASQUERADE },
};
/* clang-format on */

/*
 * Priorities. A drop is final wherever it happens; before others' filters (0 in inet, -200 in bridge)
 * it is also what the counters tell. Bridge prerouting comes before br_netfilter (0). NAT has to have
 * the standard priorities.
 */
static const struct chain_def {
	struct chain chain;
	const struct rule *rules;
	size_t n_rules;
	const struct rule *ibrname; /* goes first where the kernel takes it */
} chain_defs[] = {
	{ { RULES_BRIDGE, "prerouting", false, RULES_PREROUTING, -300, { NULL }, 0 },
		bridge_prerouting, ARRAY_LEN(bridge_prerouting), &ibrname_prerouting },
	{ { RULES_BRIDGE, "input", false, RULES_INPUT, -210, { NULL }, 0 }, bridge_input,
		ARRAY_LEN(bridge_input), &ibrname_input },
	{ { RULES_BRIDGE, "forward", false, RULES_FORWARD, -210, { NULL }, 0 }, bridge_forward,
		ARRAY_LEN(bridge_forward), &ibrname_forward },
	{ { RULES_BRIDGE, "output", false, RULES_OUTPUT, -210, { NULL }, 0 }, bridge_output,
		ARRAY_LEN(bridge_output), NULL },
	{ { RULES_INET, "prerouting", false, RULES_PREROUTING, -310, { NULL }, 0 }, inet_prerouting,
		ARRAY_LEN(inet_prerouting), NULL },
	{ { RULES_INET, "input", false, RULES_INPUT, -10, { NULL }, 0 }, inet_input,
		ARRAY_LEN(inet_input), NULL },
	{ { RULES_INET, "forward", false, RULES_FORWARD, -10, { NULL }, 0 }, inet_forward,
		ARRAY_LEN(inet_forward), NULL },
	{ { RULES_INET, "output", false, RULES_OUTPUT, -10, { NULL }, 0 }, inet_output,
		ARRAY_LEN(inet_output), NULL },
	{ { RULES_INET, "postrouting", false, RULES_POSTROUTING, -10, { NULL }, 0 },
		inet_postrouting, ARRAY_LEN(inet_postrouting), NULL },
	{ { RULES_INET, "doors", true, RULES_OUTPUT, -100, { NULL }, 0 }, inet_doors,
		ARRAY_LEN(inet_doors), NULL },
	{ { RULES_INET, "source_nat", true, RULES_POSTROUTING, 100, { NULL }, 0 }, inet_source_nat,
		ARRAY_LEN(inet_source_nat), NULL },
};
_Static_assert(ARRAY_LEN(chain_defs) == RULES_CHAINS, "struct ruleset holds every chain");

void rules_build(const struct net_config *config, bool ibrname, struct ruleset *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->config = *config;
	for (size_t i = 0; i < ARRAY_LEN(chain_defs); i++) {
		const struct chain_def *def = &chain_defs[i];
		struct chain *chain = &ret->chains[ret->n_chains++];

		*chain = def->chain;
		if (ibrname && def->ibrname)
			chain->rules[chain->n_rules++] = def->ibrname;
		for (size_t j = 0; j < def->n_rules; j++)
			chain->rules[chain->n_rules++] = &def->rules[j];
	}
}

size_t rules_counters(
	const struct ruleset *rs, enum rules_family family, const char **ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->n_chains; i++) {
		const struct chain *chain = &rs->chains[i];

		for (size_t j = 0; chain->family == family && j < chain->n_rules; j++) {
			const char *name = chain->rules[j]->counter;
			size_t k = 0;

			while (name && k < n && !str_equal(ret[k], name))
				k++;
			if (name && k == n && n < max)
				ret[n++] = name;
		}
	}
	return n;
}

const char *rules_counter_says(const struct ruleset *rs, const char *counter)
{
	for (size_t i = 0; i < rs->n_chains; i++) {
		for (size_t j = 0; j < rs->chains[i].n_rules; j++) {
			if (str_equal(rs->chains[i].rules[j]->counter, counter))
				return rs->chains[i].rules[j]->says;
		}
	}
	return NULL;
}

const char *rules_value(const struct ruleset *rs, const char *value, char buf[24])
{
	const struct net_config *c = &rs->config;

	if (value[0] != '$')
		return value;
	if (str_equal(value, "$gateway_mac"))
		return NET_GATEWAY_MAC;
	if (str_equal(value, "$gateway"))
		return net_format_ipv4(net_gateway(c), buf);
	(void)net_format_ipv4(c->subnet, buf); /* $subnet is the only one left */
	(void)snprintf(buf + strlen(buf), 4, "/%u", c->prefix & 31);
	return buf;
}

static bool match_present(const struct match *matches, size_t n, enum field field)
{
	for (size_t i = 0; i < n; i++) {
		if (matches[i].op == OP_EQ && matches[i].fields[0] == field)
			return true;
	}
	return false;
}

size_t rules_expand(
	enum rules_family family, const struct rule *rule, struct match ret[2 * RULES_MATCHES])
{
	size_t n = 0;

	for (size_t i = 0; i < RULES_MATCHES && rule->match[i].fields[0]; i++) {
		const struct match *m = &rule->match[i];

		for (size_t j = 0; j < RULES_JOINED && m->fields[j]; j++) {
			const struct field_row *row = &field_rows[m->fields[j]];
			enum field needed = row->needs[family].field;

			if (needed && !match_present(ret, n, needed) && n < 2 * RULES_MATCHES - 1)
				ret[n++] = (struct match)EQ(needed, row->needs[family].value);
		}
		if (n < 2 * RULES_MATCHES)
			ret[n++] = *m;
	}
	return n;
}

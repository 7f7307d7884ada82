/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/net/probes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/conntrack.h"
#include "net/nft.h"

enum { COUNTERS_MAX = 96, WAIT_MS = 300 };

const struct net_port probe_ports[2] = {
	{
		.uuid = "00000001-0000-4000-8000-000000000000",
		.tap = "bxt00000001",
		.mac = { MAC_A },
		.addr = 0x0a580002,
		.doors = { { 8080, 80 } },
		.n_doors = 1,
	},
	{
		.uuid = "00000002-0000-4000-8000-000000000000",
		.tap = "bxt00000002",
		.mac = { MAC_B },
		.addr = 0x0a580003,
	},
};

/* clang-format off */
#define IP(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define IP_GW IP(10, 88, 0, 1)
#define IP_A IP(10, 88, 0, 2)
#define IP_B IP(10, 88, 0, 3)
#define IP_RAW IP(10, 88, 0, 200)
#define IP_WAN IP(203, 0, 113, 80)
#define IP_HV_WAN IP(203, 0, 113, 2)
#define IP_LAN IP(10, 20, 30, 40)
#define IP_HV_LAN IP(10, 20, 30, 1)
#define IP_ALL IP(255, 255, 255, 255)

#define INET(name) .counter = name, .family = RULES_INET
#define BRIDGE(name) .counter = name, .family = RULES_BRIDGE

/* An honest packet of box A to the outside: by way of the gateway. */
#define OF_A(kind_, dst, port) { .kind = kind_, .src_mac = { MAC_A }, .dst_mac = { MAC_GW }, \
	.src_ip = IP_A, .dst_ip = dst, .dst_port = port }
#define OF_RAW(kind_, dst, port) { .kind = kind_, .src_mac = { MAC_RAW }, .dst_mac = { MAC_GW }, \
	.src_ip = IP_RAW, .dst_ip = dst, .dst_port = port }
#define OF_LAN(kind_, dst, port) { .kind = kind_, .src_mac = { MAC_LAN }, .dst_mac = { MAC_HV_LAN }, \
	.src_ip = IP_LAN, .dst_ip = dst, .dst_port = port }
#define OF_WAN(kind_, dst, port) { .kind = kind_, .src_mac = { MAC_WAN }, .dst_mac = { MAC_HV_WAN }, \
	.src_ip = IP_WAN, .dst_ip = dst, .dst_port = port }
/* A packet of box A straight to box B. */
#define A_TO_B(kind_) { .kind = kind_, .src_mac = { MAC_A }, .dst_mac = { MAC_B }, \
	.src_ip = IP_A, .dst_ip = IP_B, .dst_port = 7777 }
#define HV_TO(kind_, dst, port) { .kind = kind_, .src_ip = IP_GW, .dst_ip = dst, .dst_port = port }

/* The three kinds to an address that is not the internet; all go by the same rule. */
#define BLOCKED(what, dst, counter_, answers) \
	{ "UDP to " what, BOX_A, OF_A(PACKET_UDP, dst, 9), .want = 0, INET(counter_), .open = answers }, \
	{ "TCP to " what, BOX_A, OF_A(PACKET_TCP_SYN, dst, 443), .want = 0, INET(counter_), .open = answers }, \
	{ "ping to " what, BOX_A, OF_A(PACKET_ICMP_ECHO, dst, 0), .want = 0, INET(counter_), .open = answers }

/* Of a source port the host sees only the replies that it makes itself. */
static int story_door(struct world *w, const struct ruleset *rs, struct str *why, struct error *err);
static int story_old_flow(struct world *w, const struct ruleset *rs, struct str *why, struct error *err);
static int story_element_gone(struct world *w, const struct ruleset *rs, struct str *why, struct error *err);
static int story_address_reused(struct world *w, const struct ruleset *rs, struct str *why, struct error *err);

const struct probe probes[] = {
	/* ---- the internet, and what comes back from it ---- */
	{ "UDP to the internet, masqueraded; the error that comes back", BOX_A, OF_A(PACKET_UDP, IP_WAN, 9),
		.want = AT(WAN) | ICMP_ERROR, .want_source = IP_HV_WAN, .open = AT(WAN) },
	{ "TCP to the internet", BOX_A, OF_A(PACKET_TCP_SYN, IP_WAN, 443), .want = AT(WAN) | ANSWER,
		.want_source = IP_HV_WAN, .open = AT(WAN) },
	{ "ping to the internet", BOX_A, OF_A(PACKET_ICMP_ECHO, IP_WAN, 0), .want = AT(WAN) | ANSWER,
		.want_source = IP_HV_WAN, .open = AT(WAN) },
	{ "a TTL that runs out at the gateway", BOX_A, OF_A(PACKET_UDP, IP_WAN, 9), TTL_1, .want = ICMP_ERROR,
		.open = ICMP_ERROR },
	{ "a packet too big for the way (path MTU discovery)", BOX_A, OF_A(PACKET_UDP, IP(203, 0, 114, 9), 9),
		.want = ICMP_ERROR, .open = ICMP_ERROR },
	{ "a packet of no connection is not let out un-hidden", BOX_A, OF_A(PACKET_ICMP_ECHO, IP_WAN, 0), ICMP_REPLY,
		.want = 0, INET("drop_invalid"), .open = AT(WAN) },

	/* ---- what is not the internet ---- */
	BLOCKED("the LAN, 10/8", IP_LAN, "drop_lan_10_8", AT(LAN)),
	BLOCKED("the LAN, 172.16/12", IP(172, 16, 5, 40), "drop_lan_172_16_12", AT(LAN)),
	BLOCKED("the LAN, 192.168/16", IP(192, 168, 77, 40), "drop_lan_192_168_16", AT(LAN)),
	BLOCKED("carrier space, 100.64/10", IP(100, 64, 7, 40), "drop_cgnat_100_64_10", AT(LAN)),
	BLOCKED("cloud metadata, 169.254/16", IP(169, 254, 169, 254), "drop_link_local_169_254_16", AT(LAN)),
	BLOCKED("192.0.0/24", IP(192, 0, 0, 40), "drop_protocol_192_0_0_24", AT(LAN)),
	BLOCKED("198.18/15", IP(198, 18, 5, 40), "drop_benchmark_198_18_15", AT(LAN)),
	BLOCKED("240/4", IP(240, 0, 0, 40), "drop_reserved_240_4", AT(LAN)),
	{ "UDP to the host's 127.0.0.1", BOX_A, OF_A(PACKET_UDP, IP(127, 0, 0, 1), 9999), .want = 0,
		INET("drop_loopback_127_8"), .open = AT_HOST },
	{ "TCP to the host's 127.0.0.1", BOX_A, OF_A(PACKET_TCP_SYN, IP(127, 0, 0, 1), 22), .want = 0,
		INET("drop_loopback_127_8"), .open = 0 /* the answer has no way back */ },
	{ "UDP to 0.0.0.5", BOX_A, OF_A(PACKET_UDP, 5, 9999), .want = 0, INET("drop_this_network_0_8"), .open = 0 },
	{ "UDP to 224.0.0.1 in a frame to the gateway", BOX_A, OF_A(PACKET_UDP, IP(224, 0, 0, 1), 9999), .want = 0,
		INET("drop_multicast_224_4"), .open = AT_HOST },
	{ "an established flow to the LAN ends when rules come", .story = story_old_flow },

	/* ---- the host ---- */
	{ "UDP to the gateway", BOX_A, OF_A(PACKET_UDP, IP_GW, 9999), .want = 0, INET("drop_host_gateway"),
		.open = AT_HOST },
	{ "TCP to the gateway", BOX_A, OF_A(PACKET_TCP_SYN, IP_GW, 22), .want = 0, INET("drop_host_gateway"),
		.open = ANSWER },
	{ "ping to the gateway", BOX_A, OF_A(PACKET_ICMP_ECHO, IP_GW, 0), .want = 0, INET("drop_host_gateway"),
		.open = ANSWER },
	{ "UDP to the host's public address", BOX_A, OF_A(PACKET_UDP, IP_HV_WAN, 9999), .want = 0,
		INET("drop_host"), .open = AT_HOST },
	{ "TCP to the host's public address", BOX_A, OF_A(PACKET_TCP_SYN, IP_HV_WAN, 22), .want = 0,
		INET("drop_host"), .open = ANSWER },
	{ "TCP to the host's LAN address", BOX_A, OF_A(PACKET_TCP_SYN, IP_HV_LAN, 22), .want = 0,
		INET("drop_host"), .open = ANSWER },
	{ "ping to the host's LAN address", BOX_A, OF_A(PACKET_ICMP_ECHO, IP_HV_LAN, 0), .want = 0,
		INET("drop_host"), .open = ANSWER },
	{ "DNS to the host's public address", BOX_A, OF_A(PACKET_UDP, IP_HV_WAN, 53), .want = 0,
		INET("drop_host"), .open = AT_HOST },
	{ "DNS over TCP to the host's LAN address", BOX_A, OF_A(PACKET_TCP_SYN, IP_HV_LAN, 53), .want = 0,
		INET("drop_host"), .open = ANSWER },
	{ "UDP to everybody", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL },
		.src_ip = IP_A, .dst_ip = IP_ALL, .dst_port = 9999 }, .want = 0, INET("drop_host"),
		.open = AT_HOST | AT(BOX_B) },
	{ "UDP to the subnet's broadcast address", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = IP_A, .dst_ip = IP(10, 88, 0, 255), .dst_port = 9999 }, .want = 0,
		INET("drop_host"), .open = AT_HOST | AT(BOX_B) },
	{ "what the host publishes by destination NAT", BOX_A, OF_A(PACKET_UDP, IP_HV_WAN, 8053), .want = 0,
		INET("drop_host_published"), .open = AT(WAN) },
	{ "a packet that says it is a door's reply", BOX_A, { .kind = PACKET_TCP_ACK, .src_mac = { MAC_A },
		.dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_GW, .src_port = 80, .dst_port = 22 }, .want = 0,
		INET("drop_host_gateway"), .open = ANSWER },
	{ "a frame for a link-local group, which comes up past the bridge", BOX_A, { .kind = PACKET_UDP,
		.src_mac = { MAC_A }, .dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .src_ip = IP_A,
		.dst_ip = IP_HV_WAN, .dst_port = 9999 }, .want = 0, INET("drop_tap"), .open = AT_HOST },

	{ "a frame past the bridge with a sibling's MAC, from which the bridge would learn", BOX_A, {
		.kind = PACKET_UDP, .src_mac = { MAC_B }, .dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 },
		.src_ip = IP_A, .dst_ip = IP_HV_WAN, .dst_port = 9999 }, .want = 0, BRIDGE("drop_spoof_mac"),
		.open = AT_HOST },
	{ "ARP past the bridge", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .src_ip = IP_A, .dst_ip = IP_GW }, .want = 0,
		BRIDGE("drop_to_host"), .open = ANSWER },
	{ "ARP with a priority tag past the bridge", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .src_ip = IP_A, .dst_ip = IP_HV_WAN, .vlan = 4096 },
		.want = 0, BRIDGE("drop_to_host"), .open = ANSWER },
	{ "IPv6 past the bridge", BOX_A, { .kind = PACKET_IPV6_UDP, .src_mac = { MAC_A },
		.dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .dst_port = 9999 }, .want = 0,
		BRIDGE("drop_to_host"), .open = AT_HOST },
	{ "ARP for the host's public address", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = IP_A, .dst_ip = IP_HV_WAN }, .want = 0, BRIDGE("drop_to_host"),
		.open = ANSWER },
	{ "ARP to the gateway for the host's LAN address", BOX_A, { .kind = PACKET_ARP_REQUEST,
		.src_mac = { MAC_A }, .dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_HV_LAN }, .want = 0,
		BRIDGE("drop_to_host"), .open = ANSWER },
	{ "ARP probe for the host's LAN address", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = 0, .dst_ip = IP_HV_LAN }, .want = 0, BRIDGE("drop_to_host"),
		.open = ANSWER },
	{ "a source route to the LAN by way of the host's public address", BOX_A,
		OF_A(PACKET_UDP, IP_HV_WAN, 9), SOURCE_ROUTE, .want = 0, INET("drop_ip_options"),
		.open = AT(LAN) },

	/* ---- what the host does for boxes ---- */
	{ "DNS to the gateway, and its answer", BOX_A, OF_A(PACKET_UDP, IP_GW, 53), ANSWERED,
		.want = AT_HOST | AT(BOX_A), .open = AT_HOST | AT(BOX_A) },
	{ "DNS over TCP to the gateway", BOX_A, OF_A(PACKET_TCP_SYN, IP_GW, 53), .want = ANSWER, .open = ANSWER },
	{ "DHCP discover", BOX_A, { .kind = PACKET_DHCP_DISCOVER, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL },
		.src_ip = 0, .dst_ip = IP_ALL, .src_port = 68, .dst_port = 67 }, .want = AT_HOST,
		.open = AT_HOST | AT(BOX_B) },
	{ "DHCP renewal", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_GW },
		.src_ip = IP_A, .dst_ip = IP_GW, .src_port = 68, .dst_port = 67 }, .want = AT_HOST, .open = AT_HOST },
	{ "DHCP rebinding", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL },
		.src_ip = IP_A, .dst_ip = IP_ALL, .src_port = 68, .dst_port = 67 }, .want = AT_HOST,
		.open = AT_HOST | AT(BOX_B) },
	{ "DHCP's port from another port", BOX_A, OF_A(PACKET_UDP, IP_GW, 67), .want = 0,
		INET("drop_host_gateway"), .open = AT_HOST },
	{ "DHCP to the host's public address", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A },
		.dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_HV_WAN, .src_port = 68, .dst_port = 67 },
		.want = 0, INET("drop_host"), .open = AT_HOST },
	{ "DHCP answer to a box", HV_STACK, { .kind = PACKET_UDP, .src_ip = IP_GW, .dst_ip = IP_A,
		.src_port = 67, .dst_port = 68 }, .want = AT(BOX_A), .open = AT(BOX_A) | AT(BOX_B) },
	{ "a DHCP answer that is broadcast is heard by its box alone", HV_STACK, { .kind = PACKET_DHCP_OFFER,
		.src_mac = { MAC_A }, .src_ip = IP_GW, .dst_ip = IP_ALL, .src_port = 67, .dst_port = 68 },
		.want = AT(BOX_A), BRIDGE("drop_flood"), .open = AT(BOX_A) | AT(BOX_B) | AT(RAW) },
	{ "ARP to the gateway's own MAC", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_GW }, .want = ANSWER, .open = ANSWER },
	{ "ARP for the gateway", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL },
		.src_ip = IP_A, .dst_ip = IP_GW }, .want = ANSWER, .open = ANSWER | AT(BOX_B) },
	{ "ARP probe without a sender address", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = 0, .dst_ip = IP_GW }, .want = ANSWER, .open = ANSWER | AT(BOX_B) },

	/* ---- the host to boxes ---- */
	{ "UDP of the host", HV_STACK, HV_TO(PACKET_UDP, IP_A, 7777), .want = 0, INET("drop_host_to_box"),
		.open = AT(BOX_A) },
	{ "TCP of the host", HV_STACK, HV_TO(PACKET_TCP_SYN, IP_A, 80), .want = 0, INET("drop_host_to_box"),
		.open = AT(BOX_A) },
	{ "ping of the host", HV_STACK, HV_TO(PACKET_ICMP_ECHO, IP_A, 0), .want = 0, INET("drop_host_to_box"),
		.open = AT(BOX_A) },
	{ "a DNS answer that nobody asked for", HV_STACK, { .kind = PACKET_UDP, .src_ip = IP_GW, .dst_ip = IP_A,
		.src_port = 53, .dst_port = 7777 }, .want = 0, INET("drop_host_to_box"), .open = AT(BOX_A) },
	{ "IPv6 of the host", HV_STACK, { .kind = PACKET_IPV6_UDP, .dst_ip6 = { 0xfd, 0x88, [15] = 0x99 } },
		.want = 0, INET("drop_ipv6_output"), .open = AT(RAW) },
	{ "IPv6 of the host to others is not our business", HV_STACK, { .kind = PACKET_IPV6_UDP,
		.dst_ip6 = { 0xfd, 0x77, [15] = 0x40 } }, .want = AT(LAN), .open = AT(LAN) },
	{ "the host to others is not our business", HV_STACK, { .kind = PACKET_UDP, .src_ip = IP_HV_WAN,
		.dst_ip = IP_WAN, .dst_port = 9 }, .want = AT(WAN), .open = AT(WAN) },

	/* ---- frames of the host's bridge ---- */
	{ "the gateway's ARP request is heard by its box alone", HV_BRIDGE, { .kind = PACKET_ARP_REQUEST,
		.src_mac = { MAC_GW }, .dst_mac = { MAC_ALL }, .src_ip = IP_GW, .dst_ip = IP_A }, .want = AT(BOX_A),
		BRIDGE("drop_flood"), .open = AT(BOX_A) | AT(BOX_B) | AT(RAW) },
	{ "a box's frame is not flooded to siblings", HV_BRIDGE, { .kind = PACKET_UDP, .src_mac = { MAC_GW },
		.dst_mac = { MAC_A }, .src_ip = IP_WAN, .dst_ip = IP_A, .dst_port = 9 }, .want = AT(BOX_A),
		BRIDGE("drop_flood"), .open = AT(BOX_A) | AT(BOX_B) | AT(RAW) },
	{ "frames for a NIC put on the bridge by hand", HV_BRIDGE, { .kind = PACKET_UDP, .src_mac = { MAC_GW },
		.dst_mac = { MAC_RAW }, .src_ip = IP_GW, .dst_ip = IP_RAW, .dst_port = 9 }, .want = 0,
		BRIDGE("drop_foreign_port"), .open = AT(RAW) },

	/* ---- box to box ---- */
	{ "UDP to a sibling", BOX_A, A_TO_B(PACKET_UDP), .want = 0, BRIDGE("drop_box_to_box"), .open = AT(BOX_B) },
	{ "TCP to a sibling", BOX_A, A_TO_B(PACKET_TCP_SYN), .want = 0, BRIDGE("drop_box_to_box"),
		.open = AT(BOX_B) },
	{ "ping to a sibling", BOX_A, A_TO_B(PACKET_ICMP_ECHO), .want = 0, BRIDGE("drop_box_to_box"),
		.open = AT(BOX_B) },
	{ "ARP for a sibling", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL },
		.src_ip = IP_A, .dst_ip = IP_B }, .want = 0, BRIDGE("drop_box_to_box"), .open = AT(BOX_B) | ANSWER },
	{ "ARP reply to a sibling", BOX_A, { .kind = PACKET_ARP_REPLY, .src_mac = { MAC_A }, .dst_mac = { MAC_B },
		.src_ip = IP_A, .dst_ip = IP_B }, .want = 0, BRIDGE("drop_box_to_box"), .open = AT(BOX_B) },
	{ "a raw frame to a sibling", BOX_A, A_TO_B(PACKET_RAW), .want = 0, BRIDGE("drop_ethertype"),
		.open = AT(BOX_B) },
	{ "a raw frame to everybody", BOX_A, { .kind = PACKET_RAW, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL } },
		.want = 0, BRIDGE("drop_ethertype"), .open = AT(BOX_B) },
	{ "a sibling by way of the gateway", BOX_A, OF_A(PACKET_UDP, IP_B, 7777), .want = 0,
		INET("drop_box_to_box_routed"), .open = AT(BOX_B) },
	{ "TCP to a sibling by way of the gateway", BOX_A, OF_A(PACKET_TCP_SYN, IP_B, 7777), .want = 0,
		INET("drop_box_to_box_routed"), .open = AT(BOX_B) },
	{ "a multicast frame", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A },
		.dst_mac = { 0x01, 0x00, 0x5e, 0, 0, 0xfb }, .src_ip = IP_A, .dst_ip = IP(224, 0, 0, 251),
		.dst_port = 5353 }, .want = 0, BRIDGE("drop_multicast_frame"), .open = AT(BOX_B) },

	/* ---- lies about who one is ---- */
	{ "a sibling's MAC", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_B }, .dst_mac = { MAC_GW },
		.src_ip = IP_B, .dst_ip = IP_WAN, .dst_port = 9 }, .want = 0, BRIDGE("drop_spoof_mac"),
		.open = AT(WAN) },
	{ "the gateway's MAC", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_GW }, .dst_mac = { MAC_B },
		.src_ip = IP_A, .dst_ip = IP_B, .dst_port = 9 }, .want = 0, BRIDGE("drop_spoof_mac"),
		.open = AT(BOX_B) },
	{ "a MAC of nobody", BOX_A, { .kind = PACKET_UDP, .src_mac = { 0x52, 0x54, 0, 9, 9, 9 },
		.dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_WAN, .dst_port = 9 }, .want = 0,
		BRIDGE("drop_spoof_mac"), .open = AT(WAN) },
	{ "DHCP discover with a sibling's MAC", BOX_A, { .kind = PACKET_DHCP_DISCOVER, .src_mac = { MAC_B },
		.dst_mac = { MAC_ALL }, .src_ip = 0, .dst_ip = IP_ALL, .src_port = 68, .dst_port = 67 }, .want = 0,
		BRIDGE("drop_spoof_mac"), .open = AT_HOST },
	{ "a sibling's address", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_GW },
		.src_ip = IP_B, .dst_ip = IP_WAN, .dst_port = 9 }, .want = 0, BRIDGE("drop_spoof_ip"),
		.open = AT(WAN) },
	{ "the gateway's address", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_B },
		.src_ip = IP_GW, .dst_ip = IP_B, .dst_port = 9 }, .want = 0, BRIDGE("drop_spoof_ip"),
		.open = AT(BOX_B) },
	{ "a public address as source", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_GW },
		.src_ip = IP(8, 8, 8, 8), .dst_ip = IP_WAN, .dst_port = 9 }, .want = 0, BRIDGE("drop_spoof_ip"),
		.open = AT(WAN) },
	{ "no address as source, and not DHCP", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = 0, .dst_ip = IP_ALL, .dst_port = 9999 }, .want = 0,
		BRIDGE("drop_spoof_ip"), .open = AT(BOX_B) },
	{ "gratuitous ARP for the gateway", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = IP_GW, .dst_ip = IP_GW }, .want = 0, BRIDGE("drop_spoof_arp"),
		.open = AT(BOX_B) },
	{ "gratuitous ARP for a sibling", BOX_A, { .kind = PACKET_ARP_REPLY, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = IP_B, .dst_ip = IP_B }, .want = 0, BRIDGE("drop_spoof_arp"),
		.open = AT(BOX_B) },
	{ "ARP reply to the gateway that speaks for a sibling", BOX_A, { .kind = PACKET_ARP_REPLY,
		.src_mac = { MAC_A }, .dst_mac = { MAC_GW }, .src_ip = IP_B, .dst_ip = IP_GW }, .want = 0,
		BRIDGE("drop_spoof_arp"), .open = 0 },
	{ "ARP with another MAC inside", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .arp_mac = { MAC_B }, .src_ip = IP_A, .dst_ip = IP_GW }, .want = 0,
		BRIDGE("drop_spoof_arp"), .open = AT(BOX_B) },
	{ "ARP probe with another MAC inside", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .arp_mac = { MAC_B }, .src_ip = 0, .dst_ip = IP_GW }, .want = 0,
		BRIDGE("drop_spoof_arp"), .open = AT(BOX_B) },
	{ "ARP reply without a sender address", BOX_A, { .kind = PACKET_ARP_REPLY, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = 0, .dst_ip = IP_GW }, .want = 0, BRIDGE("drop_spoof_arp"),
		.open = AT(BOX_B) },
	{ "playing DHCP server", BOX_A, { .kind = PACKET_DHCP_OFFER, .src_mac = { MAC_A }, .dst_mac = { MAC_ALL },
		.src_ip = IP_A, .dst_ip = IP_ALL, .src_port = 67, .dst_port = 68 }, .want = 0,
		BRIDGE("drop_dhcp_server"), .open = AT(BOX_B) },
	{ "a box whose entry is gone gets nothing through", .story = story_element_gone },
	{ "the flows of an address's last box are forgotten", .story = story_address_reused },

	/* ---- tags, other protocols ---- */
	{ "a VLAN tag", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_B }, .src_ip = IP_A,
		.dst_ip = IP_B, .dst_port = 9, .vlan = 5 }, .want = 0, BRIDGE("drop_vlan"), .open = AT(BOX_B) },
	{ "a priority tag (VLAN 0)", BOX_A, { .kind = PACKET_ARP_REQUEST, .src_mac = { MAC_A },
		.dst_mac = { MAC_ALL }, .src_ip = IP_GW, .dst_ip = IP_GW, .vlan = 4096 }, .want = 0,
		BRIDGE("drop_vlan"), .open = AT(BOX_B) },
	{ "two VLAN tags", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_B }, .src_ip = IP_A,
		.dst_ip = IP_B, .dst_port = 9, .vlan = 5, .outer_vlan = 6 }, .want = 0, BRIDGE("drop_qinq"),
		.open = AT(BOX_B) },
	{ "IPv6 to all nodes", BOX_A, { .kind = PACKET_IPV6_UDP, .src_mac = { MAC_A },
		.dst_mac = { 0x33, 0x33, 0, 0, 0, 1 }, .dst_port = 9999 }, .want = 0, BRIDGE("drop_ipv6_bridge"),
		.open = AT_HOST | AT(BOX_B) },
	{ "a router advertisement", BOX_A, { .kind = PACKET_IPV6_RA, .src_mac = { MAC_A },
		.dst_mac = { 0x33, 0x33, 0, 0, 0, 1 } }, .want = 0, BRIDGE("drop_ipv6_bridge"), .open = AT(BOX_B) },
	{ "a neighbour solicitation to a sibling", BOX_A, { .kind = PACKET_IPV6_NS, .src_mac = { MAC_A },
		.dst_mac = { MAC_B } }, .want = 0, BRIDGE("drop_ipv6_bridge"), .open = AT(BOX_B) },

	/* ---- a NIC that somebody put on the bridge by hand ---- */
	{ "raw NIC: UDP to the gateway", RAW, OF_RAW(PACKET_UDP, IP_GW, 9999), .want = 0,
		INET("drop_foreign_host"), .open = AT_HOST },
	{ "raw NIC: DNS", RAW, OF_RAW(PACKET_UDP, IP_GW, 53), .want = 0, INET("drop_foreign_host"),
		.open = AT_HOST },
	{ "raw NIC: TCP to the gateway", RAW, OF_RAW(PACKET_TCP_SYN, IP_GW, 53), .want = 0,
		INET("drop_foreign_host"), .open = ANSWER },
	{ "raw NIC: DHCP discover", RAW, { .kind = PACKET_DHCP_DISCOVER, .src_mac = { MAC_RAW },
		.dst_mac = { MAC_ALL }, .src_ip = 0, .dst_ip = IP_ALL, .src_port = 68, .dst_port = 67 }, .want = 0,
		INET("drop_foreign_host"), .open = AT_HOST },
	{ "raw NIC: a box's address", RAW, { .kind = PACKET_UDP, .src_mac = { MAC_RAW }, .dst_mac = { MAC_GW },
		.src_ip = IP_A, .dst_ip = IP_GW, .dst_port = 53 }, .want = 0, INET("drop_foreign_host"),
		.open = AT_HOST },
	{ "raw NIC: to the internet", RAW, OF_RAW(PACKET_UDP, IP_WAN, 9), .want = 0,
		INET("drop_foreign_routed"), .open = AT(WAN) },
	{ "raw NIC: to the internet with a box's address", RAW, { .kind = PACKET_UDP, .src_mac = { MAC_RAW },
		.dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_WAN, .dst_port = 9 }, .want = 0,
		INET("drop_foreign_routed"), .open = AT(WAN) },
	{ "raw NIC: a box's MAC and address", RAW, { .kind = PACKET_UDP, .src_mac = { MAC_A },
		.dst_mac = { MAC_GW }, .src_ip = IP_A, .dst_ip = IP_WAN, .dst_port = 9 }, .want = 0,
		BRIDGE("drop_stolen_mac"), .open = AT(WAN) },
	{ "raw NIC: IPv4 past the bridge", RAW, { .kind = PACKET_UDP, .src_mac = { MAC_RAW },
		.dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .src_ip = IP_RAW, .dst_ip = IP_HV_WAN,
		.dst_port = 9999 }, .want = 0, BRIDGE("drop_past_bridge"), .open = AT_HOST },
	{ "raw NIC: IPv6 past the bridge", RAW, { .kind = PACKET_IPV6_UDP, .src_mac = { MAC_RAW },
		.dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .dst_port = 9999 }, .want = 0,
		BRIDGE("drop_past_bridge"), .open = AT_HOST },
	{ "raw NIC: a box's MAC past the bridge", RAW, { .kind = PACKET_UDP, .src_mac = { MAC_A },
		.dst_mac = { 0x01, 0x80, 0xc2, 0, 0, 0x03 }, .src_ip = IP_A, .dst_ip = IP_HV_WAN,
		.dst_port = 9999 }, .want = 0, BRIDGE("drop_stolen_mac"), .open = AT_HOST },
	{ "raw NIC: to a box", RAW, { .kind = PACKET_UDP, .src_mac = { MAC_RAW }, .dst_mac = { MAC_B },
		.src_ip = IP_RAW, .dst_ip = IP_B, .dst_port = 9 }, .want = 0, BRIDGE("drop_to_box"),
		.open = AT(BOX_B) },
	{ "raw NIC: a raw frame to everybody", RAW, { .kind = PACKET_RAW, .src_mac = { MAC_RAW },
		.dst_mac = { MAC_ALL } }, .want = 0, BRIDGE("drop_to_box"), .open = AT(BOX_A) | AT(BOX_B) },
	{ "raw NIC: ARP for the gateway has no answer", RAW, { .kind = PACKET_ARP_REQUEST,
		.src_mac = { MAC_RAW }, .dst_mac = { MAC_ALL }, .src_ip = IP_RAW, .dst_ip = IP_GW }, .want = 0,
		BRIDGE("drop_foreign_port"), .open = ANSWER },
	{ "raw NIC: IPv6 to the host", RAW, { .kind = PACKET_IPV6_UDP, .src_mac = { MAC_RAW },
		.dst_mac = { 0x33, 0x33, 0, 0, 0, 1 }, .dst_port = 9999 }, .want = 0, INET("drop_ipv6_input"),
		.open = AT_HOST },
	{ "raw NIC: routed IPv6", RAW, { .kind = PACKET_IPV6_UDP, .src_mac = { MAC_RAW }, .dst_mac = { MAC_GW },
		.dst_ip6 = { 0xfd, 0x77, [15] = 0x40 }, .dst_port = 9 }, V6_ROUTED, .want = 0,
		INET("drop_ipv6_forward"), .open = AT(LAN) },
	{ "a box to a raw NIC", BOX_A, { .kind = PACKET_UDP, .src_mac = { MAC_A }, .dst_mac = { MAC_RAW },
		.src_ip = IP_A, .dst_ip = IP_RAW, .dst_port = 9 }, .want = 0, BRIDGE("drop_box_to_box"),
		.open = AT(RAW) },

	/* ---- from outside ---- */
	{ "the LAN to a box, UDP", LAN, OF_LAN(PACKET_UDP, IP_A, 7777), .want = 0, INET("drop_outside_to_box"),
		.open = AT(BOX_A) },
	{ "the LAN to a box, TCP", LAN, OF_LAN(PACKET_TCP_SYN, IP_A, 80), .want = 0,
		INET("drop_outside_to_box"), .open = AT(BOX_A) | ANSWER },
	{ "the LAN to a box, ping", LAN, OF_LAN(PACKET_ICMP_ECHO, IP_A, 0), .want = 0,
		INET("drop_outside_to_box"), .open = AT(BOX_A) | ANSWER },
	{ "the internet to a box", WAN, OF_WAN(PACKET_UDP, IP_A, 7777), .want = 0,
		INET("drop_outside_to_box"), .open = AT(BOX_A) },
	{ "the LAN to a box, IPv6", LAN, { .kind = PACKET_IPV6_UDP, .src_mac = { MAC_LAN },
		.dst_mac = { MAC_HV_LAN }, .dst_ip6 = { 0xfd, 0x88, [15] = 0x99 }, .dst_port = 9 }, V6_ROUTED,
		.want = 0, INET("drop_ipv6_forward"), .open = AT(RAW) },
	{ "the LAN to a door's port", LAN, OF_LAN(PACKET_TCP_SYN, IP_HV_LAN, 8080), .want = ANSWER /* RST */,
		.open = ANSWER },
	{ "the LAN to 127.0.0.1", LAN, OF_LAN(PACKET_TCP_SYN, IP(127, 0, 0, 1), 8080), .want = 0, .open = 0 },
	{ "a sibling to a door's port", BOX_B, { .kind = PACKET_TCP_SYN, .src_mac = { MAC_B },
		.dst_mac = { MAC_GW }, .src_ip = IP_B, .dst_ip = IP_GW, .dst_port = 8080 }, .want = 0,
		INET("drop_host_gateway"), .open = ANSWER },
	{ "a sibling to a door at 127.0.0.1", BOX_B, { .kind = PACKET_TCP_SYN, .src_mac = { MAC_B },
		.dst_mac = { MAC_GW }, .src_ip = IP_B, .dst_ip = IP(127, 0, 0, 1), .dst_port = 8080 }, .want = 0,
		INET("drop_loopback_127_8"), .open = 0 },
	{ "a door opens and closes", .story = story_door },

	/* ---- others' traffic is not our business ---- */
	{ "the LAN to the host", LAN, OF_LAN(PACKET_UDP, IP_HV_LAN, 9999), .want = AT_HOST, .open = AT_HOST },
	{ "the LAN to the internet through the host", LAN, OF_LAN(PACKET_UDP, IP_WAN, 9), .want = AT(WAN),
		.want_source = IP_LAN, .open = AT(WAN) },
	{ "what the host publishes, from the LAN", LAN, OF_LAN(PACKET_UDP, IP_HV_LAN, 9999), .want = AT_HOST,
		.open = AT_HOST },
	{ "another bridge: IPv6", P1, { .kind = PACKET_IPV6_NS, .src_mac = { MAC_P1 }, .dst_mac = { MAC_P2 } },
		.want = AT(P2), .open = AT(P2) },
	{ "another bridge: to the host", P1, { .kind = PACKET_UDP, .src_mac = { MAC_P1 },
		.dst_mac = { MAC_OTHER }, .src_ip = IP(10, 1, 1, 1), .dst_ip = IP(10, 1, 1, 254),
		.dst_port = 9999 }, .want = AT_HOST, .open = AT_HOST },
	{ "another bridge: a VLAN tag", P1, { .kind = PACKET_UDP, .src_mac = { MAC_P1 }, .dst_mac = { MAC_P2 },
		.src_ip = IP(10, 1, 1, 1), .dst_ip = IP(10, 1, 1, 2), .dst_port = 9, .vlan = 7 }, .want = AT(P2),
		.open = AT(P2) },
};
const size_t n_probes = ARRAY_LEN(probes);
/* clang-format on */

/* ---- one packet ---- */

struct counters {
	struct nft_counter rows[COUNTERS_MAX];
	size_t n;
};

static int read_counters(struct world *w, struct counters *ret, struct error *err)
{
	return nft_counters(w->nl, ret->rows, COUNTERS_MAX, &ret->n, err);
}

static uint64_t packets_of(const struct counters *c, enum rules_family family, const char *name)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->rows[i].family == family && str_equal(c->rows[i].name, name))
			return c->rows[i].packets;
	}
	return 0;
}

static void sum_again(uint8_t *bytes, size_t len, uint8_t *field)
{
	uint32_t sum = 0;

	field[0] = field[1] = 0;
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	if (len & 1)
		sum += (uint32_t)bytes[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	field[0] = (uint8_t)(sum >> 8);
	field[1] = (uint8_t)sum;
}

/* A loose source route between the IPv4 header and what follows it; len is there to grow. */
static void add_source_route(uint8_t frame[PACKET_MAX], size_t *len)
{
	/* type, length, pointer to the next hop, the next hop, end of options */
	static const uint8_t option[8] = { 131, 7, 4, 10, 20, 30, 40, 0 };
	uint8_t *ip = frame + 14;
	size_t total = ((size_t)ip[2] << 8 | ip[3]) + sizeof(option);

	memmove(ip + 28, ip + 20, *len - 34);
	memcpy(ip + 20, option, sizeof(option));
	*len += sizeof(option);
	ip[0] = 0x47;
	ip[2] = (uint8_t)(total >> 8);
	ip[3] = (uint8_t)total;
	sum_again(ip, 28, ip + 10);
}

/* What packet_build has no member for. Checksums are put right, so that the kernel takes the packet. */
static void apply_tweak(enum tweak tweak, uint8_t *frame, size_t *len, const struct packet *p)
{
	static const uint8_t routed[16] = { 0xfd, 0x88, [15] = 0x99 };
	static const uint8_t routed_lan[16] = { 0xfd, 0x77, [15] = 0x40 };
	uint8_t *ip = frame + 14, *icmp = frame + 34;
	size_t total = (size_t)ip[2] << 8 | ip[3];

	if (p->kind == PACKET_ICMP_ECHO) { /* an id of its own: no flow of before */
		icmp[0] = tweak == ICMP_REPLY ? 0 : 8;
		icmp[4] = (uint8_t)(p->src_port >> 8);
		icmp[5] = (uint8_t)p->src_port;
		sum_again(icmp, total - 20, icmp + 2);
	}
	if (tweak == TTL_1) {
		ip[8] = 1;
		sum_again(ip, 20, ip + 10);
	}
	if (tweak == SOURCE_ROUTE)
		add_source_route(frame, len);
	if (tweak == V6_ROUTED) /* nobody on the way looks at the checksum above IPv6 */
		memcpy(ip + 8, p->dst_ip6[1] == 0x77 ? routed : routed_lan, 16);
}

static uint16_t fresh_port(void)
{
	static uint16_t port = 20000;

	return port = port >= 60000 ? 20000 : (uint16_t)(port + 1);
}

/* Send and listen. The host's own IPv6 goes by a socket: there is no raw one that hooks would see. */
static int send_and_hear(struct world *w, const struct probe *probe, struct packet *p,
	unsigned *ret_bits, uint32_t *ret_source, struct error *err)
{
	uint8_t frame[PACKET_MAX];
	size_t len = packet_build(p, frame);
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };

	if (len == 0)
		return error_set(err, ERROR_INVALID, "'%s': no such packet", probe->name);
	apply_tweak(probe->tweak, frame, &len, p);
	world_drain(w);
	if (probe->from == HV_STACK && p->kind == PACKET_IPV6_UDP) {
		memcpy(&to6.sin6_addr, p->dst_ip6, sizeof(p->dst_ip6));
		(void)sendto(w->udp6, p->token, strlen(p->token), 0, (struct sockaddr *)&to6,
			sizeof(to6));
	} else if (world_send(w, probe->from, frame, len, err) < 0) {
		return -1;
	}
	world_settle(w);
	*ret_bits = world_heard(w, probe->from, p, ret_source);
	return 0;
}

/* The host answers from where it was asked. */
static int answer(struct world *w, const struct packet *asked, unsigned *bits, struct error *err)
{
	struct packet p = {
		.kind = PACKET_UDP,
		.src_ip = asked->dst_ip,
		.dst_ip = asked->src_ip,
		.src_port = asked->dst_port,
		.dst_port = asked->src_port,
		.token = asked->token,
	};
	uint8_t frame[PACKET_MAX];
	size_t len = packet_build(&p, frame);
	uint32_t source;

	if (world_send(w, HV_STACK, frame, len, err) < 0)
		return -1;
	world_settle(w);
	*bits |= world_heard(w, HV_STACK, &p, &source);
	return 0;
}

int probe_send(struct world *w, const struct probe *probe, unsigned *ret_bits, uint32_t *ret_source,
	struct error *err)
{
	struct packet p = probe->packet;
	char token[64];

	/* Long enough that a packet with it does not go through an MTU of 68. */
	(void)snprintf(token, sizeof(token), "probe-%05u-%042u", fresh_port(), 0);
	p.token = token;
	if (p.src_port == 0)
		p.src_port = fresh_port();
	if (send_and_hear(w, probe, &p, ret_bits, ret_source, err) < 0)
		return -1;
	if (probe->tweak == ANSWERED && *ret_bits & AT_HOST)
		return answer(w, &p, ret_bits, err);
	return 0;
}

static void say_bits(struct str *why, unsigned bits)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ AT(HV), "the host" },
		{ AT(WAN), "wan" },
		{ AT(LAN), "lan" },
		{ AT(BOX_A), "box A" },
		{ AT(BOX_B), "box B" },
		{ AT(RAW), "the raw NIC" },
		{ AT(P1), "p1" },
		{ AT(P2), "p2" },
		{ ANSWER, "an answer" },
		{ ICMP_ERROR, "an ICMP error" },
	};
	const char *sep = "";

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (bits & names[i].bit) {
			str_printf(why, "%s%s", sep, names[i].name);
			sep = ", ";
		}
	}
	if (!bits)
		str_append(why, "nobody");
}

int probe_run(struct world *w, const struct ruleset *rs, const struct probe *p, struct str *why,
	struct error *err)
{
	struct counters before, after;
	uint32_t source = 0;
	unsigned bits = 0;

	if (p->story)
		return p->story(w, rs, why, err);
	if (read_counters(w, &before, err) < 0 || probe_send(w, p, &bits, &source, err) < 0 ||
		read_counters(w, &after, err) < 0)
		return -1;
	if (bits != p->want) {
		str_append(why, "heard by ");
		say_bits(why, bits);
		str_append(why, "; wanted ");
		say_bits(why, p->want);
		return 1;
	}
	if (p->want_source && p->want_source != source) {
		str_printf(why, "source is %08x, wanted %08x", source, p->want_source);
		return 1;
	}
	if (p->counter && packets_of(&after, p->family, p->counter) <=
				  packets_of(&before, p->family, p->counter)) {
		str_printf(why, "counter %s did not move", p->counter);
		return 1;
	}
	return 0;
}

int probe_run_open(struct world *w, const struct probe *p, struct str *why, struct error *err)
{
	uint32_t source = 0;
	unsigned bits = 0;

	if (p->story)
		return 0;
	if (probe_send(w, p, &bits, &source, err) < 0)
		return -1;
	if ((bits & p->open) == p->open)
		return 0;
	str_append(why, "heard by ");
	say_bits(why, bits);
	str_append(why, "; without rules it should be ");
	say_bits(why, p->open);
	return 1;
}

/* ---- stories ---- */

static int apply(struct world *w, const struct ruleset *rs, struct error *err)
{
	return nft_apply(w->nl, rs, probe_ports, 2, err);
}

/* While rules were away a flow to the LAN began; loading them ends it. */
static int story_old_flow(
	struct world *w, const struct ruleset *rs, struct str *why, struct error *err)
{
	struct probe flow = {
		.name = "flow", .from = BOX_A, .packet = OF_A(PACKET_UDP, IP_LAN, 9)
	};
	uint32_t source = 0;
	unsigned open = 0, closed = 0;

	flow.packet.src_port = fresh_port();
	if (nft_remove(w->nl, err) < 0 || probe_send(w, &flow, &open, &source, err) < 0 ||
		apply(w, rs, err) < 0 || probe_send(w, &flow, &closed, &source, err) < 0)
		return -1;
	if (!(open & AT(LAN)) || !(open & ICMP_ERROR) || closed != 0) {
		str_append(why, "before: ");
		say_bits(why, open);
		str_append(why, "; with rules: ");
		say_bits(why, closed);
		return 1;
	}
	return 0;
}

static int story_element_gone(
	struct world *w, const struct ruleset *rs, struct str *why, struct error *err)
{
	static const struct probe tries[] = {
		{ "egress", BOX_A, OF_A(PACKET_UDP, IP_WAN, 9), .want = 0 },
		{ "DNS", BOX_A, OF_A(PACKET_UDP, IP_GW, 53), .want = 0 },
		{ "DHCP", BOX_A,
			{ .kind = PACKET_DHCP_DISCOVER,
				.src_mac = { MAC_A },
				.dst_mac = { MAC_ALL },
				.dst_ip = IP_ALL,
				.src_port = 68,
				.dst_port = 67 },
			.want = 0 },
		{ "ARP", BOX_A,
			{ .kind = PACKET_ARP_REQUEST,
				.src_mac = { MAC_A },
				.dst_mac = { MAC_ALL },
				.src_ip = IP_A,
				.dst_ip = IP_GW },
			.want = 0 },
		{ "DHCP answer", HV_STACK,
			{ .kind = PACKET_UDP,
				.src_ip = IP_GW,
				.dst_ip = IP_A,
				.src_port = 67,
				.dst_port = 68 },
			.want = 0 },
	};
	uint32_t source = 0;
	int ret = 0;

	if (nft_swap_port(w->nl, &probe_ports[0], NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(tries) && ret == 0; i++) {
		unsigned bits = 0;

		ret = probe_send(w, &tries[i], &bits, &source, err);
		if (ret == 0 && bits != 0) {
			str_printf(why, "%s without an entry: ", tries[i].name);
			say_bits(why, bits);
			ret = 1;
		}
	}
	return apply(w, rs, err) < 0 ? -1 : ret;
}

/* A box asked the internet something and is gone. The next one with its address gets no answer. */
static int story_address_reused(
	struct world *w, const struct ruleset *rs, struct str *why, struct error *err)
{
	struct probe ask = { .name = "ask", .from = BOX_A, .packet = OF_A(PACKET_UDP, IP_WAN, 9) };
	struct probe late = {
		.name = "late", .from = WAN, .packet = OF_WAN(PACKET_UDP, IP_HV_WAN, 0)
	};
	unsigned asked = 0, before = 0, after = 0;
	uint32_t source = 0;

	(void)rs;
	ask.packet.src_port = late.packet.dst_port = fresh_port();
	late.packet.src_port = 9;
	if (probe_send(w, &ask, &asked, &source, err) < 0 ||
		probe_send(w, &late, &before, &source, err) < 0 ||
		conntrack_forget(w->nl, IP_A, err) < 0 ||
		probe_send(w, &late, &after, &source, err) < 0)
		return -1;
	if (!(asked & AT(WAN)) || !(before & AT(BOX_A)) || after & AT(BOX_A)) {
		str_append(why, "the answer is heard by ");
		say_bits(why, before);
		str_append(why, "; to the next box: ");
		say_bits(why, after);
		return 1;
	}
	return 0;
}

/* Connect from the host's own 127.0.0.1; *ret_fd is -1 when nobody answers in time. */
static int connect_door(struct world *w, uint16_t port, int *ret_fd, struct error *err)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	_cleanup_close_ int fd = -1;
	struct pollfd p = { .events = POLLOUT };
	int failed = 0;
	socklen_t len = sizeof(failed);

	if (world_enter(w, HV, err) < 0)
		return -1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	world_leave(w);
	if (fd < 0)
		return error_errno(err, errno, "socket");
	*ret_fd = -1;
	(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
	p.fd = fd;
	if (poll(&p, 1, WAIT_MS) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) < 0 ||
		failed != 0)
		return 0;
	*ret_fd = fd_take(&fd);
	return 0;
}

/* What box A's server gets within the time: bytes, 0 for nothing. */
static size_t door_receive(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[64];
	ssize_t got = poll(&p, 1, wait_ms) == 1 ? recv(fd, buf, sizeof(buf), 0) : 0;

	return got > 0 ? (size_t)got : 0;
}

static int door_says(struct str *why, const char *text)
{
	str_append(why, text);
	return 1;
}

static int story_door(struct world *w, const struct ruleset *rs, struct str *why, struct error *err)
{
	struct net_port closed = probe_ports[0];
	_cleanup_close_ int client = -1, server = -1, other = -1;
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof(peer);
	struct counters before, after;

	closed.n_doors = 0;
	if (connect_door(w, 8080, &client, err) < 0 || connect_door(w, 8081, &other, err) < 0)
		return -1;
	if (client < 0)
		return door_says(why, "the door does not open");
	if (other >= 0)
		return door_says(why, "a port that is no door answers");
	server = accept4(w->door, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (server < 0 || ntohl(peer.sin_addr.s_addr) != IP_GW)
		return door_says(why, "the box does not see the gateway as its client");
	if (write(client, "one", 3) != 3 || door_receive(server, WAIT_MS) != 3)
		return door_says(why, "nothing goes through the door");
	if (nft_swap_port(w->nl, &probe_ports[0], &closed, err) < 0 ||
		read_counters(w, &before, err) < 0)
		return -1;
	cleanup_close_p(&other);
	other = -1;
	if (write(client, "two", 3) != 3)
		return error_errno(err, errno, "write");
	world_settle(w);
	if (read_counters(w, &after, err) < 0 || connect_door(w, 8080, &other, err) < 0 ||
		apply(w, rs, err) < 0)
		return -1;
	if (door_receive(server, 0) != 0)
		return door_says(why, "a door that was closed lets an old connection go on");
	if (other >= 0)
		return door_says(why, "a door that was closed opens");
	if (packets_of(&after, RULES_INET, "drop_door_closed") <=
		packets_of(&before, RULES_INET, "drop_door_closed"))
		return door_says(why, "counter drop_door_closed did not move");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory. A box cannot be asked whether it is isolated; only what it sends can be followed. Each
 * packet of the drill carries a token of its own, and is looked for in four places: what came back to
 * the sender; what B's network device gets; what the host's own stack is given behind its rules; and
 * every interface of the host. Arriving in any of them breaks the claim, whatever else is true.
 *
 * That nothing arrived proves nothing by itself: a dead network is silent too. So there are controls
 * (the same way works for what is allowed), and proof that somebody would have noticed: the rule's
 * counter moved by as many packets as were sent, or a watcher that is known to see saw nothing.
 *
 * Packets are mostly built by hand ("send"): an honest stack would not send them, or would wait for
 * an ARP answer that never comes. "reach" is used besides where an answer could come back.
 *
 * A rule drops at one of two depths. What the bridge's rules drop is never seen on the bridge itself;
 * what inet rules drop is seen there, coming in, and nowhere after (PASS_BRIDGE).
 */
#include "vmm/drill-claim.h"

#include "base/macro.h"
#include "base/str.h"

#define BIT(control) (1u << (control))

/* The way from A to the host and to the internet works. */
#define A_WORKS \
	(BIT(CONTROL_A_TOOL) | BIT(CONTROL_A_LEASE) | BIT(CONTROL_A_EGRESS) | BIT(CONTROL_A_DNS))
/* What A sends reaches the bridge, and B's device gets and shows what is for it. */
#define A_TO_B (A_WORKS | BIT(CONTROL_B_LEASE) | BIT(CONTROL_B_DNS))

#define TO_GATEWAY "smac={a_mac} dmac={gw_mac} sip={a_ip}"
#define TO_PEER "smac={a_mac} dmac={b_mac} sip={a_ip} dip={b_ip}"
#define TO_ALL "smac={a_mac} dmac=ff:ff:ff:ff:ff:ff sip={a_ip}"

/* clang-format off */
#define SEND(counted, text) { DRILL_A, WANT_SILENCE, EACH_ONCE, counted, "send {a_if} " text " token={t}" }
#define SEND_EACH(each, text) { DRILL_A, WANT_SILENCE, each, 1, "send {a_if} " text " token={t}" }
#define REACH(place, want, counted, text) { place, want, EACH_ONCE, counted, "reach " text }
#define CHECK(name) { DRILL_HOST, WANT_CHECK, EACH_ONCE, 0, name }

/* A range that is not the public internet: by the box's own stack, and by hand. */
#define RANGE(id_, says_, quick_, range_, targets_, counter_) {                                     \
	.id = id_, .group = "ranges", .says = says_, .controls = A_WORKS, .proofs = PROOF_WIRE,      \
	.passes = PASS_BRIDGE, .quick = quick_, .range = range_, .targets = targets_,                       \
	.counters = { counter_ },                                                                    \
	.probes = {                                                                                  \
		{ DRILL_A, WANT_SILENCE, EACH_TARGET, 1, "reach tcp {x} 80 {ms}" },                   \
		SEND_EACH(EACH_TARGET, "tcp-syn " TO_GATEWAY " dip={x} dport=443"),                  \
		SEND_EACH(EACH_TARGET, "udp " TO_GATEWAY " dip={x} dport=53"),                       \
		SEND_EACH(EACH_TARGET, "icmp-echo " TO_GATEWAY " dip={x}"),                          \
	},                                                                                           \
}
/* The same for a range that a guest's own stack does not send to. */
#define RANGE_BY_HAND(id_, says_, quick_, range_, targets_, counter_) {                              \
	.id = id_, .group = "ranges", .says = says_, .controls = A_WORKS, .proofs = PROOF_WIRE,      \
	.passes = PASS_BRIDGE, .quick = quick_, .range = range_, .targets = targets_,                       \
	.counters = { counter_ },                                                                    \
	.probes = {                                                                                  \
		SEND_EACH(EACH_TARGET, "tcp-syn " TO_GATEWAY " dip={x} dport=80"),                   \
		SEND_EACH(EACH_TARGET, "udp " TO_GATEWAY " dip={x} dport=53"),                       \
		SEND_EACH(EACH_TARGET, "icmp-echo " TO_GATEWAY " dip={x}"),                          \
	},                                                                                           \
}
#define FACT(id_, group_, says_, quick_) \
	{ .id = id_, .group = group_, .says = says_, .quick = quick_, .probes = { CHECK(id_) } }

const struct drill_claim drill_claims[] = {
	{
		.id = "egress-public",
		.group = "internet",
		.says = "a box reaches the public internet",
		.controls = BIT(CONTROL_A_TOOL) | BIT(CONTROL_A_GATEWAY) | BIT(CONTROL_A_LEASE) |
			BIT(CONTROL_HOST_EGRESS),
		.quick = true,
		.probes = {
			{ DRILL_A, WANT_OPEN, EACH_RESOLVER, 0, "reach tcp {x} 53 {long}" },
		},
	},
	{
		.id = "dns-public",
		.group = "internet",
		.says = "public names resolve in a box",
		.controls = BIT(CONTROL_A_TOOL) | BIT(CONTROL_A_LEASE) | BIT(CONTROL_A_DNS) |
			BIT(CONTROL_HOST_EGRESS),
		.quick = true,
		.probes = { { DRILL_A, WANT_NAME, EACH_ONCE, 0, "dns {gw} {name} 1 {long}" } },
	},
	{
		.id = "dns-pinned",
		.group = "internet",
		.says = "names are asked of the pinned public resolvers and of nobody else",
		.controls = BIT(CONTROL_A_TOOL) | BIT(CONTROL_A_LEASE) | BIT(CONTROL_A_DNS),
		.quick = true,
		.probes = { { DRILL_A, WANT_PINNED, EACH_ONCE, 0, "dns {gw} {t}.{name} 1 {long}" } },
	},
	{
		.id = "egress-hidden",
		.group = "internet",
		.says = "a box's own address is not seen outside",
		.controls = A_WORKS,
		.quick = true,
		.probes = {
			{ DRILL_A, WANT_HIDDEN, EACH_ONCE, 0, "send {a_if} udp " TO_GATEWAY " dip={dns} dport=53 sport={sport} token={t}" },
			{ DRILL_A, WANT_HIDDEN, EACH_ONCE, 0, "send {a_if} tcp-syn " TO_GATEWAY " dip={dns} dport=53 sport={sport} token={t}" },
		},
	},

	{
		.id = "host-gateway-tcp",
		.group = "host",
		.says = "a box opens no TCP connection to the host at its gateway",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_host_gateway" },
		.probes = {
			REACH(DRILL_A, WANT_SILENCE, 1, "tcp {gw} 22 {ms}"),
			SEND(1, "tcp-syn " TO_GATEWAY " dip={gw} dport={host_port}"),
			SEND(1, "tcp-ack " TO_GATEWAY " dip={gw} dport={host_port}"),
		},
	},
	{
		.id = "host-gateway-udp",
		.group = "host",
		.says = "a box sends the host no UDP but DHCP and DNS",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_host_gateway" },
		.probes = {
			REACH(DRILL_A, WANT_SILENCE, 1, "udp {gw} {host_port} {ms} {t}"),
			SEND(1, "udp " TO_GATEWAY " dip={gw} dport=5353"),
			SEND(1, "udp " TO_GATEWAY " dip={gw} dport=67 sport=40067"),
		},
	},
	{
		.id = "host-gateway-icmp",
		.group = "host",
		.says = "the host answers no ping of a box",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_host_gateway" },
		.probes = { REACH(DRILL_A, WANT_SILENCE, 1, "icmp {gw} 0 {ms} {t}") },
	},
	{
		.id = "host-addresses",
		.group = "host",
		.says = "no other address of the host is reachable from a box, public ones neither",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_host" },
		.probes = {
			{ DRILL_A, WANT_SILENCE, EACH_HOST_ADDRESS, 1, "reach tcp {x} 22 {ms}" },
			{ DRILL_A, WANT_SILENCE, EACH_HOST_ADDRESS, 1, "reach udp {x} {host_port} {ms} {t}" },
			{ DRILL_A, WANT_SILENCE, EACH_HOST_ADDRESS, 1, "reach icmp {x} 0 {ms} {t}" },
			SEND_EACH(EACH_HOST_ADDRESS, "tcp-syn " TO_GATEWAY " dip={x} dport={host_port}"),
			SEND_EACH(EACH_HOST_ADDRESS, "udp " TO_GATEWAY " dip={x} dport=53"),
		},
	},
	{
		.id = "host-services",
		.group = "host",
		.says = "nothing that the host serves or publishes is open to a box",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE,
		.counters = { "drop_host_gateway", "drop_host", "drop_host_published" },
		.probes = {
			{ DRILL_A, WANT_SILENCE, EACH_HOST_SERVICE, 1, "reach tcp {x} {p} {ms}" },
			SEND_EACH(EACH_HOST_SERVICE, "tcp-syn " TO_GATEWAY " dip={x} dport={p} sport={sport}"),
		},
	},
	{
		.id = "host-loopback",
		.group = "host",
		.says = "the host's loopback is not reachable by routing 127.0.0.0/8 to it",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE,
		.quick = true,
		.targets = "127.0.0.1 127.0.0.53 127.255.255.254",
		.counters = { "drop_loopback_127_8" },
		.probes = {
			SEND_EACH(EACH_TARGET, "tcp-syn " TO_GATEWAY " dip={x} dport={host_port}"),
			SEND_EACH(EACH_TARGET, "udp " TO_GATEWAY " dip={x} dport=53"),
			SEND_EACH(EACH_TARGET, "udp " TO_GATEWAY " dip={x} dport={host_port}"),
			SEND_EACH(EACH_TARGET, "icmp-echo " TO_GATEWAY " dip={x}"),
		},
	},
	{
		.id = "host-broadcast",
		.group = "host",
		.says = "no broadcast of a box but DHCP reaches a service of the host",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.passes = PASS_BRIDGE | PASS_PEER,
		.targets = "255.255.255.255 {broadcast}",
		.counters = { "drop_host" },
		.probes = { SEND_EACH(EACH_TARGET, "udp " TO_ALL " dip={x} dport={host_port}") },
	},
	{
		.id = "host-past-bridge",
		.group = "host",
		.says = "frames for the bridge's own group address bring no packet to the host",
		.controls = A_WORKS,
		.proofs = PROOF_HOST,
		.counters = { "drop_tap" },
		.probes = {
			SEND(1, "udp smac={a_mac} dmac=01:80:c2:00:00:0e sip={a_ip} dip={gw} dport={host_port}"),
			SEND(1, "icmp-echo smac={a_mac} dmac=01:80:c2:00:00:0e sip={a_ip} dip={gw}"),
			SEND(1, "tcp-syn smac={a_mac} dmac=01:80:c2:00:00:0e sip={a_ip} dip={gw} dport=22"),
		},
	},

	RANGE("range-10", "10.0.0.0/8 is out of reach", true, "10.0.0.0/8",
		"10.0.0.1 10.255.255.254", "drop_lan_10_8"),
	RANGE("range-172-16", "172.16.0.0/12 is out of reach", true, "172.16.0.0/12",
		"172.16.0.1 172.17.0.1", "drop_lan_172_16_12"),
	RANGE("range-192-168", "192.168.0.0/16 is out of reach", true, "192.168.0.0/16",
		"192.168.0.1 192.168.1.1", "drop_lan_192_168_16"),
	RANGE("range-cgnat", "100.64.0.0/10, which carriers and VPNs use, is out of reach", true,
		"100.64.0.0/10", "100.64.0.1 100.100.100.100", "drop_cgnat_100_64_10"),
	RANGE("range-link-local", "169.254.0.0/16 is out of reach", false, NULL,
		"169.254.1.1 169.254.255.254", "drop_link_local_169_254_16"),
	RANGE("range-metadata", "a cloud's metadata service at 169.254.169.254 is out of reach", true,
		NULL, "169.254.169.254", "drop_link_local_169_254_16"),
	RANGE_BY_HAND("range-this-network", "0.0.0.0/8 is out of reach", false, NULL,
		"0.0.0.0 0.0.0.1", "drop_this_network_0_8"),
	RANGE("range-protocol", "192.0.0.0/24 is out of reach", false, NULL, "192.0.0.8 192.0.0.170",
		"drop_protocol_192_0_0_24"),
	RANGE("range-benchmark", "198.18.0.0/15 is out of reach", false, "198.18.0.0/15",
		"198.18.0.1 198.19.255.254", "drop_benchmark_198_18_15"),
	RANGE_BY_HAND("range-multicast", "multicast, 224.0.0.0/4, goes nowhere", true, NULL,
		"224.0.0.1 239.255.255.250", "drop_multicast_224_4"),
	RANGE_BY_HAND("range-reserved", "the reserved range 240.0.0.0/4 is out of reach", false, NULL,
		"240.0.0.1 255.255.255.254", "drop_reserved_240_4"),

	{
		.id = "peer-tcp",
		.group = "peer",
		.says = "no TCP packet gets from one box to another",
		.controls = A_TO_B | BIT(CONTROL_B_SERVES),
		.proofs = PROOF_B | COUNTER_OPTIONAL,
		.quick = true,
		.counters = { "drop_box_to_box" },
		.probes = {
			SEND(1, "tcp-syn " TO_PEER " dport={box_port}"),
			SEND(1, "tcp-ack " TO_PEER " dport={box_port}"),
			REACH(DRILL_A, WANT_SILENCE, 0, "tcp {b_ip} {box_port} {ms}"),
		},
	},
	{
		.id = "peer-udp",
		.group = "peer",
		.says = "no UDP packet gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B | COUNTER_OPTIONAL,
		.quick = true,
		.counters = { "drop_box_to_box" },
		.probes = {
			SEND(1, "udp " TO_PEER " dport={box_port}"),
			REACH(DRILL_A, WANT_SILENCE, 0, "udp {b_ip} {box_port} {ms} {t}"),
		},
	},
	{
		.id = "peer-icmp",
		.group = "peer",
		.says = "no ping gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B | COUNTER_OPTIONAL,
		.quick = true,
		.counters = { "drop_box_to_box" },
		.probes = {
			SEND(1, "icmp-echo " TO_PEER),
			REACH(DRILL_A, WANT_SILENCE, 0, "icmp {b_ip} 0 {ms} {t}"),
		},
	},
	{
		.id = "peer-arp",
		.group = "peer",
		.says = "boxes do not see or answer each other's ARP",
		.controls = A_TO_B,
		.proofs = PROOF_B | COUNTER_OPTIONAL,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_box_to_box" },
		.probes = {
			SEND(1, "arp-request " TO_ALL " dip={b_ip}"),
			SEND(1, "arp-request " TO_PEER),
			SEND(1, "arp-reply " TO_PEER),
			{ DRILL_A, WANT_SILENCE, EACH_ONCE, 0, "arp {a_if} {b_ip} {ms}" },
		},
	},
	{
		.id = "peer-raw",
		.group = "peer",
		.says = "no raw Ethernet frame gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B,
		.quick = true,
		.counters = { "drop_ethertype" },
		.probes = {
			SEND(1, "raw " TO_PEER),
			SEND(1, "raw " TO_ALL),
		},
	},
	{
		.id = "peer-broadcast",
		.group = "peer",
		.says = "no broadcast, and no frame to an address that the bridge does not know, gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B | COUNTER_OPTIONAL,
		.passes = PASS_BRIDGE | PASS_LOCAL,
		.quick = true,
		.counters = { "drop_box_to_box" },
		.probes = {
			SEND(1, "udp " TO_ALL " dip=255.255.255.255 dport=9"),
			SEND(1, "udp " TO_ALL " dip={broadcast} dport=9"),
			SEND(1, "udp smac={a_mac} dmac=02:00:00:be:ef:01 sip={a_ip} dip={b_ip} dport=9"),
		},
	},
	{
		.id = "peer-multicast",
		.group = "peer",
		.says = "no multicast frame gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B | COUNTER_OPTIONAL,
		.counters = { "drop_multicast_frame" },
		.probes = {
			SEND(1, "udp smac={a_mac} dmac=01:00:5e:00:00:fb sip={a_ip} dip=224.0.0.251 dport=5353"),
			SEND(1, "udp smac={a_mac} dmac=01:00:5e:7f:ff:fa sip={a_ip} dip=239.255.255.250 dport=1900"),
		},
	},
	{
		.id = "peer-vlan",
		.group = "peer",
		.says = "no frame with a VLAN tag gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B,
		.counters = { "drop_vlan", "drop_qinq" },
		.probes = {
			SEND(1, "udp " TO_PEER " dport={box_port} vlan=7"),
			SEND(1, "raw " TO_ALL " vlan=7"),
			SEND(1, "udp " TO_PEER " dport={box_port} vlan=7 qinq=9"),
		},
	},
	{
		.id = "peer-routed",
		.group = "peer",
		.says = "the gateway routes nothing from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_box_to_box_routed" },
		.probes = {
			SEND(1, "tcp-syn " TO_GATEWAY " dip={b_ip} dport={box_port}"),
			SEND(1, "udp " TO_GATEWAY " dip={b_ip} dport={box_port}"),
			SEND(1, "icmp-echo " TO_GATEWAY " dip={b_ip}"),
		},
	},
	{
		.id = "peer-flood",
		.group = "peer",
		.says = "what the host floods into the bridge reaches no box that it is not for",
		.controls = BIT(CONTROL_A_DNS) | BIT(CONTROL_B_DNS) | BIT(CONTROL_HOST_TOOL),
		.proofs = PROOF_A,
		.counters = { "drop_flood" },
		.probes = {
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 1,
				"send {bridge} udp smac={gw_mac} dmac=ff:ff:ff:ff:ff:ff sip={gw} dip={broadcast} dport=9 token={t}" },
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 1,
				"send {bridge} udp smac={gw_mac} dmac=02:00:00:be:ef:02 sip={gw} dip={b_ip} dport=9 token={t}" },
		},
	},
	{
		.id = "peer-name",
		.group = "peer",
		.says = "a box cannot look up another box's name, by any spelling",
		.controls = BIT(CONTROL_A_TOOL) | BIT(CONTROL_A_LEASE) | BIT(CONTROL_A_DNS),
		.quick = true,
		.probes = {
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_name} 1 {long}" },
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_name} 28 {long}" },
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_name}.{bridge} 1 {long}" },
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_name}.local 1 {long}" },
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_name}.lan 1 {long}" },
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_name}.localdomain 1 {long}" },
		},
	},
	{
		.id = "peer-reverse",
		.group = "peer",
		.says = "a box cannot look up another box's address",
		.controls = BIT(CONTROL_A_TOOL) | BIT(CONTROL_A_LEASE) | BIT(CONTROL_A_DNS),
		.quick = true,
		.probes = {
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {b_reverse}.in-addr.arpa 12 {long}" },
			{ DRILL_A, WANT_NO_NAME, EACH_ONCE, 0, "dns {gw} {gw_reverse}.in-addr.arpa 12 {long}" },
		},
	},

	{
		.id = "spoof-mac",
		.group = "spoofing",
		.says = "no frame with another MAC than the box's own gets in",
		.controls = A_WORKS,
		.proofs = PROOF_WIRE,
		.quick = true,
		.counters = { "drop_spoof_mac" },
		.probes = {
			SEND(1, "udp smac={b_mac} dmac={gw_mac} sip={a_ip} dip={dns} dport=53"),
			SEND(1, "udp smac={b_mac} dmac={gw_mac} sip={b_ip} dip={dns} dport=53"),
			SEND(1, "udp smac={gw_mac} dmac={gw_mac} sip={a_ip} dip={dns} dport=53"),
			SEND(1, "arp-request smac={b_mac} dmac=ff:ff:ff:ff:ff:ff sip={a_ip} dip={gw}"),
		},
	},
	{
		.id = "spoof-ip",
		.group = "spoofing",
		.says = "no packet with another source address than the box's own gets in",
		.controls = A_WORKS,
		.proofs = PROOF_WIRE,
		.quick = true,
		.counters = { "drop_spoof_ip" },
		.probes = {
			SEND(1, "udp smac={a_mac} dmac={gw_mac} sip={b_ip} dip={dns} dport=53"),
			SEND(1, "tcp-syn smac={a_mac} dmac={gw_mac} sip={gw} dip={dns} dport=53"),
			SEND(1, "icmp-echo smac={a_mac} dmac={gw_mac} sip={dns} dip={gw}"),
			SEND(1, "udp smac={a_mac} dmac={gw_mac} sip=127.0.0.1 dip={gw} dport=53"),
		},
	},
	{
		.id = "spoof-arp",
		.group = "spoofing",
		.says = "no box can claim the gateway's or another box's address by ARP",
		.controls = A_WORKS,
		.proofs = PROOF_WIRE,
		.quick = true,
		.counters = { "drop_spoof_arp" },
		.probes = {
			SEND(1, "arp-reply smac={a_mac} dmac=ff:ff:ff:ff:ff:ff sip={gw} dip={gw}"),
			SEND(1, "arp-reply smac={a_mac} dmac={gw_mac} sip={b_ip} dip={gw}"),
			SEND(1, "arp-request smac={a_mac} dmac=ff:ff:ff:ff:ff:ff sip={b_ip} dip={b_ip}"),
			SEND(1, "arp-reply smac={a_mac} dmac={gw_mac} arpmac={b_mac} sip={a_ip} dip={gw}"),
		},
	},
	{
		.id = "rogue-dhcp",
		.group = "spoofing",
		.says = "a box cannot play DHCP server",
		.controls = A_TO_B,
		.proofs = PROOF_B | PROOF_WIRE,
		.quick = true,
		.counters = { "drop_dhcp_server" },
		.probes = {
			SEND(1, "dhcp-offer " TO_ALL " dip=255.255.255.255"),
			SEND(1, "dhcp-offer " TO_PEER),
		},
	},
	{
		.id = "rogue-ra",
		.group = "spoofing",
		.says = "a box cannot advertise itself as an IPv6 router",
		.controls = A_TO_B,
		.proofs = PROOF_B | PROOF_WIRE,
		.quick = true,
		.counters = { "drop_ipv6_bridge" },
		.probes = {
			SEND(1, "ipv6-ra smac={a_mac} dmac=33:33:00:00:00:01"),
			SEND(1, "ipv6-ra smac={a_mac} dmac={b_mac}"),
			SEND(1, "ipv6-ra smac={a_mac} dmac={gw_mac}"),
		},
	},

	{
		.id = "ipv6-peer",
		.group = "ipv6",
		.says = "no IPv6 gets from one box to another",
		.controls = A_TO_B,
		.proofs = PROOF_B | PROOF_WIRE,
		.quick = true,
		.counters = { "drop_ipv6_bridge" },
		.probes = {
			SEND(1, "ipv6-udp smac={a_mac} dmac=33:33:00:00:00:01 dport=9"),
			SEND(1, "ipv6-udp smac={a_mac} dmac={b_mac} dport={box_port}"),
			SEND(1, "ipv6-ns smac={a_mac} dmac={b_mac}"),
		},
	},
	{
		.id = "ipv6-host",
		.group = "ipv6",
		.says = "no IPv6 gets from a box to the host",
		.controls = A_WORKS,
		.proofs = PROOF_WIRE,
		.quick = true,
		.counters = { "drop_ipv6_bridge" },
		.probes = {
			SEND(1, "ipv6-udp smac={a_mac} dmac={gw_mac} dport={host_port}"),
			SEND(1, "ipv6-ns smac={a_mac} dmac={gw_mac}"),
			SEND(1, "ipv6-ns smac={a_mac} dmac=33:33:ff:00:00:01"),
		},
	},
	{
		.id = "ipv6-internet",
		.group = "ipv6",
		.says = "no IPv6 gets from a box to the internet",
		.controls = A_WORKS,
		.proofs = PROOF_WIRE,
		.quick = true,
		.counters = { "drop_ipv6_bridge" },
		.probes = { SEND(2, "ipv6-udp smac={a_mac} dmac={gw_mac} dip6=2001:4860:4860::8888 dport=53"),
			    SEND(0, "ipv6-udp smac={a_mac} dmac={gw_mac} dip6=fd00::1 dport=53") },
	},
	FACT("ipv6-address", "ipv6", "a box has no IPv6 address or route but the one of its own link", true),

	{
		.id = "host-to-box",
		.group = "inbound",
		.says = "the host opens no connection to a box",
		.controls = BIT(CONTROL_B_TOOL) | BIT(CONTROL_B_LEASE) | BIT(CONTROL_B_DNS) |
			BIT(CONTROL_B_SERVES) | BIT(CONTROL_HOST_TOOL),
		.proofs = PROOF_B,
		.quick = true,
		.counters = { "drop_host_to_box" },
		.probes = {
			REACH(DRILL_HOST, WANT_SILENCE, 1, "tcp {b_ip} {box_port} {ms}"),
			REACH(DRILL_HOST, WANT_SILENCE, 1, "udp {b_ip} {box_port} {ms} {t}"),
			REACH(DRILL_HOST, WANT_SILENCE, 1, "icmp {b_ip} 0 {ms} {t}"),
		},
	},
	{
		.id = "outside-to-box",
		.group = "inbound",
		.says = "nobody on another network of the host reaches a box through it",
		.controls = BIT(CONTROL_B_LEASE) | BIT(CONTROL_B_DNS) | BIT(CONTROL_B_SERVES),
		.proofs = PROOF_B,
		.counters = { "drop_outside_to_box" },
		.probes = {
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 1, "stranger tcp-syn {b_ip} {box_port} {t}" },
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 1, "stranger udp {b_ip} {box_port} {t}" },
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 1, "stranger icmp-echo {b_ip} 0 {t}" },
		},
	},

	{
		.id = "door-open",
		.group = "doors",
		.says = "an open door answers on the host's 127.0.0.1",
		.phase = PHASE_DOOR,
		.controls = BIT(CONTROL_B_LEASE) | BIT(CONTROL_B_SERVES) | BIT(CONTROL_HOST_TOOL),
		.quick = true,
		.probes = { REACH(DRILL_HOST, WANT_OPEN, 0, "tcp 127.0.0.1 {door} {long}") },
	},
	{
		.id = "door-only-one",
		.group = "doors",
		.says = "a door opens one port of one box and no other",
		.phase = PHASE_DOOR,
		.controls = BIT(CONTROL_B_LEASE) | BIT(CONTROL_B_DNS) | BIT(CONTROL_B_SERVES) |
			BIT(CONTROL_HOST_TOOL),
		.proofs = PROOF_B,
		.quick = true,
		.counters = { "drop_host_to_box" },
		.probes = {
			REACH(DRILL_HOST, WANT_CLOSED, 0, "tcp 127.0.0.1 {no_door} {ms}"),
			REACH(DRILL_HOST, WANT_SILENCE, 1, "tcp {b_ip} {box_port} {ms}"),
			REACH(DRILL_HOST, WANT_SILENCE, 1, "tcp {b_ip} {other_port} {ms}"),
			REACH(DRILL_HOST, WANT_SILENCE, 1, "udp {b_ip} {box_port} {ms} {t}"),
		},
	},
	{
		.id = "door-loopback-only",
		.group = "doors",
		.says = "a door is closed at every other address of the host",
		.phase = PHASE_DOOR,
		.controls = BIT(CONTROL_B_SERVES) | BIT(CONTROL_HOST_TOOL),
		.quick = true,
		.probes = {
			REACH(DRILL_HOST, WANT_CLOSED, 0, "tcp {gw} {door} {ms}"),
			{ DRILL_HOST, WANT_CLOSED, EACH_HOST_ADDRESS, 0, "reach tcp {x} {door} {ms}" },
		},
	},
	{
		.id = "door-outside",
		.group = "doors",
		.says = "nobody on another network of the host gets through a door",
		.phase = PHASE_DOOR,
		.controls = BIT(CONTROL_B_LEASE) | BIT(CONTROL_B_DNS) | BIT(CONTROL_B_SERVES),
		.proofs = PROOF_B,
		.probes = {
			{ DRILL_HOST, WANT_SILENCE, EACH_HOST_ADDRESS, 0, "stranger tcp-syn {x} {door} {t}" },
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 0, "stranger tcp-syn {gw} {door} {t}" },
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 0, "stranger tcp-syn 127.0.0.1 {door} {t}" },
			{ DRILL_HOST, WANT_SILENCE, EACH_ONCE, 0, "stranger tcp-syn {b_ip} {box_port} {t}" },
		},
	},
	{
		.id = "door-peer",
		.group = "doors",
		.says = "another box does not get through a door",
		.phase = PHASE_DOOR,
		.controls = A_TO_B | BIT(CONTROL_B_SERVES),
		.proofs = PROOF_B,
		.passes = PASS_BRIDGE,
		.quick = true,
		.counters = { "drop_host_gateway", "drop_loopback_127_8", "drop_host",
			"drop_box_to_box_routed" },
		.probes = {
			REACH(DRILL_A, WANT_SILENCE, 1, "tcp {gw} {door} {ms}"),
			SEND(1, "tcp-syn " TO_GATEWAY " dip={gw} dport={door}"),
			SEND(1, "tcp-syn " TO_GATEWAY " dip=127.0.0.1 dport={door}"),
			SEND_EACH(EACH_HOST_ADDRESS, "tcp-syn " TO_GATEWAY " dip={x} dport={door}"),
			SEND(1, "tcp-syn " TO_GATEWAY " dip={b_ip} dport={box_port}"),
		},
	},
	{
		.id = "door-gone",
		.group = "doors",
		.says = "a removed door is closed",
		.phase = PHASE_DOOR_GONE,
		.controls = BIT(CONTROL_B_SERVES) | BIT(CONTROL_HOST_TOOL),
		.quick = true,
		.probes = { REACH(DRILL_HOST, WANT_REFUSED, 0, "tcp 127.0.0.1 {door} {ms}") },
	},

	FACT("rules-intact", "layers", "the kernel has exactly the rules that this program means", true),
	FACT("port-flag", "layers", "the kernel keeps the boxes' ports apart by itself, whatever the rules say", true),
	FACT("hook", "layers", "no box can start without its rules: libvirt's hook is in force", true),

	FACT("one-nic", "machine", "a box has one network device, and it is on the isolated bridge", true),
	FACT("no-host-device", "machine", "no device, folder or socket of the host is in a box", true),
	FACT("no-host-listener", "machine", "no port of the host listens on a box's behalf", true),
	FACT("no-page-merging", "machine", "a box's memory is not merged with that of others", true),
	FACT("identity", "machine", "two boxes of one image differ in every part of their identity", true),
	{
		.id = "image-credentials",
		.group = "machine",
		.says = "a fresh box's image holds no credential",
		.probes = { { DRILL_B, WANT_CLEAN, EACH_ONCE, 0,
			"credentials /root /home /etc /opt /srv /usr/local /var/lib/cloud /var/lib/box" } },
	},
	{
		.id = "seed-credentials",
		.group = "machine",
		.says = "a fresh box's seed holds no credential",
		.quick = true,
		.probes = { { DRILL_B, WANT_CLEAN, EACH_ONCE, 0, "credentials /dev/disk/by-label/CIDATA" } },
	},
	FACT("ownership", "machine", "a machine that is not a box of ours is refused by every command", false),
};
const size_t drill_claim_count = ARRAY_LEN(drill_claims);

const struct drill_control_row drill_controls[DRILL_CONTROLS] = {
	[CONTROL_A_TOOL] = { "the box's probe tells an open port from a closed one",
		{ { DRILL_A, WANT_OPEN, EACH_ONCE, 0, "reach tcp 127.0.0.1 {box_port} {long}" },
		  { DRILL_A, WANT_REFUSED, EACH_ONCE, 0, "reach tcp 127.0.0.1 {other_port} {long}" } } },
	[CONTROL_B_TOOL] = { "the peer's probe tells an open port from a closed one",
		{ { DRILL_B, WANT_OPEN, EACH_ONCE, 0, "reach tcp 127.0.0.1 {box_port} {long}" },
		  { DRILL_B, WANT_REFUSED, EACH_ONCE, 0, "reach tcp 127.0.0.1 {other_port} {long}" } } },
	[CONTROL_A_GATEWAY] = { "the gateway answers the box's ARP",
		{ { DRILL_A, WANT_OPEN, EACH_ONCE, 0, "arp {a_if} {gw} {long}" } } },
	[CONTROL_A_LEASE] = { "the box has the address that is reserved for it",
		{ { DRILL_A, WANT_CHECK, EACH_ONCE, 0, "lease-a" } } },
	[CONTROL_B_LEASE] = { "the peer has the address that is reserved for it",
		{ { DRILL_B, WANT_CHECK, EACH_ONCE, 0, "lease-b" } } },
	[CONTROL_A_EGRESS] = { "the box reaches the internet",
		{ { DRILL_A, WANT_OPEN, EACH_RESOLVER, 0, "reach tcp {x} 53 {long}" } } },
	[CONTROL_B_EGRESS] = { "the peer reaches the internet",
		{ { DRILL_B, WANT_OPEN, EACH_RESOLVER, 0, "reach tcp {x} 53 {long}" } } },
	[CONTROL_A_DNS] = { "the gateway answers the box's question, and the box sees the answer come in",
		{ { DRILL_A, WANT_ECHO, EACH_ONCE, 0, "dns {gw} {t}.{name} 1 {long}" } } },
	[CONTROL_B_DNS] = { "the gateway answers the peer's question, and the peer sees the answer come in",
		{ { DRILL_B, WANT_ECHO, EACH_ONCE, 0, "dns {gw} {t}.{name} 1 {long}" } } },
	[CONTROL_B_SERVES] = { "the peer's own listener answers on its loopback",
		{ { DRILL_B, WANT_OPEN, EACH_ONCE, 0, "reach tcp 127.0.0.1 {box_port} {long}" } } },
	[CONTROL_HOST_EGRESS] = { "the host reaches the internet",
		{ { DRILL_HOST, WANT_OPEN, EACH_RESOLVER, 0, "reach tcp {x} 53 {long}" } } },
	[CONTROL_HOST_SEES] = { "what arrives at the host's stack is seen",
		{ { DRILL_HOST, WANT_ECHO, EACH_ONCE, 0, "dns {gw} {t}.{name} 1 {long}" } } },
	[CONTROL_HOST_TOOL] = { "the probe runs on the host",
		{ { DRILL_HOST, WANT_REFUSED, EACH_ONCE, 0, "reach tcp 127.0.0.1 {other_port} {long}" } } },
};
/* clang-format on */

const struct drill_claim *drill_claim_find(const char *id)
{
	for (size_t i = 0; i < drill_claim_count; i++) {
		if (str_equal(drill_claims[i].id, id))
			return &drill_claims[i];
	}
	return NULL;
}

size_t drill_probe_count(const struct drill_probe *probes, size_t max)
{
	size_t n = 0;

	while (n < max && probes[n].line)
		n++;
	return n;
}

const char *drill_place_name(enum drill_place place)
{
	static const char *const names[] = { "box", "peer", "host" };

	_Static_assert(ARRAY_LEN(names) == DRILL_PLACES, "every place has a name");
	return names[place];
}

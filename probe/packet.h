/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ethernet frames built by hand, for probes: what an honest stack would never send. Pure: structs in,
 * bytes out. Every payload carries a token, by which the receiving end knows our frame from others.
 */
#ifndef PROBE_PACKET_H
#define PROBE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { PACKET_MAX = 1514 }; /* Ethernet header and the standard MTU of 1500 */

enum packet_kind {
	PACKET_UDP, /* IPv4 UDP datagram */
	PACKET_TCP_SYN, /* IPv4 TCP with SYN */
	PACKET_TCP_ACK, /* IPv4 TCP with ACK alone: belongs to no connection */
	PACKET_ICMP_ECHO, /* IPv4 echo request */
	PACKET_ARP_REQUEST, /* who has dst_ip, tell src_ip */
	PACKET_ARP_REPLY, /* src_ip is at src_mac */
	PACKET_DHCP_DISCOVER, /* a client's, 0.0.0.0:68 to 255.255.255.255:67 */
	PACKET_DHCP_OFFER, /* a server's, src_ip:67 to broadcast:68: nobody in a box may send it */
	PACKET_RAW, /* ethertype 0x88b5, IEEE's local experimental one */
	PACKET_IPV6_UDP, /* from the link-local address of src_mac */
	PACKET_IPV6_RA, /* a router advertisement */
	PACKET_IPV6_NS, /* a neighbour solicitation */
};

struct packet {
	enum packet_kind kind;
	uint8_t src_mac[6], dst_mac[6]; /* of the Ethernet header */
	uint8_t arp_mac[6]; /* sender's MAC inside ARP; all zero: the same as src_mac */
	uint32_t src_ip, dst_ip; /* host byte order */
	uint8_t dst_ip6[16]; /* of IPv6; all zero: all nodes on the link, ff02::1 */
	uint16_t src_port, dst_port;
	uint16_t vlan; /* 0: untagged; else an 802.1Q tag with this id */
	uint16_t outer_vlan; /* 0: none; else an 802.1ad (QinQ) tag before the other */
	const char *token; /* lent; at most 64 bytes, carried in the payload */
};

/* The name of a kind as the command line spells it: "udp", "arp-reply" ... NULL beyond the last. */
const char *packet_kind_name(unsigned kind);

/* The kind with this name; ERROR_USAGE names the ones there are. */
int packet_kind_parse(const char *name, enum packet_kind *ret, struct error *err) MUST_CHECK;

/* Build the frame in buf. Returns its length; 0 when it would not fit or the token is too long. */
size_t packet_build(const struct packet *p, uint8_t buf[PACKET_MAX]);

#endif

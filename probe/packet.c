/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/packet.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

enum {
	TOKEN_MAX = 64,
	TYPE_IPV4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_IPV6 = 0x86dd,
	TYPE_VLAN = 0x8100, /* 802.1Q */
	TYPE_QINQ = 0x88a8, /* 802.1ad */
	TYPE_LOCAL = 0x88b5, /* IEEE 802, local experimental ethertype 1 */
	PROTO_ICMP = 1,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ICMPV6 = 58,
};

static const char *const kind_names[] = {
	[PACKET_UDP] = "udp",
	[PACKET_TCP_SYN] = "tcp-syn",
	[PACKET_TCP_ACK] = "tcp-ack",
	[PACKET_ICMP_ECHO] = "icmp-echo",
	[PACKET_ARP_REQUEST] = "arp-request",
	[PACKET_ARP_REPLY] = "arp-reply",
	[PACKET_DHCP_DISCOVER] = "dhcp-discover",
	[PACKET_DHCP_OFFER] = "dhcp-offer",
	[PACKET_RAW] = "raw",
	[PACKET_IPV6_UDP] = "ipv6-udp",
	[PACKET_IPV6_RA] = "ipv6-ra",
	[PACKET_IPV6_NS] = "ipv6-ns",
};

const char *packet_kind_name(unsigned kind)
{
	return kind < ARRAY_LEN(kind_names) ? kind_names[kind] : NULL;
}

int packet_kind_parse(const char *name, enum packet_kind *ret, struct error *err)
{
	for (unsigned i = 0; i < ARRAY_LEN(kind_names); i++) {
		if (str_equal(name, kind_names[i])) {
			*ret = (enum packet_kind)i;
			return 0;
		}
	}
	error_set(err, ERROR_USAGE, "no packet kind '%.40s'; there are", name);
	for (unsigned i = 0; i < ARRAY_LEN(kind_names); i++)
		error_hint(err, " %s", kind_names[i]);
	return -1;
}

/* A frame while it is written: at is where the next byte goes. Too much sets full and stays. */
struct writer {
	uint8_t *buf;
	size_t at;
	bool full;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	if (len > PACKET_MAX - w->at)
		w->full = true;
	if (w->full)
		return;
	memcpy(w->buf + w->at, bytes, len);
	w->at += len;
}

static void put8(struct writer *w, unsigned v)
{
	uint8_t b = (uint8_t)v;

	put(w, &b, 1);
}

static void put16(struct writer *w, unsigned v)
{
	put8(w, v >> 8);
	put8(w, v & 0xff);
}

static void put32(struct writer *w, uint32_t v)
{
	put16(w, v >> 16);
	put16(w, v & 0xffff);
}

static void put_zero(struct writer *w, size_t len)
{
	while (len--)
		put8(w, 0);
}

static void set16(struct writer *w, size_t at, unsigned v)
{
	if (w->full)
		return;
	w->buf[at] = (uint8_t)(v >> 8);
	w->buf[at + 1] = (uint8_t)v;
}

static uint32_t sum_add(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	return sum;
}

static unsigned sum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

/* Checksum of the transport segment from at to the end, with the pseudo header's addresses. */
static void transport_sum(struct writer *w, size_t addresses, size_t address_len, size_t at,
	size_t field, unsigned proto)
{
	uint32_t sum = proto;

	if (w->full)
		return;
	sum = sum_add(sum, w->buf + addresses, address_len);
	sum += (uint32_t)(w->at - at);
	sum = sum_add(sum, w->buf + at, w->at - at);
	set16(w, field, sum_fold(sum));
}

static void put_token(struct writer *w, const struct packet *p)
{
	put(w, p->token ? p->token : "", p->token ? strlen(p->token) : 0);
}

static void put_ethernet(struct writer *w, const struct packet *p, unsigned type)
{
	put(w, p->dst_mac, 6);
	put(w, p->src_mac, 6);
	if (p->outer_vlan) {
		put16(w, TYPE_QINQ);
		put16(w, p->outer_vlan);
	}
	if (p->vlan) {
		put16(w, TYPE_VLAN);
		put16(w, p->vlan);
	}
	put16(w, type);
}

static void put_udp_head(struct writer *w, const struct packet *p)
{
	put16(w, p->src_port);
	put16(w, p->dst_port);
	put16(w, 0); /* length, set when known */
	put16(w, 0); /* checksum */
}

static void put_tcp(struct writer *w, const struct packet *p)
{
	put16(w, p->src_port);
	put16(w, p->dst_port);
	put32(w, 0x1000);
	put32(w, p->kind == PACKET_TCP_ACK ? 0x2000 : 0);
	put16(w, 5u << 12 | (p->kind == PACKET_TCP_ACK ? 0x10u : 0x02u));
	put16(w, 64240);
	put16(w, 0); /* checksum */
	put16(w, 0); /* urgent pointer */
	put_token(w, p);
}

/* BOOTP's fixed part and the options of a discover or an offer (RFC 2131). */
static void put_dhcp(struct writer *w, const struct packet *p)
{
	bool offer = p->kind == PACKET_DHCP_OFFER;

	put8(w, offer ? 2 : 1);
	put8(w, 1); /* Ethernet */
	put8(w, 6);
	put8(w, 0);
	put32(w, 0xb0cb0c01); /* transaction id */
	put32(w, 0x8000); /* flags: broadcast */
	put32(w, 0); /* client's address */
	put32(w, offer ? p->dst_ip : 0); /* yours */
	put32(w, offer ? p->src_ip : 0); /* server's */
	put32(w, 0);
	put(w, p->src_mac, 6);
	put_zero(w, 10 + 64 + 128);
	put32(w, 0x63825363); /* magic cookie */
	put8(w, 53);
	put8(w, 1);
	put8(w, offer ? 2 : 1);
	put8(w, 255);
	put_token(w, p);
}

static void put_ipv4(struct writer *w, const struct packet *p)
{
	static const uint8_t protos[] = {
		[PACKET_UDP] = PROTO_UDP,
		[PACKET_TCP_SYN] = PROTO_TCP,
		[PACKET_TCP_ACK] = PROTO_TCP,
		[PACKET_ICMP_ECHO] = PROTO_ICMP,
		[PACKET_DHCP_DISCOVER] = PROTO_UDP,
		[PACKET_DHCP_OFFER] = PROTO_UDP,
	};
	unsigned proto = protos[p->kind];
	size_t ip = w->at, body = ip + 20;

	put16(w, 0x4500);
	put16(w, 0); /* total length */
	put32(w, 0x12344000); /* id, don't fragment */
	put16(w, 64u << 8 | proto);
	put16(w, 0); /* checksum */
	put32(w, p->src_ip);
	put32(w, p->dst_ip);
	if (proto == PROTO_TCP) {
		put_tcp(w, p);
		transport_sum(w, ip + 12, 8, body, body + 16, proto);
	} else if (proto == PROTO_UDP) {
		put_udp_head(w, p);
		if (p->kind == PACKET_UDP)
			put_token(w, p);
		else
			put_dhcp(w, p);
		set16(w, body + 4, (unsigned)(w->at - body));
		transport_sum(w, ip + 12, 8, body, body + 6, proto);
	} else {
		put16(w, 0x0800); /* echo request */
		put16(w, 0);
		put32(w, 0x0b0c0001);
		put_token(w, p);
		set16(w, body + 2, w->full ? 0 : sum_fold(sum_add(0, w->buf + body, w->at - body)));
	}
	set16(w, ip + 2, (unsigned)(w->at - ip));
	set16(w, ip + 10, w->full ? 0 : sum_fold(sum_add(0, w->buf + ip, 20)));
}

static void put_arp(struct writer *w, const struct packet *p)
{
	static const uint8_t none[6];
	bool reply = p->kind == PACKET_ARP_REPLY;

	put16(w, 1); /* Ethernet */
	put16(w, TYPE_IPV4);
	put16(w, 0x0604);
	put16(w, reply ? 2 : 1);
	put(w, memcmp(p->arp_mac, none, 6) ? p->arp_mac : p->src_mac, 6);
	put32(w, p->src_ip);
	put(w, reply ? p->dst_mac : none, 6);
	put32(w, p->dst_ip);
	put_token(w, p); /* trailing bytes are padding to the receiver's stack */
}

/* fe80:: with the EUI-64 of mac (RFC 4291). */
static void put_link_local(struct writer *w, const uint8_t mac[6])
{
	put32(w, 0xfe800000);
	put32(w, 0);
	put8(w, mac[0] ^ 2u);
	put(w, mac + 1, 2);
	put16(w, 0xfffe);
	put(w, mac + 3, 3);
}

static void put_ipv6(struct writer *w, const struct packet *p)
{
	static const uint8_t none[16], all_nodes[16] = { [0] = 0xff, [1] = 0x02, [15] = 0x01 };
	bool udp = p->kind == PACKET_IPV6_UDP;
	size_t ip = w->at, body = ip + 40;

	put32(w, 0x60000000);
	put16(w, 0); /* payload length */
	put16(w, (udp ? PROTO_UDP : PROTO_ICMPV6) << 8 |
			 255u); /* hop limit 255: RFC 4861 demands it */
	put_link_local(w, p->src_mac);
	put(w, memcmp(p->dst_ip6, none, 16) ? p->dst_ip6 : all_nodes, 16);
	if (udp) {
		put_udp_head(w, p);
		put_token(w, p);
		set16(w, body + 4, (unsigned)(w->at - body));
		transport_sum(w, ip + 8, 32, body, body + 6, PROTO_UDP);
	} else if (p->kind == PACKET_IPV6_RA) {
		put32(w, 134u << 24);
		put32(w, 64u << 24 | 1800); /* hop limit, router lifetime in seconds */
		put32(w, 0);
		put32(w, 0);
		put_token(w, p);
		transport_sum(w, ip + 8, 32, body, body + 2, PROTO_ICMPV6);
	} else {
		put32(w, 135u << 24);
		put32(w, 0);
		put_link_local(w, p->dst_mac);
		put_token(w, p);
		transport_sum(w, ip + 8, 32, body, body + 2, PROTO_ICMPV6);
	}
	set16(w, ip + 4, (unsigned)(w->at - body));
}

size_t packet_build(const struct packet *p, uint8_t buf[PACKET_MAX])
{
	struct writer w = { .buf = buf };

	if (p->token && strlen(p->token) > TOKEN_MAX)
		return 0;
	switch (p->kind) {
	case PACKET_UDP:
	case PACKET_TCP_SYN:
	case PACKET_TCP_ACK:
	case PACKET_ICMP_ECHO:
	case PACKET_DHCP_DISCOVER:
	case PACKET_DHCP_OFFER:
		put_ethernet(&w, p, TYPE_IPV4);
		put_ipv4(&w, p);
		break;
	case PACKET_ARP_REQUEST:
	case PACKET_ARP_REPLY:
		put_ethernet(&w, p, TYPE_ARP);
		put_arp(&w, p);
		break;
	case PACKET_RAW:
		put_ethernet(&w, p, TYPE_LOCAL);
		put_token(&w, p);
		break;
	case PACKET_IPV6_UDP:
	case PACKET_IPV6_RA:
	case PACKET_IPV6_NS:
		put_ethernet(&w, p, TYPE_IPV6);
		put_ipv6(&w, p);
		break;
	}
	if (!w.full && w.at < 60) /* the shortest Ethernet frame without its checksum */
		put_zero(&w, 60 - w.at);
	return w.full ? 0 : w.at;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/rules-fields.h"

#include <arpa/inet.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_tables.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "base/parse.h"

static const uint8_t group_bit[6] = { 1 };
static const uint8_t link_local_group[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0 };
static const uint8_t low_half[1] = { 0x0f };

#define NEEDS_IP                                                              \
	{                                                                     \
		[RULES_BRIDGE] = { FIELD_ETHER_TYPE, "ip" }, [RULES_INET] = { \
			FIELD_NFPROTO,                                        \
			"ipv4"                                                \
		}                                                             \
	}
#define NEEDS_ARP                                            \
	{                                                    \
		[RULES_BRIDGE] = { FIELD_ETHER_TYPE, "arp" } \
	}
#define NEEDS_ETHER                                       \
	{                                                 \
		[RULES_INET] = { FIELD_IIFTYPE, "ether" } \
	}
#define NEEDS_L4(proto)                                                                            \
	{                                                                                          \
		[RULES_BRIDGE] = { FIELD_L4PROTO, proto }, [RULES_INET] = { FIELD_L4PROTO, proto } \
	}

const struct field_row field_rows[FIELDS] = {
	[FIELD_IIFNAME] = { "iifname", TYPE_IFNAME, 16, SOURCE_META, NFT_META_IIFNAME },
	[FIELD_OIFNAME] = { "oifname", TYPE_IFNAME, 16, SOURCE_META, NFT_META_OIFNAME },
	[FIELD_IBRNAME] = { "meta ibrname", TYPE_IFNAME, 16, SOURCE_META, NFT_META_BRI_IIFNAME },
	[FIELD_IIFTYPE] = { "meta iiftype", TYPE_NUMBER16_HOST, 2, SOURCE_META, NFT_META_IIFTYPE },
	[FIELD_NFPROTO] = { "meta nfproto", TYPE_NUMBER8, 1, SOURCE_META, NFT_META_NFPROTO },
	[FIELD_L4PROTO] = { "meta l4proto", TYPE_NUMBER8, 1, SOURCE_META, NFT_META_L4PROTO },
	[FIELD_ETHER_TYPE] = { "ether type", TYPE_NUMBER16_NET, 2, SOURCE_LINK, 12, NULL,
		NEEDS_ETHER },
	[FIELD_ETHER_SADDR] = { "ether saddr", TYPE_ETHER, 6, SOURCE_LINK, 6, NULL, NEEDS_ETHER },
	[FIELD_ETHER_DADDR] = { "ether daddr", TYPE_ETHER, 6, SOURCE_LINK, 0, NULL, NEEDS_ETHER },
	[FIELD_ETHER_GROUP] = { "ether daddr & 01:00:00:00:00:00 ==", TYPE_ETHER, 6, SOURCE_LINK, 0,
		group_bit, NEEDS_ETHER },
	[FIELD_ETHER_LINK_LOCAL] = { "ether daddr & ff:ff:ff:ff:ff:f0 ==", TYPE_ETHER, 6,
		SOURCE_LINK, 0, link_local_group, NEEDS_ETHER },
	[FIELD_ARP_OPERATION] = { "arp operation", TYPE_NUMBER16_NET, 2, SOURCE_NETWORK, 6, NULL,
		NEEDS_ARP },
	[FIELD_ARP_SADDR_ETHER] = { "arp saddr ether", TYPE_ETHER, 6, SOURCE_NETWORK, 8, NULL,
		NEEDS_ARP },
	[FIELD_ARP_SADDR_IP] = { "arp saddr ip", TYPE_IPV4, 4, SOURCE_NETWORK, 14, NULL,
		NEEDS_ARP },
	[FIELD_ARP_DADDR_IP] = { "arp daddr ip", TYPE_IPV4, 4, SOURCE_NETWORK, 24, NULL,
		NEEDS_ARP },
	[FIELD_IP_HDRLENGTH] = { "ip hdrlength", TYPE_NUMBER8, 1, SOURCE_NETWORK, 0, low_half,
		NEEDS_IP },
	[FIELD_IP_SADDR] = { "ip saddr", TYPE_IPV4, 4, SOURCE_NETWORK, 12, NULL, NEEDS_IP },
	[FIELD_IP_DADDR] = { "ip daddr", TYPE_IPV4, 4, SOURCE_NETWORK, 16, NULL, NEEDS_IP },
	[FIELD_UDP_SPORT] = { "udp sport", TYPE_SERVICE, 2, SOURCE_TRANSPORT, 0, NULL,
		NEEDS_L4("udp") },
	[FIELD_UDP_DPORT] = { "udp dport", TYPE_SERVICE, 2, SOURCE_TRANSPORT, 2, NULL,
		NEEDS_L4("udp") },
	[FIELD_TCP_SPORT] = { "tcp sport", TYPE_SERVICE, 2, SOURCE_TRANSPORT, 0, NULL,
		NEEDS_L4("tcp") },
	[FIELD_TCP_DPORT] = { "tcp dport", TYPE_SERVICE, 2, SOURCE_TRANSPORT, 2, NULL,
		NEEDS_L4("tcp") },
	/* BOOTP's chaddr, 28 bytes behind the UDP header (RFC 951) */
	[FIELD_DHCP_CHADDR] = { "@th,288,48", TYPE_ETHER, 6, SOURCE_TRANSPORT, 36, NULL,
		NEEDS_L4("udp") },
	[FIELD_ICMP_TYPE] = { "icmp type", TYPE_NUMBER8, 1, SOURCE_TRANSPORT, 0, NULL,
		NEEDS_L4("icmp") },
	[FIELD_CT_STATE] = { "ct state", TYPE_BITS32, 4, SOURCE_CT, NFT_CT_STATE },
	[FIELD_CT_DIRECTION] = { "ct direction", TYPE_NUMBER8, 1, SOURCE_CT, NFT_CT_DIRECTION },
	[FIELD_CT_STATUS] = { "ct status", TYPE_BITS32, 4, SOURCE_CT, NFT_CT_STATUS },
};

const char *field_type_name(enum field_type type)
{
	switch (type) {
	case TYPE_IPV4:
		return "ipv4_addr";
	case TYPE_ETHER:
		return "ether_addr";
	case TYPE_SERVICE:
		return "inet_service";
	case TYPE_IFNAME:
		return "ifname";
	default:
		return NULL;
	}
}

/* The names that our rules use, per field; a name means nothing outside its field. */
static const struct field_word {
	enum field field;
	const char *name;
	uint32_t value;
} field_words[] = {
	{ FIELD_IIFTYPE, "ether", ARPHRD_ETHER },
	{ FIELD_NFPROTO, "ipv4", NFPROTO_IPV4 },
	{ FIELD_NFPROTO, "ipv6", NFPROTO_IPV6 },
	{ FIELD_L4PROTO, "tcp", IPPROTO_TCP },
	{ FIELD_L4PROTO, "udp", IPPROTO_UDP },
	{ FIELD_L4PROTO, "icmp", IPPROTO_ICMP },
	{ FIELD_ETHER_TYPE, "ip", ETH_P_IP },
	{ FIELD_ETHER_TYPE, "ip6", ETH_P_IPV6 },
	{ FIELD_ETHER_TYPE, "arp", ETH_P_ARP },
	{ FIELD_ETHER_TYPE, "8021q", ETH_P_8021Q },
	{ FIELD_ETHER_TYPE, "8021ad", ETH_P_8021AD },
	{ FIELD_ARP_OPERATION, "request", ARPOP_REQUEST },
	{ FIELD_IP_HDRLENGTH, "5", 5 }, /* words of 4 bytes: no options */
	{ FIELD_ICMP_TYPE, "destination-unreachable", ICMP_DEST_UNREACH },
	{ FIELD_ICMP_TYPE, "time-exceeded", ICMP_TIME_EXCEEDED },
	{ FIELD_CT_STATE, "new", NF_CT_STATE_BIT(IP_CT_NEW) },
	{ FIELD_CT_STATE, "established", NF_CT_STATE_BIT(IP_CT_ESTABLISHED) },
	{ FIELD_CT_STATE, "related", NF_CT_STATE_BIT(IP_CT_RELATED) },
	{ FIELD_CT_DIRECTION, "original", IP_CT_DIR_ORIGINAL },
	{ FIELD_CT_DIRECTION, "reply", IP_CT_DIR_REPLY },
	{ FIELD_CT_STATUS, "dnat", IPS_DST_NAT },
};

static int encode_word(
	enum field field, const char *name, size_t len, uint32_t *ret, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(field_words); i++) {
		if (field_words[i].field == field && strlen(field_words[i].name) == len &&
			strncmp(field_words[i].name, name, len) == 0) {
			*ret = field_words[i].value;
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID, "rules: '%s' has no value '%.*s'",
		field_rows[field].text, (int)len, name);
}

static int encode_bits(enum field field, const char *value, uint32_t *ret, struct error *err)
{
	uint32_t bits = 0, bit = 0;

	for (const char *p = value; *p;) {
		size_t len = strcspn(p, ",");

		if (encode_word(field, p, len, &bit, err) < 0)
			return -1;
		bits |= bit;
		p += len;
		p += *p == ',';
	}
	*ret = bits;
	return 0;
}

static int encode_ipv4(const char *value, uint8_t *bytes, uint8_t *mask, struct error *err)
{
	uint32_t addr = 0, be;
	unsigned prefix = 32;
	int ret;

	if (strchr(value, '/'))
		ret = parse_cidr(value, "rules", &addr, &prefix, err);
	else
		ret = parse_ipv4(value, "rules", &addr, err);
	if (ret < 0)
		return -1;
	be = htonl(addr);
	memcpy(bytes, &be, sizeof(be));
	be = htonl(net_mask(prefix));
	memcpy(mask, &be, sizeof(be));
	return 0;
}

/* An interface name; with a trailing "*" only what stands before it is compared. */
static int encode_ifname(const char *value, uint8_t *bytes, unsigned *ret_len, struct error *err)
{
	size_t len = strlen(value);

	if (len == 0 || len >= FIELD_VALUE_MAX)
		return error_set(err, ERROR_INVALID, "rules: bad interface name '%s'", value);
	if (value[len - 1] == '*')
		*ret_len = (unsigned)--len;
	memcpy(bytes, value, len);
	return 0;
}

static int encode_number(enum field field, const char *value, uint8_t *bytes, struct error *err)
{
	const struct field_row *row = &field_rows[field];
	uint64_t number = 0;
	uint32_t word = 0;
	uint16_t half;

	if (row->type == TYPE_SERVICE) {
		if (parse_u64(value, 1, 65535, "rules", &number, err) < 0)
			return -1;
		word = (uint32_t)number;
	} else if (encode_bits(field, value, &word, err) < 0) {
		return -1;
	}
	half = row->type == TYPE_NUMBER16_HOST ? (uint16_t)word : htons((uint16_t)word);
	switch (row->len) {
	case 1:
		bytes[0] = (uint8_t)word;
		break;
	case 2:
		memcpy(bytes, &half, sizeof(half));
		break;
	default:
		memcpy(bytes, &word, sizeof(word));
	}
	return 0;
}

int field_encode(enum field field, const char *value, uint8_t bytes[FIELD_VALUE_MAX],
	uint8_t mask[FIELD_VALUE_MAX], unsigned *ret_len, struct error *err)
{
	const struct field_row *row = &field_rows[field];

	memset(bytes, 0, FIELD_VALUE_MAX);
	memset(mask, 0xff, FIELD_VALUE_MAX);
	*ret_len = row->len;
	if (row->mask)
		memcpy(mask, row->mask, row->len);
	switch (row->type) {
	case TYPE_IPV4:
		return encode_ipv4(value, bytes, mask, err);
	case TYPE_ETHER:
		return parse_mac(value, "rules", bytes, err);
	case TYPE_IFNAME:
		return encode_ifname(value, bytes, ret_len, err);
	default:
		return encode_number(field, value, bytes, err);
	}
}

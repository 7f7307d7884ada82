/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The isolation rules as data. Pure: nothing here talks to the kernel. The same rows are printed as nft
 * text (golden tests, people), encoded into one netlink batch (nft.h), compared with what the kernel
 * has (nft-check.h), and taken away one at a time by the packet tests.
 *
 * A rule is a list of matches, the named counter it bumps, and a verdict. Values are text as nft spells
 * them; "$gateway", "$subnet" and "$gateway_mac" stand for this host's network.
 */
#ifndef NET_RULES_H
#define NET_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "net/config.h"

#define RULES_TABLE "box" /* in both families */

enum rules_family {
	RULES_BRIDGE,
	RULES_INET,
	RULES_FAMILIES,
};

/* What a match looks at. rules-fields.c has a row for each. */
enum field {
	FIELD_NONE = 0,
	FIELD_IIFNAME,
	FIELD_OIFNAME,
	FIELD_IBRNAME,
	FIELD_IIFTYPE,
	FIELD_NFPROTO,
	FIELD_L4PROTO,
	FIELD_ETHER_TYPE,
	FIELD_ETHER_SADDR,
	FIELD_ETHER_DADDR,
	FIELD_ETHER_GROUP, /* the group bit of the destination: multicast and broadcast */
	FIELD_ETHER_LINK_LOCAL, /* the destination without its last 4 bits: 01:80:c2:00:00:0x */
	FIELD_ARP_OPERATION,
	FIELD_ARP_SADDR_ETHER,
	FIELD_ARP_SADDR_IP,
	FIELD_ARP_DADDR_IP,
	FIELD_IP_HDRLENGTH,
	FIELD_IP_SADDR,
	FIELD_IP_DADDR,
	FIELD_UDP_SPORT,
	FIELD_UDP_DPORT,
	FIELD_TCP_SPORT,
	FIELD_TCP_DPORT,
	FIELD_DHCP_CHADDR, /* the MAC that a DHCP message is about */
	FIELD_ICMP_TYPE,
	FIELD_CT_STATE,
	FIELD_CT_DIRECTION,
	FIELD_CT_STATUS,
	FIELDS,
};

enum match_op {
	OP_EQ, /* field is value; for bit fields (ct state, ct status): one of the bits is set */
	OP_NE,
	OP_IN, /* the fields, joined, are in the set called value */
	OP_NOT_IN,
};

enum { RULES_JOINED = 3, RULES_MATCHES = 8, RULES_CHAIN_MAX = 40, RULES_CHAINS = 11 };

struct match {
	enum match_op op;
	enum field fields[RULES_JOINED]; /* one for OP_EQ and OP_NE; ended by FIELD_NONE */
	const char *value;
};

enum verdict_kind {
	RULES_ACCEPT,
	RULES_DROP,
	RULES_MASQUERADE,
	RULES_DNAT_DOOR, /* to what the map "doors" has for the TCP destination port */
};

struct rule {
	const char *says; /* for people: what stands in the way, or what is let through */
	struct match match[RULES_MATCHES]; /* ended by a match without a field */
	const char *counter; /* NULL: none. Every drop has one; the name tells the claim. */
	enum verdict_kind verdict;
};

enum rules_hook {
	RULES_PREROUTING,
	RULES_INPUT,
	RULES_FORWARD,
	RULES_OUTPUT,
	RULES_POSTROUTING,
};

struct chain {
	enum rules_family family;
	const char *name;
	bool nat; /* type nat, else filter */
	enum rules_hook hook;
	int priority;
	const struct rule *rules[RULES_CHAIN_MAX]; /* lent */
	size_t n_rules;
};

/* What of a box an element of a set is made of. */
enum part {
	PART_NONE = 0,
	PART_TAP,
	PART_MAC,
	PART_CHADDR, /* the MAC again, as a field that nft has no name for */
	PART_ADDR,
	PART_DOOR_HOST, /* a set with a part of a door has an element for each door */
	PART_DOOR_PORT,
	PARTS,
};

struct set_def {
	enum rules_family family;
	const char *name;
	enum part key[RULES_JOINED]; /* ended by PART_NONE */
	enum part data[RULES_JOINED]; /* a map's values; first PART_NONE: a plain set */
	const char *type_of; /* how nft spells the key's type when types have no names; else NULL */
};

/* What the packet filter has to know about a box that runs. */
struct net_door {
	uint16_t host; /* port on 127.0.0.1 of the host */
	uint16_t port; /* TCP port in the box */
};

enum { NET_DOORS_MAX = 64, NET_TAP_MAX = 16 };

struct net_port {
	char uuid[37]; /* lower case; for people and for the record's name */
	char tap[NET_TAP_MAX];
	uint8_t mac[6];
	uint32_t addr; /* host byte order */
	struct net_door doors[NET_DOORS_MAX];
	size_t n_doors;
};

struct ruleset {
	struct net_config config;
	struct chain chains[RULES_CHAINS];
	size_t n_chains;
};

extern const struct set_def rules_sets[];
extern const size_t n_rules_sets;

/*
 * The whole rule set for this network. ibrname: whether the kernel can match the bridge a port belongs
 * to (nft_has_ibrname), which adds rules that the rest does not depend on. Tests may take rules out of
 * the chains afterwards.
 */
void rules_build(const struct net_config *config, bool ibrname, struct ruleset *ret);

/* Names of the named counters of a family, each once. Returns how many; at most max are stored. */
size_t rules_counters(
	const struct ruleset *rs, enum rules_family family, const char **ret, size_t max);

/* What the rule with this counter stops, for people; NULL when there is no such counter. */
const char *rules_counter_says(const struct ruleset *rs, const char *counter);

/*
 * The rule's matches with what they depend on put before them (an IP address only means something in
 * an IPv4 packet), as printer and encoder use them. Returns how many.
 */
size_t rules_expand(
	enum rules_family family, const struct rule *rule, struct match ret[2 * RULES_MATCHES]);

/* Replace "$gateway" and its like; buf of 24 bytes may be used. Returns value itself or buf. */
const char *rules_value(const struct ruleset *rs, const char *value, char buf[24]);

const char *rules_family_name(enum rules_family family); /* "bridge", "inet" */
const char *rules_hook_name(enum rules_hook hook);

/* The rule as one line of nft, without a newline. */
void rules_print_rule(const struct ruleset *rs, const struct chain *chain, const struct rule *rule,
	struct str *into);

/*
 * All of it as an nft script that replaces both tables, with the elements of these ports. The script
 * does what nft_apply does, and is what "nft -f" is measured with.
 */
void rules_print(
	const struct ruleset *rs, const struct net_port *ports, size_t n_ports, struct str *into);

/* One element of a set as the kernel holds it: parts one after the other, each padded to 4 bytes. */
struct element {
	uint8_t key[32];
	unsigned key_len;
	uint8_t data[16];
	unsigned data_len; /* 0 unless the set is a map */
};

/* Sizes and the type, as nft numbers types that are joined. */
unsigned rules_parts_len(const enum part parts[RULES_JOINED]);
uint32_t rules_parts_type(const enum part parts[RULES_JOINED]);

/* How many elements a port has in a set: 1, or one for each door. */
size_t rules_element_count(const struct set_def *set, const struct net_port *port);

/* The index-th of them; and as nft spells it: "bxt01234567" . 52:54:00:01:02:03. */
void rules_element(
	const struct set_def *set, const struct net_port *port, size_t index, struct element *ret);
void rules_print_element(
	const struct set_def *set, const struct net_port *port, size_t index, struct str *into);

/* An element that the kernel has, for messages. */
void rules_print_element_bytes(
	const struct set_def *set, const struct element *e, struct str *into);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table behind enum field: how each is spelt, typed, and loaded into a register. */
#ifndef NET_RULES_FIELDS_H
#define NET_RULES_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "net/rules.h"

enum field_source {
	SOURCE_META, /* key: enum nft_meta_keys */
	SOURCE_CT, /* key: enum nft_ct_keys */
	SOURCE_LINK, /* payload at an offset from the Ethernet header */
	SOURCE_NETWORK,
	SOURCE_TRANSPORT,
};

/* How a value's text becomes bytes. The number is nft's id of the data type, seen in set definitions. */
enum field_type {
	TYPE_NUMBER8 = 100, /* no set has these: any id will do */
	TYPE_NUMBER16_HOST,
	TYPE_NUMBER16_NET,
	TYPE_BITS32, /* comma-separated names, host byte order */
	TYPE_IPV4 = 7,
	TYPE_ETHER = 9,
	TYPE_SERVICE = 13,
	TYPE_IFNAME = 41,
};

struct field_row {
	const char *text; /* as nft spells it in a rule */
	enum field_type type;
	unsigned len; /* bytes */
	enum field_source source;
	unsigned key; /* SOURCE_META, SOURCE_CT: which; payload: the offset */
	const uint8_t *mask; /* len bytes; NULL: compare all */
	struct {
		enum field field; /* FIELD_NONE: depends on nothing */
		const char *value;
	} needs[RULES_FAMILIES];
};

extern const struct field_row field_rows[FIELDS];

/* What a field's type is called in a set definition: "ifname", "ether_addr" ... */
const char *field_type_name(enum field_type type);

enum { FIELD_VALUE_MAX = 16 };

/*
 * The bytes of a value of this field, as the kernel compares them: len bytes into bytes, and into mask
 * what of them counts (all ones, a prefix, or the field's own mask). For an interface name with a
 * trailing "*", *ret_len is shorter than the field. Values are constants of ours or come from
 * rules_value: one that cannot be read is a programming error, told as ERROR_INVALID.
 */
int field_encode(enum field field, const char *value, uint8_t bytes[FIELD_VALUE_MAX],
	uint8_t mask[FIELD_VALUE_MAX], unsigned *ret_len, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One function an expression shape. Registers are words of 4 bytes; a register of 16 bytes is written
 * by its old number (NFT_REG_1 ...) where one fits, since that is how the kernel dumps it.
 */
#include "net/nft-rule.h"

#include <errno.h>
#include <libnftnl/expr.h>
#include <linux/if_bridge.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_bridge.h>
#include <string.h>

#include "net/rules-fields.h"

uint16_t nft_family(enum rules_family family)
{
	return family == RULES_BRIDGE ? NFPROTO_BRIDGE : NFPROTO_INET;
}

uint32_t nft_hook(enum rules_family family, enum rules_hook hook)
{
	static const uint32_t hooks[RULES_FAMILIES][5] = {
		[RULES_BRIDGE] = { NF_BR_PRE_ROUTING, NF_BR_LOCAL_IN, NF_BR_FORWARD,
			NF_BR_LOCAL_OUT, NF_BR_POST_ROUTING },
		[RULES_INET] = { NF_INET_PRE_ROUTING, NF_INET_LOCAL_IN, NF_INET_FORWARD,
			NF_INET_LOCAL_OUT, NF_INET_POST_ROUTING },
	};

	return hooks[family][hook];
}

/* The register that begins word words after the first data register. */
static uint32_t reg(unsigned word)
{
	return word % 4 == 0 ? NFT_REG_1 + word / 4 : NFT_REG32_00 + word;
}

static struct nftnl_expr *add_expr(struct nftnl_rule *rule, const char *name, struct error *err)
{
	struct nftnl_expr *e = nftnl_expr_alloc(name);

	if (e)
		nftnl_rule_add_expr(rule, e); /* now the rule's */
	else
		error_oom(err);
	return e;
}

static int add_payload(struct nftnl_rule *rule, const struct field_row *row, uint32_t dreg,
	unsigned len, struct error *err)
{
	static const uint32_t bases[] = {
		[SOURCE_LINK] = NFT_PAYLOAD_LL_HEADER,
		[SOURCE_NETWORK] = NFT_PAYLOAD_NETWORK_HEADER,
		[SOURCE_TRANSPORT] = NFT_PAYLOAD_TRANSPORT_HEADER,
	};
	struct nftnl_expr *e = add_expr(rule, "payload", err);

	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, dreg);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, bases[row->source]);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, row->key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, len);
	return 0;
}

/* Load the first len bytes of a field; meta and ct fields are always whole. */
static int add_load(
	struct nftnl_rule *rule, enum field field, uint32_t dreg, unsigned len, struct error *err)
{
	const struct field_row *row = &field_rows[field];
	struct nftnl_expr *e;

	if (row->source != SOURCE_META && row->source != SOURCE_CT)
		return add_payload(rule, row, dreg, len, err);
	e = add_expr(rule, row->source == SOURCE_META ? "meta" : "ct", err);
	if (!e)
		return -1;
	if (row->source == SOURCE_META) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, row->key);
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, dreg);
	} else {
		nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, row->key);
		nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, dreg);
	}
	return 0;
}

static int add_mask(struct nftnl_rule *rule, const uint8_t *mask, unsigned len, struct error *err)
{
	static const uint8_t zero[FIELD_VALUE_MAX];
	struct nftnl_expr *e = add_expr(rule, "bitwise", err);

	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, len);
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, mask, len);
	nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, zero, len);
	return 0;
}

static int add_compare(
	struct nftnl_rule *rule, uint32_t op, const uint8_t *bytes, unsigned len, struct error *err)
{
	struct nftnl_expr *e = add_expr(rule, "cmp", err);

	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, bytes, len);
	return 0;
}

static int add_lookup(
	struct nftnl_rule *rule, const char *set, bool inverted, bool map, struct error *err)
{
	struct nftnl_expr *e = add_expr(rule, "lookup", err);

	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set);
	if (map)
		nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_DREG, NFT_REG_1);
	if (inverted)
		nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
	return 0;
}

/* How many leading bytes the mask covers when it covers whole bytes; 0 when it does not. */
static unsigned whole_bytes(const uint8_t *mask, unsigned len)
{
	unsigned n = 0, rest;

	while (n < len && mask[n] == 0xff)
		n++;
	for (rest = n; rest < len && mask[rest] == 0; rest++)
		;
	return rest == len ? n : 0;
}

/*
 * Field against a value. Bit fields match when one of the bits is set. Of a prefix that ends at a byte
 * only those bytes are loaded: no mask is needed, and nft does the same, so that its rules and ours
 * can be compared.
 */
static int add_value(
	struct nftnl_rule *rule, const struct match *m, const char *value, struct error *err)
{
	static const uint8_t zero[FIELD_VALUE_MAX];
	const struct field_row *row = &field_rows[m->fields[0]];
	uint8_t bytes[FIELD_VALUE_MAX], mask[FIELD_VALUE_MAX];
	uint32_t op = m->op == OP_NE ? NFT_CMP_NEQ : NFT_CMP_EQ;
	unsigned len, load, whole;

	if (field_encode(m->fields[0], value, bytes, mask, &len, err) < 0)
		return -1;
	whole = row->mask ? 0 : whole_bytes(mask, len);
	load = row->source >= SOURCE_LINK && whole > 0 ? whole : row->len;
	if (add_load(rule, m->fields[0], NFT_REG_1, load, err) < 0)
		return -1;
	if (row->type == TYPE_BITS32) {
		if (add_mask(rule, bytes, len, err) < 0)
			return -1;
		return add_compare(rule, NFT_CMP_NEQ, zero, len, err);
	}
	if (whole > 0)
		return add_compare(rule, op, bytes, whole, err);
	if (add_mask(rule, mask, len, err) < 0)
		return -1;
	return add_compare(rule, op, bytes, len, err);
}

/* Whether these two ask for the source and the destination port: one load does, as nft has it. */
static bool are_ports(const struct match *a, const struct match *b)
{
	return a->op == OP_EQ && b->op == OP_EQ && a->fields[0] == FIELD_UDP_SPORT &&
	       b->fields[0] == FIELD_UDP_DPORT;
}

static int add_ports(
	struct nftnl_rule *rule, const struct match *s, const struct match *d, struct error *err)
{
	uint8_t bytes[FIELD_VALUE_MAX], dport[FIELD_VALUE_MAX], mask[FIELD_VALUE_MAX];
	unsigned len;

	if (field_encode(s->fields[0], s->value, bytes, mask, &len, err) < 0 ||
		field_encode(d->fields[0], d->value, dport, mask, &len, err) < 0 ||
		add_load(rule, s->fields[0], NFT_REG_1, 4, err) < 0)
		return -1;
	memcpy(bytes + 2, dport, 2);
	return add_compare(rule, NFT_CMP_EQ, bytes, 4, err);
}

static int add_membership(struct nftnl_rule *rule, const struct match *m, struct error *err)
{
	unsigned word = 0;

	for (size_t i = 0; i < RULES_JOINED && m->fields[i]; i++) {
		if (add_load(rule, m->fields[i], reg(word), field_rows[m->fields[i]].len, err) < 0)
			return -1;
		word += (field_rows[m->fields[i]].len + 3) / 4;
	}
	return add_lookup(rule, m->value, m->op == OP_NOT_IN, false, err);
}

static int add_counter(struct nftnl_rule *rule, const char *name, struct error *err)
{
	struct nftnl_expr *e = add_expr(rule, "objref", err);

	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
	nftnl_expr_set_str(e, NFTNL_EXPR_OBJREF_IMM_NAME, name);
	return 0;
}

static int add_verdict(struct nftnl_rule *rule, uint32_t verdict, struct error *err)
{
	struct nftnl_expr *e = add_expr(rule, "immediate", err);

	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, verdict);
	return 0;
}

/* Address and port of the box come out of the map into one register: the address, then the port. */
static int add_dnat_door(struct nftnl_rule *rule, struct error *err)
{
	struct nftnl_expr *e;

	if (add_load(rule, FIELD_TCP_DPORT, NFT_REG_1, 2, err) < 0 ||
		add_lookup(rule, "doors", false, true, err) < 0)
		return -1;
	e = add_expr(rule, "nat", err);
	if (!e)
		return -1;
	nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_FAMILY, NFPROTO_IPV4);
	nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_REG_ADDR_MIN, reg(0));
	nftnl_expr_set_u32(e, NFTNL_EXPR_NAT_REG_PROTO_MIN, reg(1));
	return 0;
}

static int add_action(struct nftnl_rule *nr, const struct rule *rule, struct error *err)
{
	if (rule->counter && add_counter(nr, rule->counter, err) < 0)
		return -1;
	switch (rule->verdict) {
	case RULES_ACCEPT:
		return add_verdict(nr, NF_ACCEPT, err);
	case RULES_DROP:
		return add_verdict(nr, NF_DROP, err);
	case RULES_MASQUERADE:
		return add_expr(nr, "masq", err) ? 0 : -1;
	case RULES_DNAT_DOOR:
		return add_dnat_door(nr, err);
	}
	return error_set(err, ERROR_INVALID, "rules: no such verdict");
}

struct nftnl_rule *nft_rule_new(const struct ruleset *rs, const struct chain *chain,
	const struct rule *rule, struct error *err)
{
	_cleanup_(nftnl_rule_free_p) struct nftnl_rule *nr = nftnl_rule_alloc();
	struct match m[2 * RULES_MATCHES];
	size_t n = rules_expand(chain->family, rule, m);
	char buf[24];

	if (!nr) {
		error_oom(err);
		return NULL;
	}
	nftnl_rule_set_u32(nr, NFTNL_RULE_FAMILY, nft_family(chain->family));
	if (nftnl_rule_set_str(nr, NFTNL_RULE_TABLE, RULES_TABLE) < 0 ||
		nftnl_rule_set_str(nr, NFTNL_RULE_CHAIN, chain->name) < 0) {
		error_oom(err);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		int ret;

		if (i + 1 < n && are_ports(&m[i], &m[i + 1])) {
			ret = add_ports(nr, &m[i], &m[i + 1], err);
			i++;
		} else if (m[i].op == OP_IN || m[i].op == OP_NOT_IN) {
			ret = add_membership(nr, &m[i], err);
		} else {
			ret = add_value(nr, &m[i], rules_value(rs, m[i].value, buf), err);
		}
		if (ret < 0)
			return NULL;
	}
	return add_action(nr, rule, err) < 0 ? NULL : TAKE(nr);
}

struct nftnl_chain *nft_chain_new(const struct chain *chain, struct error *err)
{
	_cleanup_(nftnl_chain_free_p) struct nftnl_chain *nc = nftnl_chain_alloc();

	if (!nc || nftnl_chain_set_str(nc, NFTNL_CHAIN_TABLE, RULES_TABLE) < 0 ||
		nftnl_chain_set_str(nc, NFTNL_CHAIN_NAME, chain->name) < 0 ||
		nftnl_chain_set_str(nc, NFTNL_CHAIN_TYPE, chain->nat ? "nat" : "filter") < 0) {
		error_oom(err);
		return NULL;
	}
	nftnl_chain_set_u32(nc, NFTNL_CHAIN_FAMILY, nft_family(chain->family));
	nftnl_chain_set_u32(nc, NFTNL_CHAIN_HOOKNUM, nft_hook(chain->family, chain->hook));
	nftnl_chain_set_s32(nc, NFTNL_CHAIN_PRIO, chain->priority);
	nftnl_chain_set_u32(nc, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	return TAKE(nc);
}

struct nftnl_set *nft_set_new(const struct set_def *def, uint32_t id, struct error *err)
{
	_cleanup_(nftnl_set_free_p) struct nftnl_set *set = nftnl_set_alloc();

	if (!set || nftnl_set_set_str(set, NFTNL_SET_TABLE, RULES_TABLE) < 0 ||
		nftnl_set_set_str(set, NFTNL_SET_NAME, def->name) < 0) {
		error_oom(err);
		return NULL;
	}
	nftnl_set_set_u32(set, NFTNL_SET_FAMILY, nft_family(def->family));
	nftnl_set_set_u32(set, NFTNL_SET_ID, id);
	nftnl_set_set_u32(set, NFTNL_SET_FLAGS, def->data[0] ? NFT_SET_MAP : 0);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, rules_parts_type(def->key));
	nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, rules_parts_len(def->key));
	if (def->data[0]) {
		nftnl_set_set_u32(set, NFTNL_SET_DATA_TYPE, rules_parts_type(def->data));
		nftnl_set_set_u32(set, NFTNL_SET_DATA_LEN, rules_parts_len(def->data));
	}
	return TAKE(set);
}

struct nftnl_obj *nft_counter_new(enum rules_family family, const char *name, struct error *err)
{
	struct nftnl_obj *obj = nftnl_obj_alloc();

	if (!obj) {
		error_oom(err);
		return NULL;
	}
	nftnl_obj_set_u32(obj, NFTNL_OBJ_FAMILY, nft_family(family));
	nftnl_obj_set_u32(obj, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
	nftnl_obj_set_str(obj, NFTNL_OBJ_TABLE, RULES_TABLE);
	nftnl_obj_set_str(obj, NFTNL_OBJ_NAME, name);
	return obj;
}

int nft_set_add_elements(struct nftnl_set *set, const struct set_def *def,
	const struct net_port *port, struct error *err)
{
	size_t n = rules_element_count(def, port);

	for (size_t i = 0; i < n; i++) {
		struct nftnl_set_elem *elem = nftnl_set_elem_alloc();
		struct element e;

		if (!elem)
			return error_oom(err);
		nftnl_set_elem_add(set, elem); /* now the set's */
		rules_element(def, port, i, &e);
		if (nftnl_set_elem_set(elem, NFTNL_SET_ELEM_KEY, e.key, e.key_len) < 0)
			return error_oom(err);
		if (e.data_len > 0 &&
			nftnl_set_elem_set(elem, NFTNL_SET_ELEM_DATA, e.data, e.data_len) < 0)
			return error_oom(err);
	}
	return (int)n;
}

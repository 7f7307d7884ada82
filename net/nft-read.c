/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/nft-read.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

#include "base/str.h"
#include "net/nft.h"

enum { EXPR_TEXT = 1024 };

static const char reading[] = "cannot read the isolation rules back";

static void row_free(struct nft_row *row)
{
	free(row->text);
}

void nft_rows_free(struct nft_rows *rows)
{
	vec_foreach(struct nft_row, row, rows)
		row_free(row);
	nft_rows_done(rows);
}

void nft_state_done(struct nft_state *state)
{
	nft_rows_free(&state->chains);
	nft_rows_free(&state->rules);
	nft_rows_free(&state->sets);
	state->present = false;
}

/* A chain that hooks nowhere has no hook number: it is told apart. */
char *nft_chain_text(const struct nftnl_chain *chain, struct error *err)
{
	if (!nftnl_chain_is_set(chain, NFTNL_CHAIN_HOOKNUM))
		return str_dup("no hook", err);
	return str_format(err, "type %s hook %u priority %d policy %u",
		nftnl_chain_get_str(chain, NFTNL_CHAIN_TYPE),
		nftnl_chain_get_u32(chain, NFTNL_CHAIN_HOOKNUM),
		nftnl_chain_get_s32(chain, NFTNL_CHAIN_PRIO),
		nftnl_chain_get_u32(chain, NFTNL_CHAIN_POLICY));
}

char *nft_set_text(const struct nftnl_set *set, struct error *err)
{
	return str_format(err, "key %u data %u flags %u", nftnl_set_get_u32(set, NFTNL_SET_KEY_LEN),
		nftnl_set_get_u32(set, NFTNL_SET_DATA_LEN),
		nftnl_set_get_u32(set, NFTNL_SET_FLAGS));
}

static void append_lookup(const struct nftnl_expr *e, struct str *text)
{
	str_printf(text, "reg %u set %s dreg %u flags %u",
		nftnl_expr_get_u32(e, NFTNL_EXPR_LOOKUP_SREG),
		nftnl_expr_get_str(e, NFTNL_EXPR_LOOKUP_SET),
		nftnl_expr_get_u32(e, NFTNL_EXPR_LOOKUP_DREG),
		nftnl_expr_get_u32(e, NFTNL_EXPR_LOOKUP_FLAGS));
}

static void append_nat(const struct nftnl_expr *e, struct str *text)
{
	str_printf(text, "type %u family %u reg %u port reg %u",
		nftnl_expr_get_u32(e, NFTNL_EXPR_NAT_TYPE),
		nftnl_expr_get_u32(e, NFTNL_EXPR_NAT_FAMILY),
		nftnl_expr_get_u32(e, NFTNL_EXPR_NAT_REG_ADDR_MIN),
		nftnl_expr_get_u32(e, NFTNL_EXPR_NAT_REG_PROTO_MIN));
}

/* Expressions to which the kernel adds attributes of its own, so that libnftnl's text would differ. */
static const struct expr_text {
	const char *name;
	void (*append)(const struct nftnl_expr *e, struct str *text);
} expr_texts[] = {
	{ "lookup", append_lookup },
	{ "nat", append_nat },
};

static int append_expr(struct nftnl_expr *expr, void *data)
{
	const char *name = nftnl_expr_get_str(expr, NFTNL_EXPR_NAME);
	struct str *text = data;
	char buf[EXPR_TEXT] = "";

	str_printf(text, "[%s ", name);
	for (size_t i = 0; i < ARRAY_LEN(expr_texts); i++) {
		if (str_equal(name, expr_texts[i].name)) {
			expr_texts[i].append(expr, text);
			str_append(text, "]");
			return MNL_CB_OK;
		}
	}
	if (nftnl_expr_snprintf(buf, sizeof(buf), expr, NFTNL_OUTPUT_DEFAULT, 0) < 0)
		return MNL_CB_ERROR;
	str_append_escaped(text, buf, strnlen(buf, sizeof(buf)), false);
	str_append(text, "]");
	return MNL_CB_OK;
}

char *nft_rule_text(struct nftnl_rule *rule, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (nftnl_expr_foreach(rule, append_expr, &text) < 0) {
		error_set(err, ERROR_INVALID, "a rule of the kernel cannot be written out");
		return NULL;
	}
	return str_take(&text, err);
}

static int set_name(struct nft_row *row, const char *name)
{
	strncpy(row->name, name, sizeof(row->name) - 1);
	return 0;
}

/* What the callbacks of a dump fill. */
struct reader {
	struct nft_rows *rows;
	struct nft_elements *elements;
	const struct set_def *set;
	bool *present, *asleep; /* the table, and whether it is dormant */
	struct error *err;
};

static bool ours(const char *table)
{
	return table && str_equal(table, RULES_TABLE);
}

/* Errors inside a callback are ours already; errno only makes the dump stop. */
static int push_row(struct reader *r, const char *name, char *text)
{
	struct nft_row row = { .text = text };

	if (!text || set_name(&row, name) < 0 || nft_rows_push(r->rows, row, r->err) < 0) {
		free(text);
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	return MNL_CB_OK;
}

static int read_table(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_table_free_p) struct nftnl_table *t = nftnl_table_alloc();
	struct reader *r = data;

	if (!t || nftnl_table_nlmsg_parse(nlh, t) < 0)
		return MNL_CB_ERROR;
	if (ours(nftnl_table_get_str(t, NFTNL_TABLE_NAME))) {
		*r->present = true;
		*r->asleep = nftnl_table_get_u32(t, NFTNL_TABLE_FLAGS) & NFT_TABLE_F_DORMANT;
	}
	return MNL_CB_OK;
}

static int read_chain(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_chain_free_p) struct nftnl_chain *c = nftnl_chain_alloc();
	struct reader *r = data;

	if (!c || nftnl_chain_nlmsg_parse(nlh, c) < 0)
		return MNL_CB_ERROR;
	if (!ours(nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE)))
		return MNL_CB_OK;
	return push_row(r, nftnl_chain_get_str(c, NFTNL_CHAIN_NAME), nft_chain_text(c, r->err));
}

static int read_rule(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_rule_free_p) struct nftnl_rule *rule = nftnl_rule_alloc();
	struct reader *r = data;

	if (!rule || nftnl_rule_nlmsg_parse(nlh, rule) < 0)
		return MNL_CB_ERROR;
	if (!ours(nftnl_rule_get_str(rule, NFTNL_RULE_TABLE)))
		return MNL_CB_OK;
	return push_row(r, nftnl_rule_get_str(rule, NFTNL_RULE_CHAIN), nft_rule_text(rule, r->err));
}

static int read_set(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_set_free_p) struct nftnl_set *s = nftnl_set_alloc();
	struct reader *r = data;

	if (!s || nftnl_set_nlmsg_parse(nlh, s) < 0)
		return MNL_CB_ERROR;
	if (!ours(nftnl_set_get_str(s, NFTNL_SET_TABLE)))
		return MNL_CB_OK;
	return push_row(r, nftnl_set_get_str(s, NFTNL_SET_NAME), nft_set_text(s, r->err));
}

static int read_element(struct nftnl_set_elem *elem, void *data)
{
	struct reader *r = data;
	struct element e = { 0 };
	uint32_t len = 0;
	const void *bytes = nftnl_set_elem_get(elem, NFTNL_SET_ELEM_KEY, &len);

	e.key_len = MIN(len, (uint32_t)sizeof(e.key));
	if (bytes)
		memcpy(e.key, bytes, e.key_len);
	if (nftnl_set_elem_is_set(elem, NFTNL_SET_ELEM_DATA)) {
		bytes = nftnl_set_elem_get(elem, NFTNL_SET_ELEM_DATA, &len);
		e.data_len = MIN(len, (uint32_t)sizeof(e.data));
		if (bytes)
			memcpy(e.data, bytes, e.data_len);
	}
	return nft_elements_push(r->elements, e, r->err) < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

static int read_elements(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_set_free_p) struct nftnl_set *s = nftnl_set_alloc();

	if (!s || nftnl_set_elems_nlmsg_parse(nlh, s) < 0)
		return MNL_CB_ERROR;
	return nftnl_set_elem_foreach(s, read_element, data);
}

/* Whole again before a dump is repeated. */
static void restart(void *data)
{
	struct reader *r = data;

	if (r->rows)
		nft_rows_free(r->rows);
	if (r->elements)
		r->elements->len = 0;
	if (r->present)
		*r->present = false;
}

static int dump(
	struct nl *nl, uint16_t type, enum rules_family family, mnl_cb_t cb, struct reader *r)
{
	char buf[512];
	struct nl_dump d = {
		.request = nftnl_nlmsg_build_hdr(buf, type, nft_family(family), 0, 0),
		.cb = cb,
		.restart = restart,
		.data = r,
		.what = reading,
	};

	if (r->set) {
		mnl_attr_put_strz(d.request, NFTA_SET_ELEM_LIST_TABLE, RULES_TABLE);
		mnl_attr_put_strz(d.request, NFTA_SET_ELEM_LIST_SET, r->set->name);
	}
	return nl_dump(nl, &d, r->err);
}

int nft_read(struct nl *nl, enum rules_family family, struct nft_state *ret, struct error *err)
{
	struct nft_state state = { 0 };
	bool asleep = false;
	struct reader tables = { .present = &state.present, .asleep = &asleep, .err = err };
	struct reader chains = { .rows = &state.chains, .err = err };
	struct reader rules = { .rows = &state.rules, .err = err };
	struct reader sets = { .rows = &state.sets, .err = err };

	if (dump(nl, NFT_MSG_GETTABLE, family, read_table, &tables) < 0)
		return -1;
	state.present = state.present && !asleep;
	if (state.present && (dump(nl, NFT_MSG_GETCHAIN, family, read_chain, &chains) < 0 ||
				     dump(nl, NFT_MSG_GETRULE, family, read_rule, &rules) < 0 ||
				     dump(nl, NFT_MSG_GETSET, family, read_set, &sets) < 0)) {
		nft_state_done(&state);
		return -1;
	}
	*ret = state;
	return 0;
}

int nft_read_elements(
	struct nl *nl, const struct set_def *set, struct nft_elements *ret, struct error *err)
{
	struct reader r = { .elements = ret, .set = set, .err = err };

	return dump(nl, NFT_MSG_GETSETELEM, set->family, read_elements, &r);
}

static int read_generation(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(attr) == NFTA_GEN_ID &&
			mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			*(uint32_t *)data = ntohl(mnl_attr_get_u32(attr));
	}
	return MNL_CB_OK;
}

int nft_generation(struct nl *nl, uint32_t *ret, struct error *err)
{
	char buf[256];
	struct nl_dump d = {
		.request = nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETGEN, AF_UNSPEC, 0, 0),
		.cb = read_generation,
		.data = ret,
		.what = reading,
	};

	return nl_get(nl, &d, err);
}

int nft_present(struct nl *nl, struct error *err)
{
	for (int f = 0; f < RULES_FAMILIES; f++) {
		bool present = false, asleep = false;
		struct reader r = { .present = &present, .asleep = &asleep, .err = err };

		if (dump(nl, NFT_MSG_GETTABLE, (enum rules_family)f, read_table, &r) < 0)
			return -1;
		if (present)
			return 1;
	}
	return 0;
}

struct counting {
	struct nft_counter *counters;
	size_t n, max;
	enum rules_family family;
};

static int read_counter(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_obj_free_p) struct nftnl_obj *obj = nftnl_obj_alloc();
	struct counting *c = data;
	struct nft_counter *out;

	if (!obj || nftnl_obj_nlmsg_parse(nlh, obj) < 0)
		return MNL_CB_ERROR;
	if (!ours(nftnl_obj_get_str(obj, NFTNL_OBJ_TABLE)) || c->n == c->max ||
		nftnl_obj_get_u32(obj, NFTNL_OBJ_TYPE) != NFT_OBJECT_COUNTER)
		return MNL_CB_OK;
	out = &c->counters[c->n++];
	*out = (struct nft_counter){
		.family = c->family,
		.packets = nftnl_obj_get_u64(obj, NFTNL_OBJ_CTR_PKTS),
		.bytes = nftnl_obj_get_u64(obj, NFTNL_OBJ_CTR_BYTES),
	};
	strncpy(out->name, nftnl_obj_get_str(obj, NFTNL_OBJ_NAME), sizeof(out->name) - 1);
	return MNL_CB_OK;
}

int nft_counters(
	struct nl *nl, struct nft_counter *counters, size_t max, size_t *ret_n, struct error *err)
{
	struct counting c = { .counters = counters, .max = max };
	char buf[256];

	for (int f = 0; f < RULES_FAMILIES; f++) {
		c.family = (enum rules_family)f;
		struct nl_dump d = {
			.request = nftnl_nlmsg_build_hdr(
				buf, NFT_MSG_GETOBJ, nft_family(c.family), 0, 0),
			.cb = read_counter,
			.data = &c,
			.what = "cannot read the isolation rules' counters",
		};

		if (nl_dump(nl, &d, err) < 0)
			return -1;
	}
	*ret_n = c.n;
	return 0;
}

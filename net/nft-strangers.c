/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/nft-strangers.h"

#include <errno.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <string.h>

#include "base/str.h"
#include "net/nft-rule.h"
#include "net/nl.h"
#include "net/rules.h"

static const char reading[] = "cannot read the host's packet filter";

static const struct family {
	uint16_t number;
	const char *name;
} families[] = {
	{ NFPROTO_IPV4, "ip" },
	{ NFPROTO_INET, "inet" },
};

/* What the callbacks of the dumps of one family share. */
struct reader {
	const struct family *family;
	struct nft_strangers *list; /* lent */
	size_t first; /* of this family in the list */
	const char *table; /* whose elements are read */
	struct error *err;
};

/* Tables whose makers are asked otherwise, and ours. */
static bool is_known(const struct family *family, const char *table, const char *chain)
{
	static const char *const iptables[] = { "INPUT", "FORWARD" };

	if (str_equal(table, RULES_TABLE) || str_equal(table, "firewalld"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(iptables); i++) {
		if (family->number == NFPROTO_IPV4 && str_equal(table, "filter") &&
			str_equal(chain, iptables[i]))
			return true;
	}
	return false;
}

static void mark(struct reader *r, const char *table)
{
	for (size_t i = r->first; table && i < r->list->len; i++) {
		if (str_equal(r->list->items[i].table, table))
			r->list->items[i].names_us = true;
	}
}

static void copy_name(char ret[64], const char *name)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_append_escaped(&text, name, strnlen(name, 256), false);
	strncpy(ret, str_get(&text), 63);
}

static int read_chain(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_chain_free_p) struct nftnl_chain *c = nftnl_chain_alloc();
	struct nft_stranger s = { .names_us = false };
	struct reader *r = data;
	const char *table, *chain;
	uint32_t hook;

	if (!c || nftnl_chain_nlmsg_parse(nlh, c) < 0)
		return MNL_CB_ERROR;
	table = nftnl_chain_get_str(c, NFTNL_CHAIN_TABLE);
	chain = nftnl_chain_get_str(c, NFTNL_CHAIN_NAME);
	if (!table || !chain || !nftnl_chain_is_set(c, NFTNL_CHAIN_HOOKNUM) ||
		!nftnl_chain_is_set(c, NFTNL_CHAIN_POLICY) ||
		nftnl_chain_get_u32(c, NFTNL_CHAIN_POLICY) != NF_DROP ||
		is_known(r->family, table, chain))
		return MNL_CB_OK;
	hook = nftnl_chain_get_u32(c, NFTNL_CHAIN_HOOKNUM);
	if (hook != NF_INET_LOCAL_IN && hook != NF_INET_FORWARD)
		return MNL_CB_OK;
	s.family = r->family->name;
	s.forward = hook == NF_INET_FORWARD;
	copy_name(s.table, table);
	copy_name(s.chain, chain);
	if (nft_strangers_push(r->list, s, r->err) == 0)
		return MNL_CB_OK;
	errno = ENOMEM;
	return MNL_CB_ERROR;
}

static bool has_our_name(const void *bytes, uint32_t len)
{
	return bytes && len >= strlen(NET_BRIDGE) &&
	       memcmp(bytes, NET_BRIDGE, strlen(NET_BRIDGE)) == 0;
}

static int look_at_expr(struct nftnl_expr *e, void *data)
{
	const void *bytes;
	uint32_t len = 0;

	if (!str_equal(nftnl_expr_get_str(e, NFTNL_EXPR_NAME), "cmp"))
		return 0;
	bytes = nftnl_expr_get(e, NFTNL_EXPR_CMP_DATA, &len);
	if (has_our_name(bytes, len))
		*(bool *)data = true;
	return 0;
}

static int read_rule(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_rule_free_p) struct nftnl_rule *rule = nftnl_rule_alloc();
	bool named = false;

	if (!rule || nftnl_rule_nlmsg_parse(nlh, rule) < 0)
		return MNL_CB_ERROR;
	(void)nftnl_expr_foreach(rule, look_at_expr, &named);
	if (named)
		mark(data, nftnl_rule_get_str(rule, NFTNL_RULE_TABLE));
	return MNL_CB_OK;
}

static int dump(struct nl *nl, struct reader *r, uint16_t type, mnl_cb_t cb)
{
	char buf[512];
	struct nl_dump d = {
		.request = nftnl_nlmsg_build_hdr(buf, type, r->family->number, 0, 0),
		.cb = cb,
		.data = r,
		.what = reading,
	};

	return nl_dump(nl, &d, r->err);
}

/* ---- sets: iifname { "lo", "boxnet" } ---- */

VEC_DEFINE(set_list, struct nftnl_set *);

static void set_list_free(struct set_list *sets)
{
	vec_foreach(struct nftnl_set *, s, sets)
		nftnl_set_free(*s);
	set_list_done(sets);
}

struct set_reader {
	struct set_list sets; /* owned */
	struct error *err;
};

static int read_set(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_set_free_p) struct nftnl_set *s = nftnl_set_alloc();
	struct set_reader *r = data;

	if (!s || nftnl_set_nlmsg_parse(nlh, s) < 0)
		return MNL_CB_ERROR;
	if (set_list_push(&r->sets, s, r->err) < 0) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	s = NULL; /* now the list's */
	return MNL_CB_OK;
}

static int look_at_element(struct nftnl_set_elem *e, void *data)
{
	struct reader *r = data;
	uint32_t len = 0;
	const void *bytes = nftnl_set_elem_get(e, NFTNL_SET_ELEM_KEY, &len);

	if (has_our_name(bytes, len))
		mark(r, r->table);
	return 0;
}

static int read_elements(const struct nlmsghdr *nlh, void *data)
{
	_cleanup_(nftnl_set_free_p) struct nftnl_set *s = nftnl_set_alloc();

	if (!s || nftnl_set_elems_nlmsg_parse(nlh, s) < 0)
		return MNL_CB_ERROR;
	return nftnl_set_elem_foreach(s, look_at_element, data);
}

static int dump_elements(struct nl *nl, struct reader *r, const struct nftnl_set *set)
{
	char buf[512];
	struct nl_dump d = {
		.request = nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETSETELEM, r->family->number, 0, 0),
		.cb = read_elements,
		.data = r,
		.what = reading,
	};

	r->table = nftnl_set_get_str(set, NFTNL_SET_TABLE);
	mnl_attr_put_strz(d.request, NFTA_SET_ELEM_LIST_TABLE, r->table);
	mnl_attr_put_strz(
		d.request, NFTA_SET_ELEM_LIST_SET, nftnl_set_get_str(set, NFTNL_SET_NAME));
	return nl_dump(nl, &d, r->err);
}

/* Elements only of the sets of those tables that are in question. */
static int look_at_sets(struct nl *nl, struct reader *r)
{
	_cleanup_(set_list_free) struct set_list list = VEC_INIT;
	struct set_reader sets = { .sets = VEC_INIT, .err = r->err };
	char buf[512];
	struct nl_dump d = {
		.request = nftnl_nlmsg_build_hdr(buf, NFT_MSG_GETSET, r->family->number, 0, 0),
		.cb = read_set,
		.data = &sets,
		.what = reading,
	};
	int ret = nl_dump(nl, &d, r->err);

	list = sets.sets;
	vec_foreach(struct nftnl_set *, s, &list) {
		const char *table = nftnl_set_get_str(*s, NFTNL_SET_TABLE);
		bool asked = false;

		for (size_t i = r->first; i < r->list->len; i++)
			asked = asked || (str_equal(r->list->items[i].table, table) &&
						 !r->list->items[i].names_us);
		if (ret == 0 && asked)
			ret = dump_elements(nl, r, *s);
	}
	return ret;
}

int nft_strangers_read(struct nft_strangers *ret, struct error *err)
{
	_cleanup_(nl_close_p) struct nl *nl = nl_open(NETLINK_NETFILTER, err);

	if (!nl)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		struct reader r = {
			.family = &families[i], .list = ret, .first = ret->len, .err = err
		};

		if (dump(nl, &r, NFT_MSG_GETCHAIN, read_chain) < 0)
			return -1;
		if (r.first == ret->len)
			continue;
		if (dump(nl, &r, NFT_MSG_GETRULE, read_rule) < 0 || look_at_sets(nl, &r) < 0)
			return -1;
	}
	return 0;
}

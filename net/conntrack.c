/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/conntrack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>
#include <sys/socket.h>

#include "base/vec.h"

enum {
	TUPLE_MAX = 128, /* addresses, ports, zone: 52 bytes for TCP */
	REQUEST_MAX = TUPLE_MAX + 128,
	/* As CTA_FILTER_ORIG_FLAGS has it since Linux 5.8; older kernels dump all, and we look ourselves. */
	FILTER_IP_SRC = 1 << 0,
};

static const char what[] = "cannot forget the connections of the address's last box";

/* The original tuple, as the kernel sent it: what names a connection in a deletion. */
struct tuple {
	uint8_t bytes[TUPLE_MAX];
	uint16_t len;
	uint32_t id;
};
VEC_DEFINE(tuples, struct tuple);

struct search {
	uint32_t addr; /* network byte order */
	struct tuples found; /* owned */
	struct error *err; /* lent */
};

static struct nlmsghdr *request_new(char *buf, unsigned type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *head;

	nlh->nlmsg_type = (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type);
	nlh->nlmsg_flags = NLM_F_REQUEST;
	head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
	head->nfgen_family = AF_INET;
	head->version = NFNETLINK_V0;
	return nlh;
}

/* The attribute of this type among those that nest holds; NULL: none. */
static const struct nlattr *nested(const struct nlattr *nest, uint16_t type)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest)
	{
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}

static bool is_from(const struct nlattr *tuple, uint32_t addr)
{
	const struct nlattr *ip = nested(tuple, CTA_TUPLE_IP);
	const struct nlattr *src = ip ? nested(ip, CTA_IP_V4_SRC) : NULL;

	return src && mnl_attr_get_payload_len(src) == sizeof(addr) &&
	       mnl_attr_get_u32(src) == addr;
}

static int read_connection(const struct nlmsghdr *nlh, void *data)
{
	struct search *s = data;
	const struct nlattr *attr, *orig = NULL;
	struct tuple t = { .len = 0 };

	mnl_attr_for_each(attr, nlh, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(attr) == CTA_TUPLE_ORIG)
			orig = attr;
		if (mnl_attr_get_type(attr) == CTA_ID && mnl_attr_get_payload_len(attr) == 4)
			t.id = mnl_attr_get_u32(attr);
	}
	if (!orig || !is_from(orig, s->addr))
		return MNL_CB_OK;
	t.len = mnl_attr_get_payload_len(orig);
	if (t.len > TUPLE_MAX) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	memcpy(t.bytes, mnl_attr_get_payload(orig), t.len);
	return tuples_push(&s->found, t, s->err) < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

static void restart(void *data)
{
	((struct search *)data)->found.len = 0;
}

static int find(struct nl *nl, struct search *s, struct error *err)
{
	char buf[REQUEST_MAX] = { 0 };
	struct nl_dump d = {
		.request = request_new(buf, IPCTNL_MSG_CT_GET),
		.cb = read_connection,
		.restart = restart,
		.data = s,
		.what = what,
	};
	struct nlattr *tuple, *ip, *filter;

	tuple = mnl_attr_nest_start(d.request, CTA_TUPLE_ORIG);
	ip = mnl_attr_nest_start(d.request, CTA_TUPLE_IP);
	mnl_attr_put_u32(d.request, CTA_IP_V4_SRC, s->addr);
	mnl_attr_nest_end(d.request, ip);
	mnl_attr_nest_end(d.request, tuple);
	filter = mnl_attr_nest_start(d.request, CTA_FILTER);
	mnl_attr_put_u32(d.request, CTA_FILTER_ORIG_FLAGS, FILTER_IP_SRC);
	mnl_attr_put_u32(d.request, CTA_FILTER_REPLY_FLAGS, 0);
	mnl_attr_nest_end(d.request, filter);
	return nl_dump(nl, &d, err);
}

static int forget(struct nl *nl, const struct tuple *t, struct error *err)
{
	char buf[REQUEST_MAX] = { 0 };
	struct nlmsghdr *nlh = request_new(buf, IPCTNL_MSG_CT_DELETE);

	nlh->nlmsg_flags |= NLM_F_ACK;
	nlh->nlmsg_seq = nl_seq(nl);
	mnl_attr_put(nlh, CTA_TUPLE_ORIG | NLA_F_NESTED, t->len, t->bytes);
	mnl_attr_put(nlh, CTA_ID, sizeof(t->id), &t->id);
	if (nl_send(nl, nlh, nlh->nlmsg_len, nlh->nlmsg_seq, what, err) == 0)
		return 0;
	if (err->kind != ERROR_NOT_FOUND)
		return -1;
	error_clear(err); /* it ended meanwhile */
	return 0;
}

int conntrack_forget(struct nl *nl, uint32_t addr, struct error *err)
{
	struct search s = { .addr = htonl(addr), .found = VEC_INIT, .err = err };
	int ret = find(nl, &s, err);

	for (size_t i = 0; ret == 0 && i < s.found.len; i++)
		ret = forget(nl, &s.found.items[i], err);
	tuples_done(&s.found);
	return ret;
}

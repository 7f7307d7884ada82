/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's addresses and routes over rtnetlink, for subnet.h. */
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "net/nl.h"
#include "net/subnet.h"

struct reading {
	struct host_nets *nets;
	struct error *err;
};

static uint32_t attr_addr(const struct nlattr *attr)
{
	return ntohl(mnl_attr_get_u32(attr));
}

static int push(struct reading *r, struct host_net net, uint32_t index)
{
	if (!if_indextoname(index, net.dev))
		net.dev[0] = '\0'; /* gone meanwhile */
	return host_nets_push(r->nets, net, r->err) < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

static int read_address(const struct nlmsghdr *nlh, void *data)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(nlh);
	struct host_net net = { .prefix = m->ifa_prefixlen, .kind = HOST_ADDRESS };
	const struct nlattr *attr;
	bool found = false;

	/* IFA_ADDRESS is the far end of a point-to-point link, which is the host's as well. */
	mnl_attr_for_each(attr, nlh, sizeof(*m))
	{
		if (mnl_attr_get_type(attr) == IFA_ADDRESS &&
			mnl_attr_validate(attr, MNL_TYPE_U32) >= 0) {
			net.addr = attr_addr(attr) & net_mask(net.prefix);
			found = true;
		}
	}
	return found ? push(data, net, m->ifa_index) : MNL_CB_OK;
}

static int push_gateway(struct reading *r, uint32_t gateway, uint32_t index)
{
	struct host_net net = { .addr = gateway, .prefix = 32, .kind = HOST_GATEWAY };

	return push(r, net, index);
}

static int read_route(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *m = mnl_nlmsg_get_payload(nlh);
	struct host_net net = { .prefix = m->rtm_dst_len, .kind = HOST_ROUTE };
	uint32_t index = 0, gateway = 0;
	const struct nlattr *attr;

	/* Local and broadcast addresses were read as addresses; "unreachable" yields to what is longer. */
	if (m->rtm_type != RTN_UNICAST)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(*m))
	{
		if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
			continue;
		switch (mnl_attr_get_type(attr)) {
		case RTA_DST:
			net.addr = attr_addr(attr);
			break;
		case RTA_OIF:
			index = mnl_attr_get_u32(attr);
			break;
		case RTA_GATEWAY:
			gateway = attr_addr(attr);
			break;
		default:
			break;
		}
	}
	if (gateway && push_gateway(data, gateway, index) != MNL_CB_OK)
		return MNL_CB_ERROR;
	return push(data, net, index);
}

static void restart(void *data)
{
	struct reading *r = data;

	r->nets->len = 0;
}

static int dump(struct nl *nl, uint16_t type, size_t header, mnl_cb_t cb, struct reading *r)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = { 0 };
	struct nl_dump d = {
		.request = mnl_nlmsg_put_header(buf),
		.cb = cb,
		.restart = restart,
		.data = r,
		.what = "cannot read the host's addresses and routes",
	};

	d.request->nlmsg_type = type;
	/* The family is the first byte of both headers. */
	*(uint8_t *)mnl_nlmsg_put_extra_header(d.request, header) = AF_INET;
	return nl_dump(nl, &d, r->err);
}

int subnet_read_host(struct host_nets *ret, struct error *err)
{
	_cleanup_(nl_close_p) struct nl *nl = nl_open(NETLINK_ROUTE, err);
	struct host_nets addresses = VEC_INIT, routes = VEC_INIT;
	struct reading a = { &addresses, err }, r = { &routes, err };
	int done = -1;

	if (nl && dump(nl, RTM_GETADDR, sizeof(struct ifaddrmsg), read_address, &a) == 0 &&
		dump(nl, RTM_GETROUTE, sizeof(struct rtmsg), read_route, &r) == 0) {
		done = 0;
		vec_foreach(struct host_net, n, &addresses)
			done = done < 0 ? done : host_nets_push(ret, *n, err);
		vec_foreach(struct host_net, n, &routes)
			done = done < 0 ? done : host_nets_push(ret, *n, err);
	}
	host_nets_done(&addresses);
	host_nets_done(&routes);
	return done;
}

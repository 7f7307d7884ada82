/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/doors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "net/nl.h"

struct listeners {
	uint16_t port; /* wanted, host byte order */
	bool found;
};

static bool takes_loopback(const struct inet_diag_msg *m)
{
	static const uint8_t any6[16];
	uint32_t addr = ntohl(m->id.idiag_src[0]);

	if (m->idiag_family == AF_INET)
		return addr == INADDR_ANY || addr == INADDR_LOOPBACK;
	/* :: takes IPv4 as well, unless it was told not to; then the port is still better left alone. */
	return memcmp(m->id.idiag_src, any6, sizeof(any6)) == 0;
}

static int read_socket(const struct nlmsghdr *nlh, void *data)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct listeners *l = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*m)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (ntohs(m->id.idiag_sport) == l->port && takes_loopback(m))
		l->found = true;
	return MNL_CB_OK;
}

static void restart(void *data)
{
	((struct listeners *)data)->found = false;
}

static int find_listener(struct nl *nl, uint8_t family, struct listeners *l, struct error *err)
{
	char buf[MNL_NLMSG_HDRLEN + sizeof(struct inet_diag_req_v2) + 16] = { 0 };
	struct nl_dump d = {
		.request = mnl_nlmsg_put_header(buf),
		.cb = read_socket,
		.restart = restart,
		.data = l,
		.what = "cannot read which ports of the host are in use",
	};
	struct inet_diag_req_v2 *req;

	d.request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	req = mnl_nlmsg_put_extra_header(d.request, sizeof(*req));
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_states = 1u << TCP_LISTEN;
	return nl_dump(nl, &d, err);
}

int doors_check_free(uint16_t host, struct error *err)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	_cleanup_(nl_close_p) struct nl *nl = nl_open(NETLINK_SOCK_DIAG, err);

	if (!nl)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		struct listeners l = { .port = host };

		if (find_listener(nl, families[i], &l, err) < 0)
			return -1;
		if (l.found)
			return error_set(err, ERROR_EXISTS,
				"port %u of this host is in use by another program; the door needs a free one",
				host);
	}
	return 0;
}

int doors_check_new(const struct net_port *port, const struct net_port *had, struct error *err)
{
	for (size_t i = 0; i < port->n_doors; i++) {
		bool known = false;

		for (size_t j = 0; had && j < had->n_doors; j++)
			known = known || had->doors[j].host == port->doors[i].host;
		if (!known && doors_check_free(port->doors[i].host, err) < 0)
			return -1;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/nl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/str.h"

/* NETLINK_EXT_ACK and its attributes are in linux/netlink.h since 4.12. */

enum {
	NL_BUFFER =
		65536, /* the kernel fills a dump's datagram up to what the reader offers, at most 32 KiB */
	NL_RETRIES =
		8, /* of a dump that changes interrupt: others rarely change rules all the time */
	NL_TEXT = 256, /* of the kernel's words */
};

struct nl {
	struct mnl_socket *socket; /* owned */
	uint32_t seq;
	char buffer[NL_BUFFER];
};

void nl_close(struct nl *nl)
{
	if (!nl)
		return;
	if (nl->socket)
		(void)mnl_socket_close(nl->socket);
	free(nl);
}

struct nl *nl_open(int bus, struct error *err)
{
	_cleanup_(nl_close_p) struct nl *nl = calloc(1, sizeof(*nl));
	int on = 1;

	if (!nl) {
		error_oom(err);
		return NULL;
	}
	nl->seq = (uint32_t)time(NULL);
	nl->socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
	if (!nl->socket || mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) < 0) {
		error_errno(err, errno, "cannot open a netlink socket to the kernel");
		return NULL;
	}
	/* Both only make messages better: old kernels may refuse. */
	(void)mnl_socket_setsockopt(nl->socket, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)mnl_socket_setsockopt(nl->socket, NETLINK_CAP_ACK, &on, sizeof(on));
	return TAKE(nl);
}

uint32_t nl_seq(struct nl *nl)
{
	return ++nl->seq;
}

static int attr_text(const struct nlattr *attr, void *data)
{
	char *text = data;

	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0) {
		strncpy(text, mnl_attr_get_str(attr), NL_TEXT - 1);
		text[NL_TEXT - 1] = '\0';
	}
	return MNL_CB_OK;
}

/* The kernel's words in an error message: attributes after the header it quotes. */
static void extended_text(const struct nlmsghdr *nlh, char text[NL_TEXT])
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*e);

	text[0] = '\0';
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += MNL_ALIGN(e->msg.nlmsg_len) - sizeof(struct nlmsghdr);
	if (mnl_nlmsg_get_payload_len(nlh) > skip)
		(void)mnl_attr_parse(nlh, (unsigned)skip, attr_text, text);
}

/* An NLMSG_ERROR: 0 for an acknowledgement, else -1 with err filled. */
static int read_error(const struct nlmsghdr *nlh, const char *what, struct error *err)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	char text[NL_TEXT];

	if (nlh->nlmsg_len < mnl_nlmsg_size(sizeof(*e)))
		return error_set(err, ERROR_FAILED, "%s: the kernel's answer is cut", what);
	if (e->error == 0)
		return 0;
	error_errno(err, -e->error, "%s", what);
	extended_text(nlh, text);
	if (text[0])
		error_hint(err, " (%s)", text);
	if (e->error == -EPERM)
		error_hint(err, "; the packet filter belongs to root: try with sudo");
	return -1;
}

/* 1: the dump goes on; 0: it is over; -1. *interrupted is set when what was read is not to be trusted. */
static int dump_read(
	struct nl *nl, const struct nl_dump *dump, bool *interrupted, struct error *err)
{
	ssize_t got = mnl_socket_recvfrom(nl->socket, nl->buffer, sizeof(nl->buffer));
	int left = (int)got;

	if (got < 0)
		return error_errno(err, errno, "%s", dump->what);
	for (const struct nlmsghdr *nlh = (const void *)nl->buffer; mnl_nlmsg_ok(nlh, left);
		nlh = mnl_nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_seq != dump->request->nlmsg_seq)
			continue;
		if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
			*interrupted = true;
		if (nlh->nlmsg_type == NLMSG_ERROR)
			return read_error(nlh, dump->what, err);
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 0;
		if (!*interrupted && dump->cb(nlh, dump->data) < MNL_CB_STOP)
			return error_errno(err, errno, "%s: the kernel's answer", dump->what);
	}
	return 1;
}

int nl_get(struct nl *nl, const struct nl_dump *get, struct error *err)
{
	bool interrupted = false;
	int ret;

	get->request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	get->request->nlmsg_seq = nl_seq(nl);
	if (mnl_socket_sendto(nl->socket, get->request, get->request->nlmsg_len) < 0)
		return error_errno(err, errno, "%s", get->what);
	do {
		ret = dump_read(nl, get, &interrupted, err);
	} while (ret > 0);
	return ret;
}

int nl_dump(struct nl *nl, const struct nl_dump *dump, struct error *err)
{
	for (int i = 0; i < NL_RETRIES; i++) {
		bool interrupted = false;
		int ret;

		dump->request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
		dump->request->nlmsg_seq = nl_seq(nl);
		if (i > 0 && dump->restart)
			dump->restart(dump->data);
		if (mnl_socket_sendto(nl->socket, dump->request, dump->request->nlmsg_len) < 0)
			return error_errno(err, errno, "%s", dump->what);
		do {
			ret = dump_read(nl, dump, &interrupted, err);
		} while (ret > 0);
		if (ret < 0 || !interrupted)
			return ret;
	}
	return error_set(err, ERROR_BUSY,
		"%s: somebody keeps changing it while it is read; try again", dump->what);
}

/* Answers to one sendto are all queued when it returns, so reading never waits. */
static int send_answers(
	struct nl *nl, uint32_t acked, const char *what, bool *ret_acked, struct error *err)
{
	int fd = mnl_socket_get_fd(nl->socket), ret = 0;
	ssize_t got;

	while ((got = recv(fd, nl->buffer, sizeof(nl->buffer), MSG_DONTWAIT)) > 0) {
		int left = (int)got;

		for (const struct nlmsghdr *nlh = (const void *)nl->buffer; mnl_nlmsg_ok(nlh, left);
			nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_type != NLMSG_ERROR || ret < 0)
				continue;
			ret = read_error(nlh, what, err);
			if (ret == 0 && nlh->nlmsg_seq == acked)
				*ret_acked = true;
		}
	}
	if (ret == 0 && got < 0 && errno != EAGAIN)
		return error_errno(err, errno, "%s: the kernel's answer", what);
	return ret;
}

int nl_send(struct nl *nl, const void *bytes, size_t len, uint32_t acked, const char *what,
	struct error *err)
{
	int room = (int)(2 * len) + NL_BUFFER;
	bool seen = false;

	/* A batch goes in one datagram; root may go beyond wmem_max. */
	if (len > NL_BUFFER)
		(void)setsockopt(mnl_socket_get_fd(nl->socket), SOL_SOCKET, SO_SNDBUFFORCE, &room,
			sizeof(room));
	if (mnl_socket_sendto(nl->socket, bytes, len) < 0)
		return error_errno(err, errno, "%s", what);
	if (send_answers(nl, acked, what, &seen, err) < 0)
		return -1;
	if (!seen)
		return error_set(err, ERROR_FAILED, "%s: the kernel did not confirm it", what);
	return 0;
}

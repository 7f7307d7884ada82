/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"

enum { TOKEN_MAX = 64 };

/* Who sent the ICMP error behind a failed call; 0 when it was nobody's word but our own stack's. */
static uint32_t offender(int fd)
{
	char control[512], payload[64];
	struct iovec iov = { payload, sizeof(payload) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		struct sock_extended_err ee;
		struct sockaddr_in from;

		if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR ||
			c->cmsg_len < CMSG_LEN(sizeof(ee) + sizeof(from)))
			continue;
		memcpy(&ee, CMSG_DATA(c), sizeof(ee));
		memcpy(&from, CMSG_DATA(c) + sizeof(ee), sizeof(from));
		if (ee.ee_origin == SO_EE_ORIGIN_ICMP && from.sin_family == AF_INET)
			return ntohl(from.sin_addr.s_addr);
	}
	return 0;
}

/* What an errno of a connect, send or receive says of the far end. */
static int settle(int fd, int errnum, struct reach *ret, struct error *err)
{
	struct reach reach = { VERDICT_UNREACHABLE, 0 };

	switch (errnum) {
	case ECONNREFUSED:
	case ECONNRESET:
		reach.verdict = VERDICT_REFUSED;
		break;
	case ETIMEDOUT:
		reach.verdict = VERDICT_SILENT;
		break;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EACCES: /* ICMP: administratively prohibited */
	case EPERM: /* our own firewall */
	case ENONET:
	case EINVAL: /* an address that no packet can be sent to */
		reach.by = offender(fd);
		break;
	default:
		return error_errno(err, errnum, "the probe failed");
	}
	*ret = reach;
	return 0;
}

static struct sockaddr_in address(const struct reach_target *to)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(to->addr),
		.sin_port = htons(to->port),
	};
}

/* A socket that keeps the ICMP errors it gets. */
static int open_socket(int type, int proto, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, proto);
	int yes = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof(yes)) < 0)
		return error_errno(err, errno, "cannot open a socket");
	return fd_take(&fd);
}

int reach_tcp(const struct reach_target *target, struct reach *ret, struct error *err)
{
	_cleanup_close_ int fd = open_socket(SOCK_STREAM, 0, err);
	struct sockaddr_in to = address(target);
	socklen_t len = sizeof(int);
	int failure = 0, ready;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return settle(fd, errno, ret, err);
	ready = fd_wait(fd, POLLOUT, clock_ms() + target->timeout, err);
	if (ready < 0)
		return -1;
	if (ready == 0)
		return settle(fd, ETIMEDOUT, ret, err);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0)
		failure = errno;
	if (failure)
		return settle(fd, failure, ret, err);
	*ret = (struct reach){ VERDICT_OPEN, 0 };
	return 0;
}

int reach_udp(const struct reach_target *target, struct reach *ret, struct error *err)
{
	_cleanup_close_ int fd = open_socket(SOCK_DGRAM, 0, err);
	const char *payload = target->token ? target->token : "box-probe";
	struct sockaddr_in to = address(target);
	char buf[256];
	int ready;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		send(fd, payload, strlen(payload), 0) < 0)
		return settle(fd, errno, ret, err);
	ready = fd_wait(fd, POLLIN, clock_ms() + target->timeout, err);
	if (ready < 0)
		return -1;
	if (ready == 0)
		return settle(fd, ETIMEDOUT, ret, err);
	if (recv(fd, buf, sizeof(buf), 0) < 0)
		return settle(fd, errno, ret, err);
	*ret = (struct reach){ VERDICT_OPEN, 0 };
	return 0;
}

static uint16_t internet_sum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* An echo request with an identity of its own, so that parallel probes do not take each other's answer. */
static size_t echo_build(const char *token, uint8_t echo[8 + TOKEN_MAX])
{
	size_t len = token ? strlen(token) : 0;
	uint16_t sum;

	if (len > TOKEN_MAX)
		len = TOKEN_MAX;
	memset(echo, 0, 8);
	echo[0] = ICMP_ECHO;
	(void)!getrandom(echo + 4, 4, 0);
	if (len)
		memcpy(echo + 8, token, len);
	sum = internet_sum(echo, 8 + len);
	echo[2] = (uint8_t)(sum >> 8);
	echo[3] = (uint8_t)sum;
	return 8 + len;
}

/* One received ICMP packet: 1 when it answers our echo, with *ret set, else 0. */
static int echo_answer(const uint8_t *buf, size_t n, struct in_addr from,
	const struct reach_target *target, const uint8_t *echo, struct reach *ret)
{
	uint32_t wanted = htonl(target->addr);

	if (n < 28)
		return 0;
	if (buf[20] == ICMP_ECHOREPLY && from.s_addr == wanted &&
		memcmp(buf + 24, echo + 4, 4) == 0) {
		*ret = (struct reach){ VERDICT_OPEN, 0 };
		return 1;
	}
	/* The quoted packet begins at 28: its destination is 16 bytes into it, its ICMP identity 24. */
	if (buf[20] == ICMP_DEST_UNREACH && n >= 56 && memcmp(buf + 44, &wanted, 4) == 0 &&
		memcmp(buf + 52, echo + 4, 4) == 0) {
		*ret = (struct reach){ VERDICT_UNREACHABLE, ntohl(from.s_addr) };
		return 1;
	}
	return 0;
}

int reach_icmp(const struct reach_target *target, struct reach *ret, struct error *err)
{
	_cleanup_close_ int fd = socket(
		AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP);
	uint8_t echo[8 + TOKEN_MAX];
	size_t len = echo_build(target->token, echo);
	struct sockaddr_in to = address(target);
	uint64_t deadline = clock_ms() + target->timeout;

	to.sin_port = 0;
	if (fd < 0)
		return error_errno(err, errno, "cannot open a socket");
	if (sendto(fd, echo, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return settle(fd, errno, ret, err);
	for (;;) {
		uint8_t buf[1500];
		struct sockaddr_in from = { 0 };
		socklen_t from_len = sizeof(from);
		int ready = fd_wait(fd, POLLIN, deadline, err);
		ssize_t n;

		if (ready < 0)
			return -1;
		if (ready == 0)
			return settle(fd, ETIMEDOUT, ret, err);
		n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &from_len);
		if (n > 0 && echo_answer(buf, (size_t)n, from.sin_addr, target, echo, ret))
			return 0;
		if (clock_ms() >= deadline) /* all that comes is something else */
			return settle(fd, ETIMEDOUT, ret, err);
	}
}

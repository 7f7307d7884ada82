/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"

static void print_frame(const uint8_t *f, size_t len)
{
	printf("frame %02x%02x %02x:%02x:%02x:%02x:%02x:%02x %02x:%02x:%02x:%02x:%02x:%02x %zu\n",
		f[12], f[13], f[6], f[7], f[8], f[9], f[10], f[11], f[0], f[1], f[2], f[3], f[4],
		f[5], len);
	fflush(stdout);
}

int watch_frames(
	const char *iface, const char *token, unsigned duration, unsigned count, struct error *err)
{
	_cleanup_close_ int fd = socket(
		AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	struct sockaddr_ll on = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(iface),
	};
	uint64_t deadline = clock_ms() + duration;
	unsigned seen = 0;

	if (fd < 0 || !on.sll_ifindex || bind(fd, (struct sockaddr *)&on, sizeof(on)) < 0)
		return error_errno(err, errno, "cannot watch interface '%s'", iface);
	printf("ready\n");
	fflush(stdout);
	while ((!count || seen < count) && clock_ms() < deadline) {
		struct sockaddr_ll from = { 0 };
		socklen_t from_len = sizeof(from);
		uint8_t frame[2048];
		int ready = fd_wait(fd, POLLIN, deadline, err);
		ssize_t n;

		if (ready <= 0)
			return ready;
		n = recvfrom(fd, frame, sizeof(frame), 0, (struct sockaddr *)&from, &from_len);
		if (n < ETH_HLEN || from.sll_pkttype == PACKET_OUTGOING ||
			!memmem(frame, (size_t)n, token, strlen(token)))
			continue;
		print_frame(frame, (size_t)n);
		seen++;
	}
	return 0;
}

static void take_connection(int fd)
{
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(from);
	_cleanup_close_ int peer = accept4(fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
	char text[INET_ADDRSTRLEN];

	if (peer < 0)
		return;
	printf("accept %s %u\n", inet_ntop(AF_INET, &from.sin_addr, text, sizeof(text)),
		ntohs(from.sin_port));
	fflush(stdout);
	(void)send(peer, "box-probe\n", 10, MSG_NOSIGNAL);
}

static void take_datagram(int fd)
{
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(from);
	char buf[2048], text[INET_ADDRSTRLEN];
	ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

	if (n < 0)
		return;
	printf("datagram %s %u %zd\n", inet_ntop(AF_INET, &from.sin_addr, text, sizeof(text)),
		ntohs(from.sin_port), n);
	fflush(stdout);
	(void)sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len);
}

int watch_port(bool tcp, uint16_t port, unsigned duration, unsigned count, struct error *err)
{
	_cleanup_close_ int fd = socket(
		AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in on = { .sin_family = AF_INET, .sin_port = htons(port) };
	uint64_t deadline = clock_ms() + duration;
	int yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
		bind(fd, (struct sockaddr *)&on, sizeof(on)) < 0 || (tcp && listen(fd, 16) < 0))
		return error_errno(err, errno, "cannot listen on port %u", port);
	printf("ready\n");
	fflush(stdout);
	for (unsigned seen = 0; (!count || seen < count) && clock_ms() < deadline; seen++) {
		int ready = fd_wait(fd, POLLIN, deadline, err);

		if (ready <= 0)
			return ready;
		if (tcp)
			take_connection(fd);
		else
			take_datagram(fd);
	}
	return 0;
}

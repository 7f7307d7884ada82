/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/watch-token.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"

enum {
	FRAME_MAX = 1024, /* our own frames and the resolvers' answers are shorter */
	BUFFER_BYTES =
		8
		<< 20, /* of the kernel, for each socket: a busy host must not make us lose frames */
	SEEN_MAX = 8192, /* a power of two; combinations printed */
};

int token_find(const uint8_t *bytes, size_t len, const char *prefix,
	char ret[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1])
{
	size_t head = strlen(prefix);

	for (size_t at = 0; head && at + head <= len; at++) {
		size_t tail = 0;

		if (strncasecmp((const char *)bytes + at, prefix, head) != 0)
			continue;
		while (tail < TOKEN_TAIL_MAX && at + head + tail < len &&
			(isalnum(bytes[at + head + tail]) || bytes[at + head + tail] == '-'))
			tail++;
		for (size_t i = 0; i < head + tail; i++)
			ret[i] = (char)tolower(bytes[at + i]);
		ret[head + tail] = '\0';
		return 1;
	}
	return 0;
}

/* Lines printed so far, by hash, so that a flood of one token is one line. */
struct seen {
	uint64_t hashes[SEEN_MAX];
	unsigned count;
};

static void seen_print(struct seen *seen, const char *line)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	size_t at;

	for (const char *p = line; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 1099511628211u;
	for (at = hash % SEEN_MAX; seen->hashes[at]; at = (at + 1) % SEEN_MAX) {
		if (seen->hashes[at] == hash)
			return;
	}
	if (seen->count == SEEN_MAX / 2)
		return;
	seen->hashes[at] = hash;
	seen->count++;
	printf("%s\n", line);
	fflush(stdout);
}

/* Frames that are longer than ours are dropped in the kernel already. */
static void accept_short_only(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, FRAME_MAX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, FRAME_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = { ARRAY_LEN(code), code };
	int bytes = BUFFER_BYTES;

	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

/* Where the IPv4 header is; NULL when there is none. ether: the frame begins with a MAC header. */
static const uint8_t *ipv4_header(const uint8_t *f, size_t len, bool ether)
{
	size_t at = 0;

	if (ether) {
		at = 12;
		while (at + 6 <= len && ((f[at] == 0x81 && f[at + 1] == 0x00) ||
						(f[at] == 0x88 && f[at + 1] == 0xa8)))
			at += 4; /* a VLAN tag */
		if (at + 2 > len || f[at] != 0x08 || f[at + 1] != 0x00)
			return NULL;
		at += 2;
	}
	return at + 20 <= len && f[at] >> 4 == 4 ? f + at : NULL;
}

static void frame_seen(struct seen *seen, const uint8_t *f, size_t len,
	const struct sockaddr_ll *from, const char *prefix)
{
	char token[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1], name[IF_NAMESIZE], line[256];
	char source[INET_ADDRSTRLEN] = "-", dest[INET_ADDRSTRLEN] = "-";
	bool ether = from->sll_hatype == ARPHRD_ETHER || from->sll_hatype == ARPHRD_LOOPBACK;
	static const uint8_t none[ETH_HLEN];
	const uint8_t *ip = ipv4_header(f, len, ether);

	if (!token_find(f, len, prefix, token) ||
		!if_indextoname((unsigned)from->sll_ifindex, name))
		return;
	if (ip) {
		(void)inet_ntop(AF_INET, ip + 12, source, sizeof(source));
		(void)inet_ntop(AF_INET, ip + 16, dest, sizeof(dest));
	}
	if (!ether || len < ETH_HLEN)
		f = none;
	(void)snprintf(line, sizeof(line),
		"seen %s %s %02x%02x %02x:%02x:%02x:%02x:%02x:%02x %02x:%02x:%02x:%02x:%02x:%02x %s %s %s",
		name, from->sll_pkttype == PACKET_OUTGOING ? "out" : "in", f[12], f[13], f[6], f[7],
		f[8], f[9], f[10], f[11], f[0], f[1], f[2], f[3], f[4], f[5], source, dest, token);
	seen_print(seen, line);
}

/* Tell what the kernel had to drop since last asked. */
static void print_lost(int fd)
{
	struct tpacket_stats stats = { 0 };
	socklen_t len = sizeof(stats);

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0 && stats.tp_drops) {
		printf("lost %u\n", stats.tp_drops);
		fflush(stdout);
	}
}

/* Everything that waits on the socket; how many frames that were. */
static unsigned frames_drain(int fd, struct seen *seen, const char *prefix)
{
	unsigned count = 0;

	for (;; count++) {
		struct sockaddr_ll from = { 0 };
		socklen_t len = sizeof(from);
		uint8_t frame[FRAME_MAX];
		ssize_t n = recvfrom(
			fd, frame, sizeof(frame), MSG_DONTWAIT, (struct sockaddr *)&from, &len);

		if (n < 0)
			return count;
		frame_seen(seen, frame, (size_t)n, &from, prefix);
	}
}

int watch_tokens(const char *iface, const char *prefix, unsigned duration, struct error *err)
{
	_cleanup_close_ int fd = socket(
		AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	struct sockaddr_ll on = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	uint64_t deadline = clock_ms() + duration;
	static struct seen seen;

	if (iface)
		on.sll_ifindex = (int)if_nametoindex(iface);
	if (fd < 0 || (iface && !on.sll_ifindex) ||
		bind(fd, (struct sockaddr *)&on, sizeof(on)) < 0)
		return error_errno(err, errno, "cannot watch interface '%s'", iface ? iface : "*");
	accept_short_only(fd);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_ms();

		if (now >= deadline)
			return 0;
		if (poll(&p, 1, (int)(deadline - now)) < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot wait for frames");
		if (frames_drain(fd, &seen, prefix))
			print_lost(fd);
	}
}

enum { CATCH_SOCKETS = 4 };

static const struct {
	int proto;
	const char *name;
} raw_protocols[] = { { IPPROTO_UDP, "udp" }, { IPPROTO_TCP, "tcp" }, { IPPROTO_ICMP, "icmp" } };

/* The UDP port, which needs no privilege. */
static int catch_port(uint16_t port, const char *device, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in on = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (fd < 0 ||
		(device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
				   (socklen_t)strlen(device)) < 0) ||
		bind(fd, (struct sockaddr *)&on, sizeof(on)) < 0)
		return error_errno(err, errno, "cannot listen on UDP port %u", port);
	return fd_take(&fd);
}

static void catch_drain(int fd, const char *what, struct seen *seen, const char *prefix)
{
	for (;;) {
		char token[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1], addr[INET_ADDRSTRLEN], line[256];
		struct sockaddr_in from = { 0 };
		socklen_t len = sizeof(from);
		uint8_t buf[FRAME_MAX];
		ssize_t n = recvfrom(
			fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &len);

		if (n < 0)
			return;
		if (!token_find(buf, (size_t)n, prefix, token))
			continue;
		(void)snprintf(line, sizeof(line), "seen local %s %s %s", what,
			inet_ntop(AF_INET, &from.sin_addr, addr, sizeof(addr)), token);
		seen_print(seen, line);
	}
}

int catch_tokens(
	const char *prefix, uint16_t port, const char *device, unsigned duration, struct error *err)
{
	struct pollfd fds[CATCH_SOCKETS];
	uint64_t deadline = clock_ms() + duration;
	static struct seen seen;
	bool raw = true;

	for (size_t i = 0; i < ARRAY_LEN(raw_protocols); i++) {
		fds[i].fd = socket(
			AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, raw_protocols[i].proto);
		fds[i].events = POLLIN;
		raw = raw && fds[i].fd >= 0; /* poll leaves -1 out; the process's end closes */
		if (fds[i].fd >= 0)
			accept_short_only(fds[i].fd);
	}
	fds[3].fd = catch_port(port, device, err);
	fds[3].events = POLLIN;
	if (fds[3].fd < 0)
		return -1;
	printf(raw ? "ready raw\n" : "ready\n");
	fflush(stdout);
	for (;;) {
		uint64_t now = clock_ms();

		if (now >= deadline)
			return 0;
		if (poll(fds, CATCH_SOCKETS, (int)(deadline - now)) < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot wait for packets");
		for (size_t i = 0; i < CATCH_SOCKETS; i++) {
			if (fds[i].fd >= 0)
				catch_drain(fds[i].fd, i < 3 ? raw_protocols[i].name : "udp", &seen,
					prefix);
		}
	}
}

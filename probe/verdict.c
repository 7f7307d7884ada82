/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/verdict.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "probe/packet.h"
#include "probe/reach.h"

static const char *const verdict_names[] = {
	[VERDICT_OPEN] = "open",
	[VERDICT_REFUSED] = "refused",
	[VERDICT_UNREACHABLE] = "unreachable",
	[VERDICT_SILENT] = "silent",
};

const char *verdict_name(enum verdict v)
{
	return verdict_names[v];
}

/* What an errno of a connect, send or receive says of the far end; -1: it says nothing of it. */
static int verdict_of_errno(int errnum)
{
	switch (errnum) {
	case ECONNREFUSED:
	case ECONNRESET:
		return VERDICT_REFUSED;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EACCES: /* ICMP: administratively prohibited */
	case EPERM: /* our own firewall */
	case ENONET:
	case EINVAL: /* an address that no packet can be sent to */
		return VERDICT_UNREACHABLE;
	case ETIMEDOUT:
		return VERDICT_SILENT;
	default:
		return -1;
	}
}

static int settle(int errnum, enum verdict *ret, struct error *err)
{
	int verdict = verdict_of_errno(errnum);

	if (verdict < 0)
		return error_errno(err, errnum, "the probe failed");
	*ret = (enum verdict)verdict;
	return 0;
}

static struct sockaddr_in address(uint32_t addr, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(addr),
		.sin_port = htons(port),
	};
}

static int open_socket(int family, int type, int proto, struct error *err)
{
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, proto);

	if (fd < 0)
		error_errno(err, errno, "cannot open a socket");
	return fd;
}

/* The verdict alone, for those to whom it does not matter who said it. */
static int verdict_alone(int (*probe)(const struct reach_target *, struct reach *, struct error *),
	const struct reach_target *to, enum verdict *ret, struct error *err)
{
	struct reach reach = { VERDICT_SILENT, 0 };

	if (probe(to, &reach, err) < 0)
		return -1;
	*ret = reach.verdict;
	return 0;
}

int probe_tcp(uint32_t addr, uint16_t port, unsigned timeout, enum verdict *ret, struct error *err)
{
	return verdict_alone(
		reach_tcp, &(struct reach_target){ addr, port, timeout, NULL }, ret, err);
}

int probe_udp(uint32_t addr, uint16_t port, unsigned timeout, enum verdict *ret, struct error *err)
{
	return verdict_alone(
		reach_udp, &(struct reach_target){ addr, port, timeout, NULL }, ret, err);
}

int probe_icmp(uint32_t addr, unsigned timeout, enum verdict *ret, struct error *err)
{
	return verdict_alone(
		reach_icmp, &(struct reach_target){ addr, 0, timeout, NULL }, ret, err);
}

static int interface_facts(
	const char *iface, int *ret_index, uint8_t ret_mac[6], uint32_t *ret_ip, struct error *err)
{
	_cleanup_close_ int fd = open_socket(AF_INET, SOCK_DGRAM, 0, err);
	struct ifreq req = { 0 };

	if (fd < 0)
		return -1;
	if (strlen(iface) >= sizeof(req.ifr_name))
		return error_set(err, ERROR_USAGE, "'%.40s' is no interface name", iface);
	strcpy(req.ifr_name, iface);
	if (ioctl(fd, SIOCGIFHWADDR, &req) < 0)
		return error_errno(err, errno, "interface '%s'", iface);
	memcpy(ret_mac, req.ifr_hwaddr.sa_data, 6);
	*ret_ip = 0;
	if (ioctl(fd, SIOCGIFADDR, &req) == 0)
		*ret_ip = ntohl(((struct sockaddr_in *)(void *)&req.ifr_addr)->sin_addr.s_addr);
	*ret_index = (int)if_nametoindex(iface);
	return 0;
}

int probe_arp(const char *iface, uint32_t addr, unsigned timeout, enum verdict *ret,
	uint8_t ret_mac[6], struct error *err)
{
	_cleanup_close_ int fd = open_socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ARP), err);
	struct packet ask = { .kind = PACKET_ARP_REQUEST, .dst_ip = addr };
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ARP) };
	uint64_t deadline = clock_ms() + timeout;
	uint8_t frame[PACKET_MAX];
	size_t len;

	if (fd < 0 || interface_facts(iface, &to.sll_ifindex, ask.src_mac, &ask.src_ip, err) < 0)
		return -1;
	memset(ask.dst_mac, 0xff, 6);
	len = packet_build(&ask, frame);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || send(fd, frame, len, 0) < 0)
		return error_errno(err, errno, "cannot send on '%s'", iface);
	for (;;) {
		uint32_t wanted = htonl(addr);
		int ready = fd_wait(fd, POLLIN, deadline, err);

		if (ready < 0)
			return -1;
		if (ready == 0)
			return settle(ETIMEDOUT, ret, err);
		/* Operation 2 at 20, sender's MAC at 22 and address at 28 of the frame. */
		if (recv(fd, frame, sizeof(frame), 0) >= 42 && frame[21] == 2 &&
			memcmp(frame + 28, &wanted, 4) == 0) {
			memcpy(ret_mac, frame + 22, 6);
			*ret = VERDICT_OPEN;
			return 0;
		}
		if (clock_ms() >= deadline) /* all that comes is something else */
			return settle(ETIMEDOUT, ret, err);
	}
}

enum { DNS_MAX = 1232, DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28 };

static const char *const rcodes[] = { "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP",
	"REFUSED" };

static int dns_query(const char *name, unsigned type, uint16_t id, uint8_t *buf, size_t *ret_len,
	struct error *err)
{
	uint8_t *p = buf;

	if (strlen(name) > 250)
		return error_set(err, ERROR_USAGE, "the name is longer than 250 bytes");
	memcpy(p, (uint8_t[12]){ (uint8_t)(id >> 8), (uint8_t)id, 1, 0, 0, 1 }, 12);
	p += 12;
	while (*name) {
		size_t len = strcspn(name, ".");

		if (len == 0 || len > 63)
			return error_set(
				err, ERROR_USAGE, "a part of the name is empty or too long");
		*p++ = (uint8_t)len;
		memcpy(p, name, len);
		p += len;
		name += len + (name[len] == '.');
	}
	*p++ = 0;
	memcpy(p, (uint8_t[4]){ 0, (uint8_t)type, 0, 1 }, 4);
	*ret_len = (size_t)(p + 4 - buf);
	return 0;
}

/* The offset after the name at offset at, or len + 1 when it runs over the end. */
static size_t skip_name(const uint8_t *msg, size_t len, size_t at)
{
	while (at < len && msg[at] && msg[at] < 0xc0)
		at += msg[at] + 1u;
	if (at >= len)
		return len + 1;
	return msg[at] ? at + 2 : at + 1;
}

static void name_text(const uint8_t *msg, size_t len, size_t at, struct str *out)
{
	for (unsigned jumps = 0; at < len && msg[at] && jumps < 16;) {
		if (msg[at] >= 0xc0 && at + 1 < len) {
			at = (msg[at] & 0x3fu) << 8 | msg[at + 1];
			jumps++;
		} else if (at + msg[at] < len && msg[at] < 0x40) {
			str_append_escaped(out, msg + at + 1, msg[at], false);
			str_append_char(out, '.');
			at += msg[at] + 1u;
		} else {
			return;
		}
	}
}

static void dns_answers(const uint8_t *msg, size_t len, struct str *out)
{
	unsigned rcode = msg[3] & 15, count = (unsigned)msg[6] << 8 | msg[7];
	size_t at = skip_name(msg, len, 12) + 4;

	str_append(out, rcode < ARRAY_LEN(rcodes) ? rcodes[rcode] : "OTHER");
	for (unsigned i = 0; i < count && i < 64 && at < len; i++) {
		size_t data, size;
		unsigned type;
		char text[INET6_ADDRSTRLEN];

		at = skip_name(msg, len, at);
		if (at + 10 > len)
			return;
		type = (unsigned)msg[at] << 8 | msg[at + 1];
		size = (size_t)msg[at + 8] << 8 | msg[at + 9];
		data = at + 10;
		if (data + size > len)
			return;
		str_append_char(out, ' ');
		if (type == DNS_A && size == 4)
			str_append(out, inet_ntop(AF_INET, msg + data, text, sizeof(text)));
		else if (type == DNS_AAAA && size == 16)
			str_append(out, inet_ntop(AF_INET6, msg + data, text, sizeof(text)));
		else if (type == DNS_PTR)
			name_text(msg, len, data, out);
		else
			str_printf(out, "type%u", type);
		at = data + size;
	}
}

int probe_dns(uint32_t server, const char *name, unsigned type, unsigned timeout, enum verdict *ret,
	struct str *answers, struct error *err)
{
	_cleanup_close_ int fd = open_socket(AF_INET, SOCK_DGRAM, 0, err);
	struct sockaddr_in to = address(server, 53);
	uint64_t deadline = clock_ms() + timeout;
	uint8_t msg[DNS_MAX];
	uint16_t id = 0;
	size_t len = 0;

	if (fd < 0)
		return -1;
	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return error_errno(err, errno, "cannot get random bytes");
	if (dns_query(name, type, id, msg, &len, err) < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || send(fd, msg, len, 0) < 0)
		return settle(errno, ret, err);
	for (;;) {
		int ready = fd_wait(fd, POLLIN, deadline, err);
		ssize_t n;

		if (ready < 0)
			return -1;
		if (ready == 0)
			return settle(ETIMEDOUT, ret, err);
		n = recv(fd, msg, sizeof(msg), 0);
		if (n < 0)
			return settle(errno, ret, err);
		if (n < 12 || (msg[0] << 8 | msg[1]) != id) {
			if (clock_ms() >= deadline)
				return settle(ETIMEDOUT, ret, err);
			continue;
		}
		dns_answers(msg, (size_t)n, answers);
		*ret = VERDICT_OPEN;
		return str_ok(answers, err);
	}
}

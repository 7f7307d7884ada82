/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/net/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "base/str.h"

enum { HOPS = 6, FRAME_MAX = 2048 };

/* Lines for "ip -batch"; %N$s is the path of a namespace. */
struct script {
	enum place where;
	const char *lines;
};

static const char hv_links[] =
	"link set lo up\n"
	"link add boxnet type bridge ageing_time 0 stp_state 0 mcast_snooping 0\n"
	"link set boxnet address 02:62:6f:78:00:01\n"
	"link add other0 type bridge ageing_time 0 stp_state 0 mcast_snooping 0\n"
	"link set other0 address 52:54:00:00:01:fe\n"
	"link add bxt00000001 master boxnet type veth peer name eth0 netns %s\n"
	"link add bxt00000002 master boxnet type veth peer name eth0 netns %s\n"
	"link add raw0 master boxnet type veth peer name eth0 netns %s\n"
	"link add p1 master other0 type veth peer name eth0 netns %s\n"
	"link add p2 master other0 type veth peer name eth0 netns %s\n"
	"link add wan0 address 52:54:00:00:02:02 type veth peer name eth0 netns %s\n"
	"link add lan0 address 52:54:00:00:02:01 type veth peer name eth0 netns %s\n";

static const char hv_addresses[] =
	"link set boxnet up\nlink set other0 up\nlink set bxt00000001 up\nlink set bxt00000002 up\n"
	"link set raw0 up\nlink set p1 up\nlink set p2 up\nlink set wan0 up\nlink set lan0 up\n"
	"addr add 10.88.0.1/24 brd + dev boxnet\n"
	"addr add 203.0.113.2/24 dev wan0\n"
	"addr add 10.1.1.254/24 dev other0\n"
	"addr add 10.20.30.1/24 dev lan0\n"
	"neigh add 10.88.0.2 lladdr 52:54:00:00:00:01 dev boxnet nud permanent\n"
	"neigh add 10.88.0.3 lladdr 52:54:00:00:00:02 dev boxnet nud permanent\n"
	"neigh add 10.88.0.200 lladdr 52:54:00:00:00:99 dev boxnet nud permanent\n"
	"neigh add 203.0.113.80 lladdr 52:54:00:00:03:02 dev wan0 nud permanent\n"
	"neigh add 10.20.30.40 lladdr 52:54:00:00:03:01 dev lan0 nud permanent\n"
	"route add default via 203.0.113.80\n"
	"route add 172.16.5.40 via 10.20.30.40\nroute add 192.168.77.40 via 10.20.30.40\n"
	"route add 100.64.7.40 via 10.20.30.40\nroute add 169.254.169.254 via 10.20.30.40\n"
	"route add 192.0.0.40 via 10.20.30.40\nroute add 198.18.5.40 via 10.20.30.40\n"
	"route add 240.0.0.40 via 10.20.30.40\n"
	"route add 203.0.114.0/24 via 203.0.113.80 mtu lock 68\n"
	"addr add fd88::1/64 dev boxnet nodad\naddr add fd77::1/64 dev lan0 nodad\n"
	"neigh add fd88::99 lladdr 52:54:00:00:00:99 dev boxnet nud permanent\n"
	"neigh add fd77::40 lladdr 52:54:00:00:03:01 dev lan0 nud permanent\n";

#define GUEST(mac, address)                                                                \
	"link set eth0 address " mac "\nlink set eth0 up\naddr add " address " dev eth0\n" \
	"neigh add 10.88.0.1 lladdr 02:62:6f:78:00:01 dev eth0 nud permanent\n"            \
	"route add default via 10.88.0.1\n"

static const struct script scripts[] = {
	{ HV, hv_addresses },
	{ BOX_A, GUEST("52:54:00:00:00:01", "10.88.0.2/24") },
	{ BOX_B, GUEST("52:54:00:00:00:02", "10.88.0.3/24") },
	{ RAW, GUEST("52:54:00:00:00:99", "10.88.0.200/24") },
	{ P1, "link set eth0 address 52:54:00:00:01:01\nlink set eth0 up\n" },
	{ P2, "link set eth0 address 52:54:00:00:01:02\nlink set eth0 up\n" },
	{ WAN, "link set eth0 address 52:54:00:00:03:02\nlink set eth0 up\n"
	       "addr add 203.0.113.80/24 dev eth0\n"
	       "neigh add 203.0.113.2 lladdr 52:54:00:00:02:02 dev eth0 nud permanent\n" },
	{ LAN, "link set eth0 address 52:54:00:00:03:01\nlink set eth0 up\n"
	       "addr add 10.20.30.40/24 dev eth0\n"
	       "neigh add 10.20.30.1 lladdr 52:54:00:00:02:01 dev eth0 nud permanent\n"
	       "addr add 172.16.5.40/32 dev eth0\naddr add 192.168.77.40/32 dev eth0\n"
	       "addr add 100.64.7.40/32 dev eth0\naddr add 169.254.169.254/32 dev eth0\n"
	       "addr add 192.0.0.40/32 dev eth0\naddr add 198.18.5.40/32 dev eth0\n"
	       "route add default via 10.20.30.1\n" },
	{ SYNC, "link add s0 type veth peer name s1\nlink set s0 up\nlink set s1 up\n" },
};

/* A port that the host publishes as container engines do: by destination NAT of its own address. */
static const char publish[] =
	"table ip engine {\n\tchain published {\n"
	"\t\ttype nat hook prerouting priority -100; policy accept\n"
	"\t\tip daddr 203.0.113.2 udp dport 8053 dnat to 203.0.113.80:9000\n\t}\n}\n";

static int write_file(const char *path, const char *text, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno, "cannot open '%s'", path);
	if (write(fd, text, strlen(text)) < 0)
		return error_errno(err, errno, "cannot write '%s'", path);
	return 0;
}

int world_enter(struct world *w, enum place where, struct error *err)
{
	if (setns(w->ns[where], CLONE_NEWNET) < 0)
		return error_errno(err, errno, "cannot enter a namespace");
	return 0;
}

void world_leave(struct world *w)
{
	if (setns(w->home, CLONE_NEWNET) < 0)
		abort(); /* in the wrong network, nothing that follows would be true */
}

/* A program with this text as its standard input. */
static int run_with(const char *const *argv, const char *text, struct error *err)
{
	FILE *file = tmpfile();
	struct run run = { .argv = argv, .timeout_ms = 10000 };
	int ret;

	if (!file || fputs(text, file) < 0 || fflush(file) != 0 || fseek(file, 0, SEEK_SET) != 0)
		return error_errno(err, errno, "cannot write a temporary file");
	run.stdin_fd = fileno(file);
	ret = run_program(&run, NULL, err);
	(void)fclose(file);
	return ret;
}

static int ip_batch(struct world *w, enum place where, const char *lines, struct error *err)
{
	static const char *const argv[] = { "ip", "-batch", "-", NULL };
	int ret;

	if (world_enter(w, where, err) < 0)
		return -1;
	ret = run_with(argv, lines, err);
	world_leave(w);
	return ret;
}

int world_run(struct world *w, enum place where, const char *line, struct error *err)
{
	const char *argv[16] = { NULL };
	struct run run = { .argv = argv, .timeout_ms = 10000 };
	char copy[256], *save = NULL;
	size_t n = 0;
	int ret;

	(void)snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word && n < 15;
		word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	if (world_enter(w, where, err) < 0)
		return -1;
	ret = run_program(&run, NULL, err);
	world_leave(w);
	return ret;
}

int world_isolate(struct world *w, bool on, struct error *err)
{
	return world_run(w, HV,
		       on ? "bridge link set dev bxt00000001 isolated on"
			  : "bridge link set dev bxt00000001 isolated off",
		       err) < 0 ||
			       world_run(w, HV,
				       on ? "bridge link set dev bxt00000002 isolated on"
					  : "bridge link set dev bxt00000002 isolated off",
				       err) < 0
		       ? -1
		       : 0;
}

/* ---- sockets ---- */

static int packet_socket(const char *dev, struct error *err)
{
	_cleanup_close_ int fd = socket(
		AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(dev),
	};
	int on = 1;

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return error_errno(err, errno, "packet socket on '%s'", dev);
	(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	return fd_take(&fd);
}

static int inet_socket(int family, int type, uint16_t port, struct error *err)
{
	_cleanup_close_ int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const struct sockaddr *addr = family == AF_INET ? (void *)&a4 : (void *)&a6;
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		(family == AF_INET6 &&
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
		bind(fd, addr, family == AF_INET ? sizeof(a4) : sizeof(a6)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 64) < 0))
		return error_errno(err, errno, "socket on port %u", port);
	return fd_take(&fd);
}

static int open_host_sockets(struct world *w, struct error *err)
{
	static const uint16_t tcp[] = HV_TCP_PORTS, udp[] = HV_UDP_PORTS;
	int on = 1;

	for (size_t i = 0; i < ARRAY_LEN(udp); i++) {
		w->udp[i] = inet_socket(AF_INET, SOCK_DGRAM, udp[i], err);
		if (w->udp[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(tcp); i++) {
		w->tcp[i] = inet_socket(AF_INET, SOCK_STREAM, tcp[i], err);
		if (w->tcp[i] < 0)
			return -1;
	}
	w->udp6 = inet_socket(AF_INET6, SOCK_DGRAM, 9999, err);
	w->bridge = packet_socket("boxnet", err);
	w->stack = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (w->udp6 < 0 || w->bridge < 0)
		return -1;
	if (w->stack < 0 || setsockopt(w->stack, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) < 0)
		return error_errno(err, errno, "raw socket");
	w->nl = nl_open(NETLINK_NETFILTER, err);
	return w->nl ? 0 : -1;
}

static int open_sockets_of(struct world *w, enum place where, struct error *err)
{
	switch (where) {
	case HV:
		return open_host_sockets(w, err);
	case SYNC:
		w->sync_out = packet_socket("s0", err);
		w->sync_in = packet_socket("s1", err);
		return MIN(w->sync_out, w->sync_in) < 0 ? -1 : 0;
	case BOX_A:
		w->door = inet_socket(AF_INET, SOCK_STREAM, 80, err);
		if (w->door < 0)
			return -1;
		break;
	default:
		break;
	}
	w->sniffer[where] = packet_socket("eth0", err);
	return w->sniffer[where] < 0 ? -1 : 0;
}

static int open_sockets(struct world *w, struct error *err)
{
	for (int p = 0; p < PLACES; p++) {
		int ret;

		if (world_enter(w, (enum place)p, err) < 0)
			return -1;
		ret = open_sockets_of(w, (enum place)p, err);
		world_leave(w);
		if (ret < 0)
			return -1;
	}
	return 0;
}

/* ---- namespaces ---- */

static int make_namespaces(struct world *w, struct error *err)
{
	w->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (w->home < 0)
		return error_errno(err, errno, "cannot open the network namespace");
	for (int p = 0; p < PLACES; p++) {
		if (unshare(CLONE_NEWNET) < 0)
			return error_errno(err, errno, "cannot make a network namespace");
		w->ns[p] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		/* No router solicitations or reports of the guests' own: they would move counters. */
		if (p != HV && p != SYNC &&
			write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1", err) < 0)
			return -1;
		world_leave(w);
		if (w->ns[p] < 0)
			return error_errno(err, errno, "cannot open the network namespace");
	}
	return 0;
}

static int make_links(struct world *w, struct error *err)
{
	static const enum place peers[] = { BOX_A, BOX_B, RAW, P1, P2, WAN, LAN };
	char path[7][40], lines[2048];

	for (size_t i = 0; i < ARRAY_LEN(peers); i++)
		(void)snprintf(
			path[i], sizeof(path[i]), "/proc/%d/fd/%d", (int)getpid(), w->ns[peers[i]]);
	(void)snprintf(lines, sizeof(lines), hv_links, path[0], path[1], path[2], path[3], path[4],
		path[5], path[6]);
	if (ip_batch(w, HV, lines, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		if (ip_batch(w, scripts[i].where, scripts[i].lines, err) < 0)
			return -1;
	}
	return 0;
}

static int set_host_up(struct world *w, struct error *err)
{
	static const char *const nft[] = { "nft", "-f", "-", NULL };
	int ret;

	if (world_enter(w, HV, err) < 0)
		return -1;
	ret = write_file("/proc/sys/net/ipv4/ip_forward", "1", err) < 0 ||
			      write_file("/proc/sys/net/ipv6/conf/all/forwarding", "1", err) < 0 ||
			      write_file("/proc/sys/net/ipv4/conf/boxnet/route_localnet", "1",
				      err) < 0 ||
			      /* As careless as a host can be. */
			      write_file("/proc/sys/net/ipv4/conf/all/accept_source_route", "1",
				      err) < 0 ||
			      write_file("/proc/sys/net/ipv4/conf/boxnet/accept_source_route", "1",
				      err) < 0 ||
			      /* No limit on ICMP errors: probes come by the hundred. */
			      write_file("/proc/sys/net/ipv4/icmp_ratelimit", "0", err) < 0 ||
			      write_file("/proc/sys/net/ipv4/icmp_msgs_per_sec", "100000", err) <
				      0 ||
			      run_with(nft, publish, err) < 0
		      ? -1
		      : 0;
	world_leave(w);
	return ret;
}

/* The same for those who answer with ICMP errors. */
static int set_peers_up(struct world *w, struct error *err)
{
	static const enum place peers[] = { WAN, LAN, BOX_A, BOX_B, RAW };

	for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
		int ret;

		if (world_enter(w, peers[i], err) < 0)
			return -1;
		ret = write_file("/proc/sys/net/ipv4/icmp_ratelimit", "0", err);
		world_leave(w);
		if (ret < 0)
			return -1;
	}
	return 0;
}

/* One processor: its queue is the order that world_settle relies on. */
static int pin(struct error *err)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &set);
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? error_errno(err, errno, "pin") : 0;
}

int world_open(struct world *w, struct error *err)
{
	memset(w, -1, sizeof(*w));
	w->nl = NULL;
	if (pin(err) < 0 || make_namespaces(w, err) < 0 || make_links(w, err) < 0 ||
		set_host_up(w, err) < 0 || set_peers_up(w, err) < 0)
		return -1;
	return open_sockets(w, err);
}

static void close_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cleanup_close_p(&fds[i]);
}

void world_close(struct world *w)
{
	int rest[] = { w->bridge, w->stack, w->udp6, w->door, w->sync_out, w->sync_in, w->home };

	nl_close(w->nl);
	close_all(w->sniffer, PLACES);
	close_all(w->udp, ARRAY_LEN(w->udp));
	close_all(w->tcp, ARRAY_LEN(w->tcp));
	close_all(rest, ARRAY_LEN(rest));
	close_all(w->ns, PLACES);
}

/* ---- sending and hearing ---- */

void world_settle(struct world *w)
{
	static const uint8_t frame[60] = { MAC_ALL, MAC_ALL, 0x88, 0xb6 };
	uint8_t buf[128];

	for (int i = 0; i < HOPS; i++) {
		struct pollfd p = { .fd = w->sync_in, .events = POLLIN };

		if (send(w->sync_out, frame, sizeof(frame), 0) < 0 || poll(&p, 1, 2000) != 1)
			abort(); /* the machine's own network stack is not working */
		while (recv(w->sync_in, buf, sizeof(buf), 0) > 0)
			;
	}
}

void world_drain(struct world *w)
{
	uint8_t buf[FRAME_MAX];

	for (int p = 0; p < PLACES; p++) {
		while (w->sniffer[p] >= 0 && recv(w->sniffer[p], buf, sizeof(buf), 0) > 0)
			;
	}
	for (size_t i = 0; i < ARRAY_LEN(w->udp); i++) {
		while (recv(w->udp[i], buf, sizeof(buf), 0) >= 0)
			;
	}
	while (recv(w->udp6, buf, sizeof(buf), 0) >= 0)
		;
	while (recv(w->bridge, buf, sizeof(buf), 0) > 0)
		;
}

/* Broadcasts leave by boxnet; everything else is routed. */
static int send_stack(struct world *w, const uint8_t *packet, size_t len, struct error *err)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *dev;

	memcpy(&to.sin_addr, packet + 16, 4);
	dev = to.sin_addr.s_addr == INADDR_BROADCAST ? "boxnet" : "";
	if (setsockopt(w->stack, SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strlen(dev)) < 0)
		return error_errno(err, errno, "raw socket");
	/* The kernel says so at once when a hook drops the packet: EPERM. */
	if (sendto(w->stack, packet, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
		errno != EPERM)
		return error_errno(err, errno, "raw packet");
	return 0;
}

int world_send(
	struct world *w, enum place from, const uint8_t *frame, size_t len, struct error *err)
{
	int fd = from == HV_BRIDGE ? w->bridge : from < PLACES ? w->sniffer[from] : -1;

	if (from == HV_STACK)
		return send_stack(w, frame + 14, len - 14, err);
	if (send(fd, frame, len, 0) < 0)
		return error_errno(err, errno, "frame");
	return 0;
}

static bool has_token(const uint8_t *buf, size_t len, const char *token)
{
	return token && memmem(buf, len, token, strlen(token));
}

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* What a frame that the sender got is, seen as a reply to p. */
static unsigned reply_kind(const uint8_t *f, size_t len, const struct packet *p)
{
	if (len < 42)
		return 0;
	if (get16(f + 12) == ETH_P_ARP)
		return get16(f + 20) == 2 && get32(f + 28) == p->dst_ip ? ANSWER : 0;
	if (get16(f + 12) != ETH_P_IP)
		return 0;
	if (f[23] == IPPROTO_ICMP && has_token(f, len, p->token))
		return f[34] == 0 ? ANSWER : f[34] == 3 || f[34] == 11 ? ICMP_ERROR : 0;
	if (f[23] == IPPROTO_TCP && get16(f + 34) == p->dst_port && get16(f + 36) == p->src_port)
		return ANSWER;
	return 0;
}

static unsigned hear_place(
	struct world *w, int place, enum place from, const struct packet *p, uint32_t *ret_source)
{
	uint8_t f[FRAME_MAX];
	unsigned bits = 0;
	ssize_t len;

	while ((len = recv(w->sniffer[place], f, sizeof(f), 0)) > 0) {
		unsigned reply = place == (int)from ? reply_kind(f, (size_t)len, p) : 0;

		bits |= reply;
		if (reply || !has_token(f, (size_t)len, p->token))
			continue;
		bits |= AT(place);
		if ((place == WAN || place == LAN) && len > 34 && get16(f + 12) == ETH_P_IP)
			*ret_source = get32(f + 26);
	}
	return bits;
}

static unsigned hear_socket(int fd, const struct packet *p)
{
	uint8_t buf[FRAME_MAX];
	unsigned bits = 0;
	ssize_t len;

	while ((len = recv(fd, buf, sizeof(buf), 0)) >= 0) {
		if (has_token(buf, (size_t)len, p->token))
			bits |= AT_HOST;
	}
	return bits;
}

unsigned world_heard(struct world *w, enum place from, const struct packet *p, uint32_t *ret_source)
{
	unsigned bits = 0;

	*ret_source = 0;
	for (int place = 0; place < PLACES; place++) {
		if (w->sniffer[place] >= 0)
			bits |= hear_place(w, place, from, p, ret_source);
	}
	for (size_t i = 0; i < ARRAY_LEN(w->udp); i++)
		bits |= hear_socket(w->udp[i], p);
	return bits | hear_socket(w->udp6, p);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/drill-host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/str.h"

enum { NEIGHBOURS_MAX = 16, SERVICES_MAX = 8, ADDRESSES_MAX = 6, PROC_MAX = 8 << 20 };

static bool contains(const struct drill_addresses *list, uint32_t value)
{
	vec_foreach(const uint32_t, item, list) {
		if (*item == value)
			return true;
	}
	return false;
}

static int add(struct drill_addresses *list, uint32_t value, size_t max, struct error *err)
{
	if (!value || list->len >= max || contains(list, value))
		return 0;
	return drill_addresses_push(list, value, err);
}

/* ---- addresses, neighbours, services ---- */

static int read_addresses(struct drill_world *w, struct error *err)
{
	struct ifaddrs *list = NULL;
	int ret = 0;

	if (getifaddrs(&list) < 0)
		return error_errno(err, errno, "cannot read the host's addresses");
	for (const struct ifaddrs *a = list; a && ret == 0; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP) ||
			a->ifa_flags & IFF_LOOPBACK || str_equal(a->ifa_name, w->bridge))
			continue;
		ret = add(&w->addresses,
			ntohl(((const struct sockaddr_in *)(const void *)a->ifa_addr)
					->sin_addr.s_addr),
			ADDRESSES_MAX, err);
	}
	freeifaddrs(list);
	return ret;
}

/* Call each for every line of text but the first. */
static int each_line(const char *text, int (*each)(const char *line, void *data, struct error *err),
	void *data, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(text, err);
	char *save = NULL, *line;

	if (!copy)
		return -1;
	line = strtok_r(copy, "\n", &save);
	while (line && (line = strtok_r(NULL, "\n", &save))) {
		if (each(line, data, err) < 0)
			return -1;
	}
	return 0;
}

struct list_of {
	const char *bridge;
	struct drill_addresses *list;
};

/* "10.20.30.40  0x1  0x2  02:...  *  lan0": flag 2 says that somebody answered. */
static int arp_line(const char *line, void *data, struct error *err)
{
	const struct list_of *of = data;
	char addr[20], dev[20];
	struct in_addr in;
	unsigned flags;

	if (sscanf(line, "%19s %*s %x %*s %*s %19s", addr, &flags, dev) != 3 || !(flags & 2) ||
		str_equal(dev, of->bridge) || inet_pton(AF_INET, addr, &in) != 1)
		return 0;
	return add(of->list, ntohl(in.s_addr), NEIGHBOURS_MAX, err);
}

int drill_host_neighbours(
	const char *arp, const char *bridge, struct drill_addresses *ret, struct error *err)
{
	struct list_of of = { bridge, ret };

	return each_line(arp, arp_line, &of, err);
}

/* "0: 0100007F:0016 00000000:0000 0A ...": state 0A listens. Loopback alone is nobody's way in. */
static int tcp_line(const char *line, void *data, struct error *err)
{
	const struct list_of *of = data;
	unsigned addr, port, state;

	if (sscanf(line, "%*s %8x:%4x %*x:%*x %2x", &addr, &port, &state) != 3 || state != 0x0a ||
		(ntohl(addr) >> 24) == 127 || port == 53)
		return 0;
	return add(of->list, port, SERVICES_MAX, err);
}

int drill_host_services(const char *tcp, struct drill_addresses *ret, struct error *err)
{
	struct list_of of = { NULL, ret };

	return each_line(tcp, tcp_line, &of, err);
}

/* The file's text; one that is missing is empty. */
static int read_proc(const char *path, struct str *ret, struct error *err)
{
	if (file_read(AT_FDCWD, path, PROC_MAX, ret, err) == 0)
		return 0;
	if (err->kind != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int look_at_host(struct drill_world *w, struct error *err)
{
	_cleanup_str_ struct str arp = STR_INIT, tcp = STR_INIT;

	if (read_addresses(w, err) < 0 || read_proc("/proc/thread-self/net/arp", &arp, err) < 0 ||
		read_proc("/proc/thread-self/net/tcp", &tcp, err) < 0)
		return -1;
	return drill_host_neighbours(str_get(&arp), w->bridge, &w->neighbours, err) < 0 ||
			       drill_host_services(str_get(&tcp), &w->services, err) < 0
		       ? -1
		       : 0;
}

/* ---- ports ---- */

/* Whether the port is free: on all addresses for UDP, on loopback for TCP. */
static bool is_free(int type, uint16_t port)
{
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct sockaddr_in on = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(type == SOCK_STREAM ? INADDR_LOOPBACK : INADDR_ANY),
	};

	return fd >= 0 && bind(fd, (struct sockaddr *)&on, sizeof(on)) == 0;
}

/* Two neighbouring ports that are free, somewhere in 20000 to 29999: below what systems lend out. */
static int choose_ports(int type, uint16_t *ret, struct error *err)
{
	for (unsigned tries = 0; tries < 100; tries++) {
		uint16_t port;

		if (getrandom(&port, sizeof(port), 0) != sizeof(port))
			return error_errno(err, errno, "cannot get random bytes");
		port = (uint16_t)(20000 + port % 5000 * 2);
		if (is_free(type, port) && is_free(type, (uint16_t)(port + 1))) {
			*ret = port;
			return 0;
		}
	}
	return error_set(err, ERROR_BUSY, "no port is free for the drill");
}

int drill_host_look(struct drill_world *world, bool host, struct error *err)
{
	if (choose_ports(SOCK_DGRAM, &world->host_port, err) < 0 ||
		choose_ports(SOCK_STREAM, &world->box_port, err) < 0 ||
		choose_ports(SOCK_STREAM, &world->door, err) < 0)
		return -1;
	world->other_port = (uint16_t)(world->box_port + 1);
	world->no_door = (uint16_t)(world->door + 1);
	world->host = host;
	return host ? look_at_host(world, err) : 0;
}

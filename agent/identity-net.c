/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network part of an identity: the MAC of the first device, its lease. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "agent/frame-field.h"
#include "agent/identity-item.h"
#include "agent/source.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/parse.h"

enum { PATIENCE_MS = 5000, LEASE_MS = 20000 };

/* The first network device, by name, that has hardware behind it. */
static int first_device(const struct identity_context *c, char ret[IFNAMSIZ], struct error *err)
{
	_cleanup_free_ char *folder = identity_path(c, "/sys/class/net", err);
	DIR *dir = folder ? opendir(folder) : NULL;

	*ret = 0;
	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		_cleanup_free_ char *device = str_format(err, "%s/%s/device", folder, d->d_name);

		if (!device || *d->d_name == '.' || access(device, F_OK) < 0 ||
			strlen(d->d_name) >= IFNAMSIZ)
			continue;
		if (!*ret || strcmp(d->d_name, ret) < 0)
			(void)snprintf(ret, IFNAMSIZ, "%.15s", d->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return *ret ? 0 : error_set(err, ERROR_NOT_FOUND, "there is no network device");
}

static int set_mac(int sock, struct ifreq *request, const uint8_t mac[6], struct error *err)
{
	struct ifreq flags = *request;

	request->ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(request->ifr_hwaddr.sa_data, mac, 6);
	if (ioctl(sock, SIOCSIFHWADDR, request) == 0)
		return 0;
	/* A device that cannot change it while up. */
	if (errno != EBUSY || ioctl(sock, SIOCGIFFLAGS, &flags) < 0)
		return error_errno(err, errno, "cannot set the MAC");
	flags.ifr_flags = (short)(flags.ifr_flags & ~IFF_UP);
	if (ioctl(sock, SIOCSIFFLAGS, &flags) < 0 || ioctl(sock, SIOCSIFHWADDR, request) < 0)
		return error_errno(err, errno, "cannot set the MAC");
	flags.ifr_flags = (short)(flags.ifr_flags | IFF_UP);
	if (ioctl(sock, SIOCSIFFLAGS, &flags) < 0)
		return error_errno(err, errno, "cannot bring the network device up again");
	return 0;
}

int identity_mac(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	_cleanup_close_ int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };
	const uint8_t *now = (const uint8_t *)request.ifr_hwaddr.sa_data;
	uint8_t mac[6];

	if (parse_mac(value, "mac", mac, err) < 0)
		return -1;
	if (first_device(c, request.ifr_name, err) < 0)
		return -1;
	if (!c->live)
		return error_set(err, ERROR_FAILED, "the network is not ours to change");
	if (sock < 0)
		return error_errno(err, errno, "cannot open a socket");
	if (set_mac(sock, &request, mac, err) < 0)
		return -1;
	if (ioctl(sock, SIOCGIFHWADDR, &request) < 0)
		return error_errno(err, errno, "cannot read the MAC back");
	str_printf(into, "%02x:%02x:%02x:%02x:%02x:%02x", now[0], now[1], now[2], now[3], now[4],
		now[5]);
	return str_ok(into, err);
}

/* The device's first IPv4 address; "" when it has none. */
static int address_now(const char *device, char ret[INET_ADDRSTRLEN], struct error *err)
{
	_cleanup_close_ int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };
	struct sockaddr_in address;

	if (sock < 0)
		return error_errno(err, errno, "cannot open a socket");
	*ret = 0;
	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", device);
	if (ioctl(sock, SIOCGIFADDR, &request) < 0)
		return 0;
	memcpy(&address, &request.ifr_addr, sizeof(address));
	(void)inet_ntop(AF_INET, &address.sin_addr, ret, INET_ADDRSTRLEN);
	return 0;
}

/* Whoever looks after the network in this guest is asked to start the device afresh. */
static int renew(const char *device, struct error *err)
{
	const char *networkd[] = { "networkctl", "reconfigure", device, NULL };
	const char *down[] = { "ifdown", "--force", device, NULL };
	const char *up[] = { "ifup", "--force", device, NULL };
	struct error first = { 0 };

	if (identity_run(networkd, &first) == 0)
		return 0;
	if (identity_run(down, err) < 0 || identity_run(up, err) < 0) {
		*err = first;
		return error_hint(err, "; neither systemd-networkd nor ifupdown renews the lease");
	}
	return 0;
}

/* Address changes are announced on this socket. */
static int watch_addresses(struct error *err)
{
	const struct sockaddr_nl group = { .nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR };
	_cleanup_close_ int sock = socket(
		AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (sock < 0 || bind(sock, (const struct sockaddr *)&group, sizeof(group)) < 0)
		return error_errno(err, errno, "cannot watch the network's addresses");
	return fd_take(&sock);
}

static bool wanted(const char *now, const char *value)
{
	return *now && (str_equal(value, "any") || str_equal(value, now));
}

/* Until the address is there or the time has come: true when it is. */
static bool await_address(const char *device, const char *value, int sock, uint64_t deadline,
	char now[INET_ADDRSTRLEN])
{
	struct error ignored = { 0 };
	char drop[8192];

	for (;;) {
		struct pollfd p = { .fd = sock, .events = POLLIN };
		uint64_t clock = clock_ms();

		if (address_now(device, now, &ignored) < 0)
			return false;
		if (wanted(now, value) || clock >= deadline)
			return wanted(now, value);
		if (poll(&p, 1, (int)(deadline - clock)) > 0)
			while (read(sock, drop, sizeof(drop)) > 0)
				;
	}
}

/* systemd-networkd sees by itself that the MAC is another one; asking it costs more than that takes. */
int identity_address(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	uint64_t begin = clock_ms();
	char device[IFNAMSIZ], now[INET_ADDRSTRLEN] = "";
	_cleanup_close_ int sock = -1;
	uint32_t ignored;

	if (!str_equal(value, "any") && parse_ipv4(value, "address", &ignored, err) < 0)
		return -1;
	if (!c->live)
		return error_set(err, ERROR_FAILED, "the network is not ours to change");
	sock = watch_addresses(err);
	if (sock < 0 || first_device(c, device, err) < 0)
		return -1;
	if (!await_address(device, value, sock, begin + PATIENCE_MS, now) && renew(device, err) < 0)
		return -1;
	if (!await_address(device, value, sock, clock_ms() + LEASE_MS, now))
		return error_set(err, ERROR_TIMEOUT, "no lease of address %s after %d s (now: %s)",
			value, (PATIENCE_MS + LEASE_MS) / 1000, *now ? now : "none");
	str_append(into, now);
	return str_ok(into, err);
}

void identity_put_network(const struct identity_context *c, struct str *into)
{
	_cleanup_str_ struct str path = STR_INIT, mac = STR_INIT;
	char device[IFNAMSIZ], address[INET_ADDRSTRLEN] = "";
	struct error ignored = { 0 };

	if (first_device(c, device, &ignored) < 0)
		return;
	str_printf(&path, "/sys/class/net/%s/address", device);
	if (!path.failed && identity_line(c, str_get(&path), &mac, &ignored) == 0) {
		field_put_text(into, FIELD_NAME, "mac");
		field_put_text(into, FIELD_VALUE, str_get(&mac));
	}
	if (address_now(device, address, &ignored) == 0 && *address) {
		field_put_text(into, FIELD_NAME, "address");
		field_put_text(into, FIELD_VALUE, address);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/stranger.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

#define STRANGERS 0xc612fc00u /* 198.18.252.0 */

enum {
	SETTLE_MS =
		150, /* for the host's stack to have handled the packet before its interface goes */
};

/* An ioctl on interface name that sets an address. */
static int set_address(
	int ctl, const char *name, unsigned long what, uint32_t addr, struct error *err)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(addr) };
	struct ifreq req = { 0 };

	(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	memcpy(&req.ifr_addr, &in, sizeof(in));
	if (ioctl(ctl, what, &req) < 0)
		return error_errno(err, errno, "cannot give '%s' an address", name);
	return 0;
}

/* Address it, bring it up, and tell its MAC. */
static int tap_prepare(
	int ctl, const char *name, uint32_t addr, uint8_t ret_mac[6], struct error *err)
{
	struct ifreq req = { 0 };

	if (set_address(ctl, name, SIOCSIFADDR, addr, err) < 0 ||
		set_address(ctl, name, SIOCSIFNETMASK, 0xfffffffc, err) < 0)
		return -1;
	(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (ioctl(ctl, SIOCGIFFLAGS, &req) < 0)
		return error_errno(err, errno, "interface '%s'", name);
	req.ifr_flags |= IFF_UP;
	if (ioctl(ctl, SIOCSIFFLAGS, &req) < 0 || ioctl(ctl, SIOCGIFHWADDR, &req) < 0)
		return error_errno(err, errno, "interface '%s'", name);
	memcpy(ret_mac, req.ifr_hwaddr.sa_data, 6);
	return 0;
}

int stranger_send(struct packet *packet, unsigned subnet, struct error *err)
{
	static const uint8_t mac[6] = { 0x02, 0x62, 0x6f, 0x78, 0x00, 0xee };
	_cleanup_close_ int tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	_cleanup_close_ int ctl = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t base = STRANGERS + (subnet & 255) * 4;
	struct ifreq req = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	uint8_t frame[PACKET_MAX];
	size_t len;

	if (tap < 0 || ctl < 0)
		return error_errno(err, errno, "cannot open /dev/net/tun");
	(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "bxdrill%%d");
	if (ioctl(tap, TUNSETIFF, &req) < 0)
		return error_errno(err, errno, "cannot make a tap");
	if (tap_prepare(ctl, req.ifr_name, base + 1, packet->dst_mac, err) < 0)
		return -1;
	memcpy(packet->src_mac, mac, 6);
	packet->src_ip = base + 2;
	len = packet_build(packet, frame);
	if (!len)
		return error_set(err, ERROR_USAGE, "the packet is too large");
	if (write(tap, frame, len) != (ssize_t)len)
		return error_errno(err, errno, "cannot send on '%s'", req.ifr_name);
	(void)poll(NULL, 0, SETTLE_MS);
	printf("sent %zu\n", len);
	return 0;
}

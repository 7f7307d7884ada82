/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine on another network of this host, made up for one packet: a tap "bxdrillN" with a small subnet
 * out of 198.18.252.0/22 (the benchmarking range, which nobody routes), into which the packet is put as
 * if it came from outside. The tap is gone when this returns, or when the process ends by whatever.
 */
#ifndef PROBE_STRANGER_H
#define PROBE_STRANGER_H

#include "base/error.h"
#include "probe/packet.h"

/*
 * packet: kind, dst_ip, dst_port and token are set; the rest is filled in. subnet (0 to 255) keeps
 * strangers that exist at the same time apart. Prints "sent LENGTH". Needs CAP_NET_ADMIN.
 */
int stranger_send(struct packet *packet, unsigned subnet, struct error *err) MUST_CHECK;

#endif

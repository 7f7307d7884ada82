/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small world of network namespaces for packet tests. They have no names and no processes: they
 * vanish with the file descriptors, whatever ends the test.
 *
 *	      box A  box B  raw      p1  p2                          10.88.0.0/24 on boxnet
 *	        |      |     |        |   |
 *	 bxt00000001 bxt..2 raw0     p1  p2          hv, the host: wan0 203.0.113.2, lan0 10.20.30.1
 *	        +-- boxnet --+       other0               |                |
 *	                                             wan 203.0.113.80  lan 10.20.30.40 ...
 *
 * The bridge forgets what it learns at once (ageing 0), so that it floods whatever it may: the worst
 * case. All neighbours are known beforehand, so that no probe waits for ARP.
 */
#ifndef TESTS_NET_WORLD_H
#define TESTS_NET_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "net/nl.h"
#include "net/rules.h"
#include "probe/packet.h"

enum place {
	HV,
	WAN,
	LAN,
	BOX_A,
	BOX_B,
	RAW, /* on the bridge by hand: no tap of a box */
	P1, /* on another bridge */
	P2,
	SYNC, /* a veth pair for itself, see world_settle */
	PLACES,
	HV_BRIDGE, /* senders only: a frame out of the host's own boxnet interface ... */
	HV_STACK, /* ... or a packet through the host's routing and output hooks */
};

/* What was seen of a packet: a bit for each place that it reached, and of what came back. */
#define AT(place) (1u << (place))
#define AT_HOST AT(HV) /* a socket of the host got it */
#define ANSWER (1u << 20) /* the sender got a reply: SYN-ACK, RST, echo reply, ARP reply */
#define ICMP_ERROR (1u << 21) /* the sender got an ICMP error that quotes the packet */

#define MAC_GW 0x02, 0x62, 0x6f, 0x78, 0x00, 0x01 /* NET_GATEWAY_MAC */
#define MAC_A 0x52, 0x54, 0x00, 0x00, 0x00, 0x01
#define MAC_B 0x52, 0x54, 0x00, 0x00, 0x00, 0x02
#define MAC_RAW 0x52, 0x54, 0x00, 0x00, 0x00, 0x99
#define MAC_P1 0x52, 0x54, 0x00, 0x00, 0x01, 0x01
#define MAC_P2 0x52, 0x54, 0x00, 0x00, 0x01, 0x02
#define MAC_OTHER 0x52, 0x54, 0x00, 0x00, 0x01, 0xfe
#define MAC_HV_LAN 0x52, 0x54, 0x00, 0x00, 0x02, 0x01
#define MAC_HV_WAN 0x52, 0x54, 0x00, 0x00, 0x02, 0x02
#define MAC_LAN 0x52, 0x54, 0x00, 0x00, 0x03, 0x01
#define MAC_WAN 0x52, 0x54, 0x00, 0x00, 0x03, 0x02
#define MAC_ALL 0xff, 0xff, 0xff, 0xff, 0xff, 0xff

/* TCP ports on which the host listens; UDP ports on which it hears. */
#define HV_TCP_PORTS         \
	{                    \
		22, 53, 8888 \
	}
#define HV_UDP_PORTS             \
	{                        \
		53, 67, 68, 9999 \
	}

struct world {
	int home; /* where the process came from */
	int ns[PLACES];
	int sniffer[PLACES]; /* packet sockets; in hv: none */
	int bridge; /* packet socket on boxnet in hv */
	int stack; /* raw IP socket in hv */
	int udp[4], udp6, tcp[3]; /* the host's own sockets */
	int door; /* box A listens on TCP port 80 */
	int sync_out, sync_in;
	struct nl *nl; /* to hv's packet filter */
};

int world_open(struct world *w, struct error *err) MUST_CHECK;
void world_close(struct world *w);

/* Run one line of a program in a place: "bridge link set dev bxt00000001 isolated on". */
int world_run(struct world *w, enum place where, const char *line, struct error *err) MUST_CHECK;

/* Switch the kernel's port isolation of both boxes' ports. */
int world_isolate(struct world *w, bool on, struct error *err) MUST_CHECK;

/* Enter a place, and come home. */
int world_enter(struct world *w, enum place where, struct error *err) MUST_CHECK;
void world_leave(struct world *w);

/*
 * Wait until everything that was sent has gone where it goes. Frames between veths queue up on the
 * processor that sent them, first in first out, so a frame that goes round behind them tells; it has
 * to, as often as a packet may hop.
 */
void world_settle(struct world *w);

/* Forget what has been heard so far. */
void world_drain(struct world *w);

/* Send the frame as that place does. */
int world_send(struct world *w, enum place from, const uint8_t *frame, size_t len,
	struct error *err) MUST_CHECK;

/* What has been heard of packet p, sent by from: places and what came back. *ret_source: its source
 * address where it arrived beyond the host (0: nowhere). */
unsigned world_heard(
	struct world *w, enum place from, const struct packet *p, uint32_t *ret_source);

#endif

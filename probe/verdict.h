/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Active probes with the machine's own stack. Each tells apart what curl and ping blur: a refusal
 * means that the packet ARRIVED, silence that it was dropped on the way or that nobody is there.
 */
#ifndef PROBE_VERDICT_H
#define PROBE_VERDICT_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum verdict {
	VERDICT_OPEN, /* a connection was made, or an answer came */
	VERDICT_REFUSED, /* the far end said no: RST, or ICMP port unreachable */
	VERDICT_UNREACHABLE, /* a router or our own stack said that there is no way */
	VERDICT_SILENT, /* nothing came back before the time was over */
};

const char *verdict_name(enum verdict v);

/* Times are in milliseconds. Addresses and ports are in host byte order. */
int probe_tcp(uint32_t addr, uint16_t port, unsigned timeout, enum verdict *ret,
	struct error *err) MUST_CHECK;
int probe_udp(uint32_t addr, uint16_t port, unsigned timeout, enum verdict *ret,
	struct error *err) MUST_CHECK;

/* Needs CAP_NET_RAW. */
int probe_icmp(uint32_t addr, unsigned timeout, enum verdict *ret, struct error *err) MUST_CHECK;

/* Ask for addr on the interface; OPEN when somebody says that it is his, *ret_mac is who. */
int probe_arp(const char *iface, uint32_t addr, unsigned timeout, enum verdict *ret,
	uint8_t ret_mac[6], struct error *err) MUST_CHECK;

/*
 * Ask server (port 53, UDP) for name; type is 1 (A), 12 (PTR), 28 (AAAA). OPEN when it answered with
 * whatever code; answers has "NOERROR 203.0.113.80 ..." or "NXDOMAIN", in the server's order, escaped.
 */
int probe_dns(uint32_t server, const char *name, unsigned type, unsigned timeout, enum verdict *ret,
	struct str *answers, struct error *err) MUST_CHECK;

#endif

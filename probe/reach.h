/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Active probes with the machine's own stack, one packet and its answer: what came back, and when a
 * router said that there is no way, which one. A router beyond the gateway that says so has had the
 * packet; the gateway and our own stack have not let it out.
 */
#ifndef PROBE_REACH_H
#define PROBE_REACH_H

#include "probe/verdict.h"

struct reach_target {
	uint32_t addr; /* host byte order */
	uint16_t port; /* not for ICMP */
	unsigned timeout; /* milliseconds */
	const char *token; /* lent; carried in UDP and ICMP, at most 64 bytes; NULL: none */
};

struct reach {
	enum verdict verdict;
	uint32_t by; /* VERDICT_UNREACHABLE: the router that said so; 0: our own stack */
};

int reach_tcp(const struct reach_target *to, struct reach *ret, struct error *err) MUST_CHECK;
int reach_udp(const struct reach_target *to, struct reach *ret, struct error *err) MUST_CHECK;

/* Needs CAP_NET_RAW. */
int reach_icmp(const struct reach_target *to, struct reach *ret, struct error *err) MUST_CHECK;

#endif

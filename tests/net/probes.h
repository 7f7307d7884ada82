/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packet tests: every claim of the isolation stack as a packet, what must become of it, and what
 * becomes of it when there are no rules at all (so that a drop proves something).
 */
#ifndef TESTS_NET_PROBES_H
#define TESTS_NET_PROBES_H

#include "base/str.h"
#include "tests/net/world.h"

enum tweak {
	PLAIN,
	TTL_1,
	ICMP_REPLY, /* an echo reply that nobody asked for */
	V6_ROUTED, /* IPv6 with a source that is routed, fd88::99 */
	ARP_PROBE_REPLY, /* an ARP reply without a sender address */
	SOURCE_ROUTE, /* with a loose source route whose next hop is 10.20.30.40 (RFC 791) */
	ANSWERED, /* the host answers from where it was asked; AT(from) is to be seen too */
};

struct probe {
	const char *name;
	enum place from;
	struct packet packet; /* src_port 0: a fresh one */
	enum tweak tweak;
	unsigned want; /* exactly this is seen */
	uint32_t want_source; /* the source address beyond the host; 0: not looked at */
	const char *counter; /* that must move; NULL: none need */
	enum rules_family family; /* of the counter */
	unsigned open; /* without rules at least this is seen; 0: the kernel itself never lets it */
	/* Instead of all the above: a story of its own. 0: as wanted; 1: not, *why says so; -1. */
	int (*story)(struct world *w, const struct ruleset *rs, struct str *why, struct error *err);
};

extern const struct probe probes[];
extern const size_t n_probes;

/* What box A and box B are to the packet filter: A has a door, 127.0.0.1:8080 to its port 80. */
extern const struct net_port probe_ports[2];

/* Send its packet and tell what was seen of it, whatever the rules are. */
int probe_send(struct world *w, const struct probe *probe, unsigned *ret_bits, uint32_t *ret_source,
	struct error *err) MUST_CHECK;

/* Run one against the rules that are loaded. 0: as wanted; 1: not, why is appended to; -1. */
int probe_run(struct world *w, const struct ruleset *rs, const struct probe *p, struct str *why,
	struct error *err) MUST_CHECK;

/* Run one without rules: 0 when it gets where it is said to get. Stories are not run. */
int probe_run_open(
	struct world *w, const struct probe *p, struct str *why, struct error *err) MUST_CHECK;

#endif

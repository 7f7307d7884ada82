/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The claims of the drill as data: what is claimed, in plain words; what has to work before a silence
 * means anything (positive controls); the probes, and where on the way their packets may be seen; the
 * counters of the rules that have to have dropped them. Pure. drill-plan.h makes lines for box-probe
 * of it, drill-judge.h verdicts.
 *
 * To add a claim: a row in drill-claim.c, its line in docs/THREATS.md and in box-isolation(7), and a
 * mutation in tests/drill/mutations.c that turns it red. Tests compare the four.
 */
#ifndef VMM_DRILL_CLAIM_H
#define VMM_DRILL_CLAIM_H

#include <stdbool.h>
#include <stddef.h>

/* Where a probe runs. A is the box under test, B its peer. */
enum drill_place {
	DRILL_A,
	DRILL_B,
	DRILL_HOST,
	DRILL_PLACES,
};

/* What keeps the promise. */
enum drill_want {
	WANT_SILENCE, /* nothing may arrive anywhere, nothing may come back */
	WANT_OPEN, /* somebody answers */
	WANT_CLOSED, /* nobody is there: refused, or nothing came back */
	WANT_REFUSED, /* refused, and nothing else: a word from the far end that nobody is there */
	WANT_NO_NAME, /* a name server answers, and does not give an address or a name */
	WANT_NAME, /* it gives one */
	WANT_ECHO, /* an answer, whatever it says, that the sender's own watcher sees coming in */
	WANT_HIDDEN, /* it leaves the host, and not under the box's own address */
	WANT_PINNED, /* it leaves the host for the pinned resolvers and for nobody else */
	WANT_CLEAN, /* a scan ends, and found nothing */
	WANT_CHECK, /* a fact about the box or the host is as it should be: drill-check.h */
};

/* When a probe runs. */
enum drill_phase {
	PHASE_MAIN,
	PHASE_DOOR, /* a door leads to B */
	PHASE_DOOR_GONE, /* that door was removed again */
	DRILL_PHASES,
};

/* What a silence has to be proven by, when the drop counter cannot be seen or is no proof. */
enum drill_proof {
	PROOF_B = 1 << 0, /* B watches its network device, and is known to see what arrives there */
	PROOF_A = 1 << 1, /* the same for A */
	PROOF_HOST = 1 << 2, /* root on the host watches what its stack is given */
	PROOF_WIRE =
		1
		<< 3, /* root on the host watches all its interfaces: it came in and went nowhere */
	/* Counters that have not moved although they can be seen do not make it unknown: another layer
	 * (the port flag, the kernel's own checks) comes before the rule. */
	COUNTER_OPTIONAL = 1 << 4,
};

/* Positive controls, as bits. The first letter says where. */
enum drill_control {
	CONTROL_A_TOOL, /* the probe tells a closed port from an open one */
	CONTROL_B_TOOL,
	CONTROL_A_GATEWAY, /* the gateway answers its ARP */
	CONTROL_A_LEASE, /* the box has the address that it was given */
	CONTROL_B_LEASE,
	CONTROL_A_EGRESS, /* the public internet answers */
	CONTROL_B_EGRESS,
	CONTROL_A_DNS, /* the gateway's name server answers, and the answer is seen coming in */
	CONTROL_B_DNS,
	CONTROL_B_SERVES, /* its listener answers on its own loopback */
	CONTROL_HOST_EGRESS,
	CONTROL_HOST_TOOL,
	CONTROL_HOST_SEES, /* what arrives at the host's stack is seen: no claim's, but PROOF_HOST's */
	DRILL_CONTROLS,
};

/* Where packets of a claim may be seen besides, since that is no arrival, or another claim's. */
enum drill_passes {
	PASS_BRIDGE =
		1 << 0, /* coming up on the bridge: the rule that drops them stands behind it */
	PASS_LOCAL = 1 << 1, /* in the host's own stack */
	PASS_PEER = 1 << 2, /* at the peer */
};

/* What a probe line is repeated for. */
enum drill_each {
	EACH_ONCE,
	EACH_TARGET, /* {x}: the claim's targets, and neighbours of the host in its range */
	EACH_HOST_ADDRESS, /* {x}: addresses of the host other than the gateway */
	EACH_HOST_SERVICE, /* {x} {p}: a port that the host listens on, at the gateway and elsewhere */
	EACH_RESOLVER, /* {x}: the pinned resolvers */
};

struct drill_probe {
	enum drill_place from;
	enum drill_want want;
	enum drill_each each;
	unsigned counted; /* packets that the claim's counters must count; 0: they need not */
	/* A verb of box-probe with {variables} (drill-plan.c), or for WANT_CHECK the check's name. */
	const char *line;
};

enum { DRILL_PROBES_MAX = 9, DRILL_COUNTERS_MAX = 4 };

struct drill_claim {
	const char *id; /* stable, kebab-case */
	const char *group; /* heading; rows of one group follow one another */
	const char *says; /* the promise, in plain words, no full stop */
	enum drill_phase phase;
	unsigned controls; /* bits of enum drill_control */
	unsigned proofs; /* bits of enum drill_proof: each suffices */
	unsigned passes; /* bits of enum drill_passes */
	bool quick; /* part of --quick */
	const char
		*range; /* EACH_TARGET: neighbours of the host in it are targets too; NULL: none */
	const char *targets; /* EACH_TARGET: addresses, separated by blanks */
	const char *counters[DRILL_COUNTERS_MAX]; /* of net/rules.c; together */
	struct drill_probe probes[DRILL_PROBES_MAX]; /* ended by one without a line */
};

/* Good when each probe is; of a probe that is repeated, one suffices, as for WANT_OPEN in claims. */
struct drill_control_row {
	const char *says; /* "the box holds its lease" */
	struct drill_probe probes[3];
};

extern const struct drill_claim drill_claims[];
extern const size_t drill_claim_count;

extern const struct drill_control_row drill_controls[DRILL_CONTROLS];

/* The claim with this id; NULL when there is none. */
const struct drill_claim *drill_claim_find(const char *id);

size_t drill_probe_count(const struct drill_probe *probes, size_t max);

const char *drill_place_name(enum drill_place place); /* "box", "peer", "host" */

/* The name in front of the taps that the verb "stranger" of box-probe makes on the host. */
#define DRILL_STRANGER "bxdrill"

#endif

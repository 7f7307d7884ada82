/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From claims to lines for box-probe. Pure. The world says which addresses, ports and names there are;
 * the plan has an item for each probe of each selected claim and control, with the observation that it
 * will get. Item i has id i + 1 in the sessions of box-probe, and its token ends in these four digits.
 */
#ifndef VMM_DRILL_PLAN_H
#define VMM_DRILL_PLAN_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "net/config.h"
#include "vmm/drill-claim.h"

VEC_DEFINE(drill_addresses, uint32_t); /* host byte order */

struct drill_box {
	char name[64];
	char tap[16];
	char mac[18];
	char iface[16]; /* what the guest calls its network device */
	uint32_t ip; /* host byte order */
};

struct drill_world {
	struct drill_box box[2]; /* DRILL_A, DRILL_B */
	struct net_config net;
	const char *bridge; /* lent */
	const char *gateway_mac; /* lent */
	char prefix[24]; /* of every token: letters and digits; drill_run makes it */
	bool host; /* probes run on the host: the next three are known */
	struct drill_addresses addresses; /* owned; of the host, without loopback and gateway */
	struct drill_addresses neighbours; /* owned; that the host has lately talked to */
	struct drill_addresses services; /* owned; TCP ports that it listens on */
	uint16_t host_port, box_port, other_port, door, no_door;
	uint16_t sport; /* of packets by hand: no two in a row are one connection */
	unsigned silence_ms, answer_ms; /* how long to wait for what must not, and what must come */
};
void drill_world_done(struct drill_world *world);

/* What a probe's output means. */
enum drill_answer {
	ANSWER_NONE, /* it has not run, or not ended */
	ANSWER_FAILED, /* it could not run */
	ANSWER_SENT,
	ANSWER_OPEN,
	ANSWER_REFUSED,
	ANSWER_SILENT,
	ANSWER_NEAR, /* no way: so says the sender's own stack, or the gateway */
	ANSWER_FAR, /* no way: so says somebody beyond, who has had the packet */
	ANSWER_NAME, /* a name server gave what was asked for */
	ANSWER_NO_NAME, /* it answered, and did not */
	ANSWER_YES, /* a check, a scan: as it should be */
	ANSWER_NO,
	ANSWER_UNSEEN, /* a check that cannot be made from here */
};

enum drill_where {
	WHERE_A, /* came in at A's network device */
	WHERE_B,
	WHERE_LOCAL, /* was given to the host's own stack */
	WHERE_WIRE, /* on an interface of the host */
};

struct drill_sight {
	enum drill_where where;
	char iface[16]; /* WHERE_WIRE */
	bool out; /* WHERE_WIRE: it left there */
	uint32_t source, dest; /* WHERE_WIRE: of IPv4, host byte order; 0: another protocol */
};

enum { DRILL_SIGHTS_MAX = 12, DRILL_TEXT_MAX = 200 };

struct drill_item {
	bool control; /* index is an enum drill_control; else an index of drill_claims */
	size_t index;
	size_t row; /* which of its probes */
	unsigned round; /* items of one round run at the same time; rounds in order */
	char line[256];
	bool token; /* the line carries the item's token */
	enum drill_answer answer;
	char text[DRILL_TEXT_MAX]; /* what the probe or check said, harmless */
	struct drill_sight sights[DRILL_SIGHTS_MAX];
	size_t sight_count;
};
VEC_DEFINE(drill_items, struct drill_item);

struct drill_plan {
	struct drill_items items; /* owned; controls first (round 0), then rounds in order */
	unsigned rounds;
	unsigned running; /* the round that runs */
	bool *selected; /* owned; by index of drill_claims */
	unsigned *round; /* owned; the same */
	bool controls[DRILL_CONTROLS]; /* needed by a selected claim */
};
void drill_plan_done(struct drill_plan *plan);

/*
 * Make the plan for the selected claims. Claims whose probes move the same counter get different
 * rounds, so that each one's packets can be counted; in_one: they do not (quicker; the counter then has
 * to have moved by the sum). Phases follow one another. selected is copied.
 */
int drill_plan_make(const struct drill_world *world, const bool *selected, bool in_one,
	struct drill_plan *ret, struct error *err) MUST_CHECK;

const struct drill_probe *drill_item_probe(const struct drill_item *item);

/* The phase of a round; DRILL_PHASES when it has no item. */
enum drill_phase drill_plan_phase(const struct drill_plan *plan, unsigned round);

/* The round in which the claim's probes run: 1 or more; for a claim that has none too. */
unsigned drill_plan_round(const struct drill_plan *plan, size_t claim);

/* The token of item i, into buf. */
const char *drill_token(const struct drill_world *world, size_t item, char buf[32]);

/* The item whose token this is; plan->items.len when it is none of ours. */
size_t drill_token_item(
	const struct drill_world *world, const struct drill_plan *plan, const char *token);

#endif

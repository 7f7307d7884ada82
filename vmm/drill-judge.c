/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory. A verdict is made in this order, and the first that applies stands:
 *
 *  1. an arrival, wherever it was seen: broken. A liar in the box can fake one, and gains nothing.
 *  2. a control that is not good: unknown. So is a probe that did not run.
 *  3. what was asked for did not come (an open port, a name): broken, now that the controls are good.
 *  4. nothing shows who stopped the packets: unknown. Shown it is by the rule's counter, which has to
 *     have moved by as many packets as were sent; a counter that can be seen and has not moved says
 *     that something else stopped them, which may stop doing so tomorrow. Where the counter cannot be
 *     seen, or another layer comes first (COUNTER_OPTIONAL), each packet needs a watcher that would have
 *     seen it.
 *  5. holds.
 */
#include "vmm/drill-judge.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "vmm/drill-evidence.h"

const char *drill_verdict_name(enum drill_verdict verdict)
{
	static const char *const names[] = { "holds", "broken", "unknown" };

	_Static_assert(ARRAY_LEN(names) == DRILL_VERDICTS, "every verdict has a name");
	return names[verdict];
}

void drill_scene_done(struct drill_scene *scene)
{
	drill_counts_done(&scene->counts);
}

struct judge {
	const struct drill_world *world;
	const struct drill_plan *plan;
	const struct drill_scene *scene;
	const struct drill_claim *claim;
	size_t index;
	struct drill_result *ret;
};

PRINTF_LIKE(3, 4)
static void decide(const struct judge *j, enum drill_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(j->ret->reason, sizeof(j->ret->reason), fmt, ap);
	va_end(ap);
	j->ret->verdict = verdict;
}

/* ---- where a packet went ---- */

/* The gateway's own word on a packet (no way, too big) quotes its token; it is no answer of a target. */
static bool is_gateway_word(const struct drill_world *w, const struct drill_sight *s)
{
	return s->out && s->source == net_gateway(&w->net);
}

static bool is_tap(const char *iface)
{
	return str_starts(iface, NET_TAP_PREFIX);
}

/* Whether a sight of a box's packet on the host's interfaces is an arrival. */
static bool escaped(const struct judge *j, enum drill_place from, const struct drill_sight *s)
{
	const struct drill_world *w = j->world;
	bool own_tap = str_equal(s->iface, w->box[from].tap);
	bool bridge = str_equal(s->iface, w->bridge);

	if ((own_tap || bridge) && is_gateway_word(w, s))
		return false;
	if (own_tap && !s->out)
		return false;
	if (j->claim->passes & PASS_PEER &&
		str_equal(s->iface, w->box[from == DRILL_A ? DRILL_B : DRILL_A].tap))
		return false;
	return !(bridge && !s->out && j->claim->passes & PASS_BRIDGE);
}

/* Whether this sight of the item's packet means that it got where it must not; where: for people. */
static bool arrived_at(const struct judge *j, const struct drill_item *item,
	const struct drill_sight *s, char where[80])
{
	enum drill_place from = drill_item_probe(item)->from;

	switch (s->where) {
	case WHERE_A:
		(void)snprintf(where, 80, "at the box's network device");
		return from != DRILL_A && !(j->claim->passes & PASS_PEER);
	case WHERE_B:
		(void)snprintf(where, 80, "at the peer's network device");
		return from != DRILL_B && !(j->claim->passes & PASS_PEER);
	case WHERE_LOCAL:
		(void)snprintf(where, 80, "in the host's own stack");
		return from != DRILL_HOST && !(j->claim->passes & PASS_LOCAL);
	case WHERE_WIRE:
		break;
	}
	(void)snprintf(where, 80, "%s '%s' on the host", s->out ? "going out at" : "coming in at",
		s->iface);
	return from == DRILL_HOST ? s->out && is_tap(s->iface) : escaped(j, from, s);
}

/* 1: decide broken when the item's packet arrived somewhere. */
static bool find_arrival(const struct judge *j, const struct drill_item *item)
{
	char where[80];

	for (size_t i = 0; i < item->sight_count; i++) {
		if (!arrived_at(j, item, &item->sights[i], where))
			continue;
		decide(j, DRILL_BROKEN, "the packet was seen %s: %s", where, item->line);
		return true;
	}
	return false;
}

static bool silence_broken(const struct judge *j, const struct drill_item *item)
{
	if (item->answer == ANSWER_OPEN || item->answer == ANSWER_REFUSED ||
		item->answer == ANSWER_FAR) {
		decide(j, DRILL_BROKEN, "the packet arrived, the answer is '%s': %s", item->text,
			item->line);
		return true;
	}
	return find_arrival(j, item);
}

/* ---- what left the host, and how ---- */

/* A sight of the packet going out to somebody who is not a box. */
static bool left_host(const struct drill_world *w, const struct drill_sight *s)
{
	return s->where == WHERE_WIRE && s->out && !is_tap(s->iface) &&
	       !str_equal(s->iface, w->bridge) && !str_equal(s->iface, "lo");
}

static bool is_pinned(const struct drill_world *w, uint32_t addr)
{
	for (size_t i = 0; i < w->net.n_dns; i++) {
		if (w->net.dns[i] == addr)
			return true;
	}
	return false;
}

static bool leaving_broken(const struct judge *j, const struct drill_item *item, bool pinned)
{
	for (size_t i = 0; i < item->sight_count; i++) {
		const struct drill_sight *s = &item->sights[i];
		char addr[16];

		if (!left_host(j->world, s))
			continue;
		if (pinned && !is_pinned(j->world, s->dest)) {
			decide(j, DRILL_BROKEN, "the question went out at '%s' to %s", s->iface,
				s->dest ? net_format_ipv4(s->dest, addr)
					: "an address that is not IPv4");
			return true;
		}
		if (!pinned &&
			(s->source & net_mask(j->world->net.prefix)) == j->world->net.subnet) {
			decide(j, DRILL_BROKEN, "it went out at '%s' from %s", s->iface,
				net_format_ipv4(s->source, addr));
			return true;
		}
	}
	return false;
}

static bool seen_leaving(const struct judge *j, const struct drill_item *item)
{
	for (size_t i = 0; i < item->sight_count; i++) {
		if (left_host(j->world, &item->sights[i]))
			return true;
	}
	return false;
}

/* ---- single probes ---- */

/* 1: whether the item alone breaks the claim. */
static bool item_broken(const struct judge *j, const struct drill_item *item)
{
	switch (drill_item_probe(item)->want) {
	case WANT_SILENCE:
		return silence_broken(j, item);
	case WANT_CLOSED:
	case WANT_REFUSED:
		if (item->answer != ANSWER_OPEN)
			return find_arrival(j, item);
		decide(j, DRILL_BROKEN, "it is open: %s", item->line);
		return true;
	case WANT_NO_NAME:
		if (item->answer != ANSWER_NAME)
			return false;
		decide(j, DRILL_BROKEN, "the name server answers '%s': %s", item->text, item->line);
		return true;
	case WANT_PINNED:
		return leaving_broken(j, item, true);
	case WANT_HIDDEN:
		return leaving_broken(j, item, false);
	case WANT_CLEAN:
	case WANT_CHECK:
		if (item->answer != ANSWER_NO)
			return false;
		decide(j, DRILL_BROKEN, "%s", item->text);
		return true;
	case WANT_OPEN:
	case WANT_NAME:
	case WANT_ECHO:
		break;
	}
	return false;
}

/* 2: why the item says nothing; NULL when it says something. */
static const char *item_unknown(const struct judge *j, const struct drill_item *item)
{
	const struct drill_probe *probe = drill_item_probe(item);

	switch (item->answer) {
	case ANSWER_NONE:
		return "a probe did not answer in time";
	case ANSWER_FAILED:
		return "a probe could not run";
	case ANSWER_UNSEEN:
		return "this cannot be seen from here";
	case ANSWER_NEAR:
		if (probe->want == WANT_SILENCE && probe->from != DRILL_HOST && probe->counted)
			return "the packet was not sent: the box or the gateway knows no way there";
		break;
	default:
		break;
	}
	if (probe->want == WANT_REFUSED && item->answer != ANSWER_REFUSED)
		return "nothing came back, so nobody said that it is closed";
	if (probe->want == WANT_NO_NAME && item->answer != ANSWER_NO_NAME)
		return "the name server does not answer";
	if ((probe->want == WANT_HIDDEN || probe->want == WANT_PINNED) && !seen_leaving(j, item))
		return j->scene->wire ? "it was not seen leaving the host"
				      : "the host's interfaces cannot be watched";
	return NULL;
}

/* 3: what has to come from the item's row: good, or not. One of the repeats of a row suffices. */
static bool item_good(const struct drill_item *item)
{
	switch (drill_item_probe(item)->want) {
	case WANT_OPEN:
		return item->answer == ANSWER_OPEN;
	case WANT_NAME:
		return item->answer == ANSWER_NAME;
	case WANT_REFUSED:
		return item->answer == ANSWER_REFUSED;
	case WANT_CHECK:
		return item->answer == ANSWER_YES;
	case WANT_ECHO:
		/* An error of the gateway quotes the token, too: only an answer counts. */
		return (item->answer == ANSWER_OPEN || item->answer == ANSWER_SENT) &&
		       drill_item_seen(item, drill_item_probe(item)->from == DRILL_A ? WHERE_A
					     : drill_item_probe(item)->from == DRILL_B
						     ? WHERE_B
						     : WHERE_LOCAL);
	default:
		return true;
	}
}

static bool is_wanted(enum drill_want want)
{
	return want == WANT_OPEN || want == WANT_NAME;
}

static bool is_of(const struct drill_item *item, bool control, size_t index)
{
	return item->control == control && item->index == index;
}

/* Whether one of the repeats of this row is good. */
static bool row_good(const struct drill_plan *plan, bool control, size_t index, size_t row)
{
	vec_foreach(const struct drill_item, item, &plan->items) {
		if (is_of(item, control, index) && item->row == row && item_good(item))
			return true;
	}
	return false;
}

bool drill_control_judge(const struct drill_world *world, const struct drill_plan *plan,
	enum drill_control control, char text[DRILL_TEXT_MAX])
{
	bool any = false;

	(void)world;
	vec_foreach(const struct drill_item, item, &plan->items) {
		if (!is_of(item, true, control))
			continue;
		any = true;
		if (row_good(plan, true, control, item->row))
			continue;
		(void)snprintf(text, DRILL_TEXT_MAX, "%.80s: %.100s",
			item->text[0] ? item->text : "no answer", item->line);
		return false;
	}
	if (!any)
		(void)snprintf(text, DRILL_TEXT_MAX, "it was not tried");
	return any;
}

/* ---- steps of the verdict ---- */

static bool step_arrivals(const struct judge *j)
{
	vec_foreach(const struct drill_item, item, &j->plan->items) {
		if (is_of(item, false, j->index) && item_broken(j, item))
			return true;
	}
	return false;
}

static bool step_controls(const struct judge *j)
{
	char text[DRILL_TEXT_MAX];

	for (unsigned c = 0; c < DRILL_CONTROLS; c++) {
		if (!(j->claim->controls & 1u << c) ||
			drill_control_judge(j->world, j->plan, (enum drill_control)c, text))
			continue;
		decide(j, DRILL_UNKNOWN, "not so: %s (%s)", drill_controls[c].says, text);
		return true;
	}
	return false;
}

/* Probes that said nothing, and then those whose answer had to come. */
static bool step_probes(const struct judge *j)
{
	vec_foreach(const struct drill_item, item, &j->plan->items) {
		const char *why;

		if (!is_of(item, false, j->index) ||
			(is_wanted(drill_item_probe(item)->want) &&
				row_good(j->plan, false, j->index, item->row)))
			continue;
		why = item_unknown(j, item);
		if (why) {
			decide(j, DRILL_UNKNOWN, "%s: %s%s%s", why, item->line,
				item->text[0] ? ": " : "", item->text);
			return true;
		}
		if (!is_wanted(drill_item_probe(item)->want))
			continue;
		/* A name server that is silent says less than one that knows nothing. */
		decide(j,
			item->answer == ANSWER_SILENT && drill_item_probe(item)->want == WANT_NAME
				? DRILL_UNKNOWN
				: DRILL_BROKEN,
			"the answer is '%s': %s", item->text, item->line);
		return true;
	}
	return false;
}

/* ---- who stopped it ---- */

static bool has_counter(const struct drill_claim *claim, const char *name)
{
	for (size_t i = 0; i < DRILL_COUNTERS_MAX && claim->counters[i]; i++) {
		if (str_equal(claim->counters[i], name))
			return true;
	}
	return false;
}

/* Whether all that part's packets move is also claim's. */
static bool is_part(const struct drill_claim *part, const struct drill_claim *claim)
{
	for (size_t i = 0; i < DRILL_COUNTERS_MAX && part->counters[i]; i++) {
		if (!has_counter(claim, part->counters[i]))
			return false;
	}
	return part->counters[0] != NULL;
}

/* The packets of the item that a counter must have counted: it was sent, and did not get through. */
static unsigned item_counted(const struct judge *j, const struct drill_item *item)
{
	struct drill_result ignored = { 0 };
	struct judge other = *j;

	other.claim = &drill_claims[item->index];
	other.index = item->index;
	other.ret = &ignored;
	if (drill_item_probe(item)->want != WANT_SILENCE || silence_broken(&other, item))
		return 0;
	switch (item->answer) {
	case ANSWER_SENT:
	case ANSWER_SILENT:
	case ANSWER_NEAR:
		return drill_item_probe(item)->counted;
	default:
		return 0;
	}
}

/* Packets that the claim's counters gained in this round. */
static uint64_t count_moved(const struct judge *j, unsigned round)
{
	uint64_t sum = 0;

	vec_foreach(const struct drill_count, count, &j->scene->counts) {
		if (count->round == round && has_counter(j->claim, count->name))
			sum += count->packets;
	}
	return sum;
}

/*
 * Fill counted and expected. Packets of claims that ran beside this one and move only counters that are
 * this one's, too, have to be in there; in the rounds of drill_plan_make there are none, unless in_one.
 */
static void count_up(const struct judge *j)
{
	unsigned round = drill_plan_round(j->plan, j->index);

	vec_foreach(const struct drill_item, item, &j->plan->items) {
		if (!item->control && item->round == round &&
			is_part(&drill_claims[item->index], j->claim))
			j->ret->expected += item_counted(j, item);
	}
	j->ret->counted = count_moved(j, round);
	j->ret->counters_seen = j->scene->counters;
}

static bool entered(const struct judge *j, const struct drill_item *item)
{
	for (size_t i = 0; i < item->sight_count; i++) {
		if (item->sights[i].where == WHERE_WIRE && !item->sights[i].out &&
			str_equal(item->sights[i].iface,
				j->world->box[drill_item_probe(item)->from].tap))
			return true;
	}
	return false;
}

/* A silent packet of a box that the host cannot find on the box's own tap was never sent. */
static bool step_entered(const struct judge *j)
{
	vec_foreach(const struct drill_item, item, &j->plan->items) {
		const struct drill_probe *probe = drill_item_probe(item);

		if (!is_of(item, false, j->index) || !j->scene->wire || !item->token ||
			probe->want != WANT_SILENCE || probe->from == DRILL_HOST ||
			!probe->counted || entered(j, item))
			continue;
		decide(j, DRILL_UNKNOWN, "the packet did not reach the host: %s", item->line);
		return true;
	}
	return false;
}

/* Whether a watcher that sees would have seen the packets arrive. */
static bool watched(const struct judge *j)
{
	unsigned proofs = j->claim->proofs;
	char text[DRILL_TEXT_MAX];

	if (proofs & PROOF_A && drill_control_judge(j->world, j->plan, CONTROL_A_DNS, text))
		return true;
	if (proofs & PROOF_B && drill_control_judge(j->world, j->plan, CONTROL_B_DNS, text))
		return true;
	if (proofs & PROOF_HOST && j->scene->stack &&
		drill_control_judge(j->world, j->plan, CONTROL_HOST_SEES, text))
		return true;
	return proofs & PROOF_WIRE && j->scene->wire;
}

static void step_proof(const struct judge *j)
{
	const struct drill_result *r = j->ret;

	if (j->claim->counters[0])
		count_up(j);
	if (r->expected && r->counters_seen && r->counted >= r->expected) {
		decide(j, DRILL_HOLDS,
			"nothing arrived; the host's rule dropped %ju of %ju packets",
			(uintmax_t)r->counted, (uintmax_t)r->expected);
		return;
	}
	if (r->expected && r->counters_seen && !(j->claim->proofs & COUNTER_OPTIONAL)) {
		decide(j, DRILL_UNKNOWN,
			"nothing arrived, but the rule that has to stop it dropped %ju of %ju packets: something else did the rest",
			(uintmax_t)r->counted, (uintmax_t)r->expected);
		return;
	}
	if (watched(j))
		decide(j, DRILL_HOLDS, "nothing arrived where somebody watched");
	else
		decide(j, DRILL_UNKNOWN,
			"nothing came back, but whether it arrived cannot be seen: the host's counters and interfaces need root on the host");
}

static bool has_want(const struct judge *j, enum drill_want want)
{
	vec_foreach(const struct drill_item, item, &j->plan->items) {
		if (is_of(item, false, j->index) && drill_item_probe(item)->want == want)
			return true;
	}
	return false;
}

static void hold_plainly(const struct judge *j)
{
	const char *text = "";

	vec_foreach(const struct drill_item, item, &j->plan->items) {
		if (is_of(item, false, j->index))
			text = item->text;
	}
	decide(j, DRILL_HOLDS, "%s", text);
}

void drill_judge(const struct drill_world *world, const struct drill_plan *plan,
	const struct drill_scene *scene, size_t claim, struct drill_result *ret)
{
	struct judge j = {
		.world = world,
		.plan = plan,
		.scene = scene,
		.claim = &drill_claims[claim],
		.index = claim,
		.ret = ret,
	};

	*ret = (struct drill_result){ 0 };
	if (step_arrivals(&j) || step_controls(&j) || step_probes(&j) || step_entered(&j))
		return;
	if (has_want(&j, WANT_SILENCE))
		step_proof(&j);
	else
		hold_plainly(&j);
}

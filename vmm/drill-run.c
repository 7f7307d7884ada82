/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory of operation.
 *
 *	begin       a link to each place; "box-probe serve" says hello
 *	facts       what the boxes are; gives the names of their network devices, without which no plan
 *	watch       watchers at the devices of both boxes, at all interfaces of the host and in its stack;
 *	            a listener in each box. Probes are sent only when all of them have said "ready"
 *	rounds      round 0 has the controls. Each: counters read, all lines sent at once, all ends waited
 *	            for, late sights waited for, counters read again. Claims of the round are judged and told
 *	doors       a round of the door phase comes after the door was opened, one of the next after it was
 *	            removed
 *
 * Every wait has a deadline; what has not come by then stays ANSWER_NONE and makes its claims unknown.
 */
#include "vmm/drill-run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "probe/serve.h"
#include "vmm/drill-evidence.h"
#include "vmm/drill-link.h"
#include "vmm/virt.h"

enum {
	ID_FACTS = 4001,
	ID_WATCH,
	ID_CATCH,
	ID_LISTEN,
	HELLO_MS = 30000, /* an emulated box under load starts a program in seconds */
	FACTS_MS = 20000,
	READY_MS = 15000,
	GRACE_MS = 8000, /* beyond a probe's own time limit */
	QUIET_MS = 120, /* no sight for so long: all have come */
	SETTLE_MS = 1500, /* but never longer than this */
	SCAN_MS = 60000, /* for looking through a file system */
	MOST_MS = 90000, /* for one wait, whatever still comes */
	WATCH_MS = 590000,
};

/* What a watcher or listener at a place has said. */
struct helper {
	bool wanted, ready, raw, ended, lost;
};

struct runner {
	struct drill_run *run;
	struct drill_link links[DRILL_PLACES];
	struct drill_wait wait;
	struct helper helpers[DRILL_PLACES][3]; /* by id - ID_WATCH */
	bool facts_ended[2];
	bool *ended; /* owned; by item */
	uint64_t last_sight; /* clock_ms */
	uint64_t last_line; /* the same: somebody is still at work */
	bool door_open;
};

void drill_run_done(struct drill_run *run)
{
	drill_plan_done(&run->plan);
	drill_scene_done(&run->scene);
	free(run->results);
	run->results = NULL;
}

static void stage(const struct runner *r, const char *text)
{
	log_debug("drill: %s", text);
	if (r->run->ops.stage)
		r->run->ops.stage(r->run->ops.ctx, text);
}

/* ---- lines that come in ---- */

static void on_helper(struct helper *h, const char *text)
{
	if (str_equal(text, "ready") || str_equal(text, "ready raw"))
		h->ready = true;
	if (str_equal(text, "ready raw"))
		h->raw = true;
	if (str_starts(text, "lost "))
		h->lost = true;
	if (text[0] == '.')
		h->ended = true;
}

static void on_facts(struct runner *r, size_t n, const char *text)
{
	if (n > DRILL_B)
		return;
	if (text[0] == '.')
		r->facts_ended[n] = true;
	else
		drill_facts_line(&r->run->facts[n], text);
}

static void on_item(struct runner *r, size_t n, size_t index, const char *text)
{
	struct drill_item *item = &r->run->plan.items.items[index];

	/* A box does not answer for another place. */
	if (drill_item_probe(item)->from != (enum drill_place)n || r->ended[index])
		return;
	if (text[0] != '.') {
		drill_take_line(r->run->world, item, text);
		return;
	}
	drill_take_end(item, (unsigned)strtoul(text + 1, NULL, 10));
	r->ended[index] = true;
}

static void on_line(size_t n, unsigned id, const char *text, void *data)
{
	struct runner *r = data;

	r->last_line = clock_ms();
	if (id == ID_FACTS) {
		on_facts(r, n, text);
	} else if (id > ID_FACTS && id <= ID_LISTEN) {
		on_helper(&r->helpers[n][id - ID_WATCH], text);
		if (id != ID_LISTEN &&
			drill_take_sight(r->run->world, &r->run->plan, (enum drill_place)n, text))
			r->last_sight = clock_ms();
	} else if (id <= r->run->plan.items.len) {
		on_item(r, n, id - 1, text);
	}
}

/*
 * Turn until done says so, or nothing came for timeout_ms, at most MOST_MS. 0 also when time ran out; -1
 * when interrupted.
 */
static int turn_until(struct runner *r, bool (*done)(const struct runner *r), unsigned timeout_ms,
	struct error *err)
{
	uint64_t begun = clock_ms();

	r->last_line = begun;
	while (!done(r)) {
		uint64_t now = clock_ms();
		uint64_t deadline = MIN(r->last_line + timeout_ms, begun + MOST_MS);

		if (now >= deadline)
			return 0;
		if (drill_links_turn(&r->wait, (unsigned)(deadline - now), err) < 0)
			return -1;
	}
	return 0;
}

/* ---- beginning ---- */

static bool all_hello(const struct runner *r)
{
	for (size_t i = 0; i < DRILL_PLACES; i++) {
		if (drill_link_alive(&r->links[i]) && !r->links[i].hello)
			return false;
	}
	return true;
}

static void set_down(struct runner *r, size_t place, const char *text)
{
	if (!r->run->down[place][0])
		(void)snprintf(r->run->down[place], sizeof(r->run->down[place]), "%.150s", text);
	log_debug(
		"drill: no probes on the %s: %s", drill_place_name((enum drill_place)place), text);
}

static int begin(struct runner *r, struct error *err)
{
	stage(r, "reaching the boxes");
	for (size_t i = 0; i < DRILL_PLACES; i++) {
		struct error e = { 0 };

		if (!r->run->argv[i])
			set_down(r, i, "no probe can run there from here");
		else if (drill_link_open(&r->links[i], r->run->argv[i], &e) < 0)
			set_down(r, i, e.text);
	}
	if (turn_until(r, all_hello, HELLO_MS, err) < 0)
		return -1;
	for (size_t i = 0; i < DRILL_PLACES; i++) {
		if (r->links[i].hello)
			continue;
		set_down(r, i, r->links[i].tail[0] ? r->links[i].tail : "the probe did not start");
		drill_link_close(&r->links[i]);
	}
	return 0;
}

static bool facts_told(const struct runner *r)
{
	for (size_t i = 0; i <= DRILL_B; i++) {
		if (drill_link_alive(&r->links[i]) && !r->facts_ended[i])
			return false;
	}
	return true;
}

static int ask_facts(struct runner *r, struct error *err)
{
	for (size_t i = 0; i <= DRILL_B; i++)
		drill_link_send(&r->links[i], "%u facts", ID_FACTS);
	if (turn_until(r, facts_told, FACTS_MS, err) < 0)
		return -1;
	for (size_t i = 0; i <= DRILL_B; i++) {
		struct drill_box *box = &r->run->world->box[i];

		/* Without its address a box has no device to probe from: its lease control says so. */
		if (!drill_facts_iface(&r->run->facts[i], box->ip, box->iface))
			(void)snprintf(box->iface, sizeof(box->iface), "none");
	}
	return 0;
}

static int make_plan(struct runner *r, struct error *err)
{
	struct drill_run *run = r->run;

	if (drill_plan_make(run->world, run->selected, run->in_one, &run->plan, err) < 0)
		return -1;
	r->ended = calloc(run->plan.items.len + 1, sizeof(*r->ended));
	run->results = calloc(drill_claim_count, sizeof(*run->results));
	return r->ended && run->results ? 0 : error_oom(err);
}

/* ---- watching ---- */

static bool all_ready(const struct runner *r)
{
	for (size_t i = 0; i < DRILL_PLACES; i++) {
		for (size_t k = 0; k < ARRAY_LEN(r->helpers[i]); k++) {
			const struct helper *h = &r->helpers[i][k];

			if (h->wanted && !h->ready && !h->ended && drill_link_alive(&r->links[i]))
				return false;
		}
	}
	return true;
}

static void want(struct runner *r, size_t place, unsigned id)
{
	r->helpers[place][id - ID_WATCH].wanted = drill_link_alive(&r->links[place]);
}

static int watch(struct runner *r, struct error *err)
{
	const struct drill_world *w = r->run->world;

	stage(r, "watching");
	for (size_t i = 0; i <= DRILL_B; i++) {
		drill_link_send(&r->links[i], "%u watch %s %u %s", ID_WATCH, w->prefix, WATCH_MS,
			w->box[i].iface);
		drill_link_send(
			&r->links[i], "%u listen tcp %u %u 0", ID_LISTEN, w->box_port, WATCH_MS);
		want(r, i, ID_WATCH);
		want(r, i, ID_LISTEN);
	}
	drill_link_send(&r->links[DRILL_HOST], "%u watch %s %u", ID_WATCH, w->prefix, WATCH_MS);
	drill_link_send(&r->links[DRILL_HOST], "%u catch %s %u %u %s", ID_CATCH, w->prefix,
		w->host_port, WATCH_MS, w->bridge);
	want(r, DRILL_HOST, ID_WATCH);
	want(r, DRILL_HOST, ID_CATCH);
	return turn_until(r, all_ready, READY_MS, err);
}

/* What can be seen now; a watcher that lost frames or ended has not seen all. */
static void look_around(struct runner *r)
{
	const struct helper *wire = &r->helpers[DRILL_HOST][0];
	const struct helper *stack = &r->helpers[DRILL_HOST][ID_CATCH - ID_WATCH];

	r->run->scene.counters = r->run->ops.counters != NULL;
	r->run->scene.wire = wire->ready && !wire->ended && !wire->lost;
	r->run->scene.stack = stack->ready && stack->raw && !stack->ended;
}

/* ---- rounds ---- */

struct counters {
	struct nft_counter list[DRILL_NFT_COUNTERS];
	size_t n;
};

static void read_counters(struct runner *r, struct counters *ret)
{
	struct error err = { 0 };

	ret->n = 0;
	if (!r->run->scene.counters)
		return;
	if (r->run->ops.counters(r->run->ops.ctx, ret->list, DRILL_NFT_COUNTERS, &ret->n, &err) ==
		0)
		return;
	log_debug("drill: %s", err.text);
	r->run->ops.counters = NULL;
	r->run->scene.counters = false;
}

static uint64_t packets_of(const struct counters *c, const struct nft_counter *like)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i].family == like->family && str_equal(c->list[i].name, like->name))
			return c->list[i].packets;
	}
	return 0;
}

static int note_counts(struct runner *r, unsigned round, const struct counters *before,
	const struct counters *after, struct error *err)
{
	for (size_t i = 0; i < after->n; i++) {
		struct drill_count count = { .round = round };
		uint64_t was = packets_of(before, &after->list[i]);

		/* Less than before: somebody loaded the tables anew meanwhile. */
		if (after->list[i].packets <= was)
			continue;
		count.packets = after->list[i].packets - was;
		(void)snprintf(count.name, sizeof(count.name), "%s", after->list[i].name);
		if (drill_counts_push(&r->run->scene.counts, count, err) < 0)
			return -1;
	}
	return 0;
}

static void fail_item(struct runner *r, size_t index, const char *text)
{
	struct drill_item *item = &r->run->plan.items.items[index];

	item->answer = ANSWER_FAILED;
	(void)snprintf(item->text, sizeof(item->text), "%.190s", text);
	r->ended[index] = true;
}

/* Facts are looked up, not sent. */
static void check_item(struct runner *r, size_t index)
{
	struct drill_item *item = &r->run->plan.items.items[index];
	struct drill_finding f = { ANSWER_UNSEEN, "it cannot be seen from here" };

	if (str_equal(item->line, "lease-a") || str_equal(item->line, "lease-b"))
		drill_check_lease(r->run->world, drill_item_probe(item)->from,
			&r->run->facts[drill_item_probe(item)->from], &f);
	else if (str_equal(item->line, "ipv6-address"))
		drill_check_ipv6(&r->run->facts[DRILL_A], &f);
	else if (str_equal(item->line, "identity"))
		drill_check_identity(&r->run->facts[DRILL_A], &r->run->facts[DRILL_B], &f);
	else if (r->run->ops.check)
		r->run->ops.check(r->run->ops.ctx, item->line, &f);
	item->answer = f.answer;
	memcpy(item->text, f.text, sizeof(item->text));
	r->ended[index] = true;
}

static void send_items(struct runner *r, unsigned round)
{
	for (size_t i = 0; i < r->run->plan.items.len; i++) {
		const struct drill_item *item = &r->run->plan.items.items[i];
		enum drill_place from = drill_item_probe(item)->from;

		if (item->round != round || r->ended[i])
			continue;
		if (drill_item_probe(item)->want == WANT_CHECK)
			check_item(r, i);
		else if (item->answer != ANSWER_NONE)
			r->ended[i] = true; /* planned as unseen */
		else if (!drill_link_alive(&r->links[from]))
			fail_item(
				r, i, r->run->down[from][0] ? r->run->down[from] : "it went away");
		else
			drill_link_send(&r->links[from], "%zu %s", i + 1, item->line);
	}
}

static bool all_ended(const struct runner *r)
{
	for (size_t i = 0; i < r->run->plan.items.len; i++) {
		const struct drill_item *item = &r->run->plan.items.items[i];

		if (item->round <= r->run->plan.running && !r->ended[i] &&
			drill_link_alive(&r->links[drill_item_probe(item)->from]))
			return false;
	}
	return true;
}

/* The longest that a probe of this round may take. */
static unsigned round_limit(const struct runner *r, unsigned round)
{
	unsigned limit = r->run->world->silence_ms;

	vec_foreach(const struct drill_item, item, &r->run->plan.items) {
		if (item->round != round)
			continue;
		if (drill_item_probe(item)->want == WANT_CLEAN)
			limit = MAX(limit, (unsigned)SCAN_MS);
		if (strstr(drill_item_probe(item)->line, "{long}"))
			limit = MAX(limit, r->run->world->answer_ms);
	}
	return limit + GRACE_MS;
}

static int settle(struct runner *r, struct error *err)
{
	uint64_t deadline = clock_ms() + SETTLE_MS;

	r->last_sight = clock_ms();
	for (;;) {
		uint64_t now = clock_ms(), until = MIN(r->last_sight + QUIET_MS, deadline);

		if (now >= until)
			return 0;
		if (drill_links_turn(&r->wait, (unsigned)(until - now), err) < 0)
			return -1;
	}
}

/* Open or remove the door that the round's phase wants; probes that need it fail when it does not work. */
static void set_door(struct runner *r, unsigned round)
{
	bool open = drill_plan_phase(&r->run->plan, round) == PHASE_DOOR;
	bool needed = open || drill_plan_phase(&r->run->plan, round) == PHASE_DOOR_GONE;
	struct error err = { 0 };

	if (r->run->ops.door && open != r->door_open) {
		/* Noted first: a door that is half open is removed at the end. */
		r->door_open = r->door_open || open;
		if (r->run->ops.door(r->run->ops.ctx, open, &err) == 0)
			r->door_open = open;
	} else if (!r->run->ops.door && needed) {
		error_set(&err, ERROR_FAILED, "no door can be opened from here");
	}
	for (size_t i = 0; err.kind && i < r->run->plan.items.len; i++) {
		if (r->run->plan.items.items[i].round == round)
			fail_item(r, i, err.text);
	}
}

static void judge_round(struct runner *r, unsigned round)
{
	struct drill_run *run = r->run;

	look_around(r);
	for (size_t i = 0; round && i < drill_claim_count; i++) {
		if (!run->selected[i] || drill_plan_round(&run->plan, i) != round)
			continue;
		drill_judge(run->world, &run->plan, &run->scene, i, &run->results[i]);
		if (run->ops.verdict)
			run->ops.verdict(run->ops.ctx, i, &run->results[i]);
	}
}

static int run_round(struct runner *r, unsigned round, struct error *err)
{
	struct counters before, after;
	char text[64];

	(void)snprintf(text, sizeof(text), "round %u of %u", round + 1, r->run->plan.rounds);
	stage(r, text);
	r->run->plan.running = round;
	set_door(r, round);
	look_around(r);
	read_counters(r, &before);
	send_items(r, round);
	if (turn_until(r, all_ended, round_limit(r, round), err) < 0 || settle(r, err) < 0)
		return -1;
	read_counters(r, &after);
	if (note_counts(r, round, &before, &after, err) < 0)
		return -1;
	judge_round(r, round);
	return 0;
}

/* No two drills take each other's packets, or connections, for their own. */
static int make_prefix(struct drill_world *world, struct error *err)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	(void)snprintf(world->prefix, sizeof(world->prefix), "bxd%08xx", random);
	world->sport = (uint16_t)(30000 + random % 30000);
	return 0;
}

static int run_all(struct runner *r, struct error *err)
{
	if (make_prefix(r->run->world, err) < 0 || begin(r, err) < 0 || ask_facts(r, err) < 0 ||
		make_plan(r, err) < 0 || watch(r, err) < 0)
		return -1;
	for (unsigned round = 0; round < r->run->plan.rounds; round++) {
		if (run_round(r, round, err) < 0)
			return -1;
	}
	return 0;
}

int drill_run(struct drill_run *run, struct error *err)
{
	struct runner r = {
		.run = run,
		.links = { DRILL_LINK_INIT(SERVE_HELLO), DRILL_LINK_INIT(SERVE_HELLO),
			DRILL_LINK_INIT(SERVE_HELLO) },
	};
	struct error door = { 0 };
	int ret;

	r.wait = (struct drill_wait){
		.links = r.links,
		.count = DRILL_PLACES,
		.interrupt_fd = run->interrupt_fd,
		.line = on_line,
		.data = &r,
	};
	ret = run_all(&r, err);
	if (r.door_open && run->ops.door(run->ops.ctx, false, &door) < 0 && ret == 0)
		ret = error_set(err, door.kind, "the drill's door stays open: %.900s", door.text);
	for (size_t i = 0; i < DRILL_PLACES; i++)
		drill_link_close(&r.links[i]);
	free(r.ended);
	return ret;
}

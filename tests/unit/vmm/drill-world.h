/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made-up world for the drill's unit tests, and a plan in it whose probes all went as they should. */
#ifndef TESTS_UNIT_VMM_DRILL_WORLD_H
#define TESTS_UNIT_VMM_DRILL_WORLD_H

#include "tests/unit/test.h"

#include <stdio.h>

#include "base/parse.h"
#include "vmm/drill-evidence.h"
#include "vmm/drill-judge.h"

#define HOST_ADDRESS 0xcb007102 /* 203.0.113.2 */
#define LAN_ADDRESS 0x0a141e01 /* 10.20.30.1, of the host */
#define NEIGHBOUR 0x0a141e28 /* 10.20.30.40 */
#define RESOLVER 0xcb007135 /* 203.0.113.53 */

UNUSED static void world_make(struct drill_world *w)
{
	struct error err = { 0 };

	*w = (struct drill_world){
		.box = { { "drill-a", "bxtaaaaaaaa", "52:54:00:00:00:0a", "eth0", 0x0a580002 },
			{ "drill-b", "bxtbbbbbbbb", "52:54:00:00:00:0b", "eth0", 0x0a580003 } },
		.bridge = NET_BRIDGE,
		.gateway_mac = NET_GATEWAY_MAC,
		.prefix = "bxd0123x",
		.host = true,
		.host_port = 40100,
		.box_port = 40200,
		.other_port = 40201,
		.door = 40300,
		.no_door = 40301,
		.sport = 50000,
		.silence_ms = 1000,
		.answer_ms = 5000,
	};
	net_config_default(&w->net);
	w->net.dns[0] = RESOLVER;
	w->net.n_dns = 1;
	assert_ok(drill_addresses_push(&w->addresses, HOST_ADDRESS, &err), &err);
	assert_ok(drill_addresses_push(&w->addresses, LAN_ADDRESS, &err), &err);
	assert_ok(drill_addresses_push(&w->neighbours, NEIGHBOUR, &err), &err);
	assert_ok(drill_addresses_push(&w->services, 22, &err), &err);
}

UNUSED static size_t claim_index(const char *id)
{
	const struct drill_claim *claim = drill_claim_find(id);

	if (!claim)
		fail_msg("no claim '%s'", id);
	return (size_t)(claim - drill_claims);
}

/* A plan of one claim, or of all when id is NULL. */
UNUSED static void plan_make(
	const struct drill_world *w, const char *id, bool in_one, struct drill_plan *plan)
{
	bool selected[256] = { false };
	struct error err = { 0 };

	for (size_t i = 0; i < drill_claim_count; i++)
		selected[i] = !id || i == claim_index(id);
	assert_ok(drill_plan_make(w, selected, in_one, plan, &err), &err);
}

/* A sight as the watcher at this place prints it. */
UNUSED static void see(const struct drill_world *w, struct drill_plan *plan, size_t item,
	enum drill_place place, const char *iface, const char *direction, const char *source,
	const char *dest)
{
	char line[256], token[32];

	(void)snprintf(line, sizeof(line),
		"seen %s %s 0800 02:00:00:00:00:01 02:00:00:00:00:02 %s %s %s", iface, direction,
		source, dest, drill_token(w, item, token));
	assert_true(drill_take_sight(w, plan, place, line));
}

/* What a probe prints when the claim holds, and what is seen then. */
UNUSED static void go_well(const struct drill_world *w, struct drill_plan *plan, size_t i)
{
	struct drill_item *item = &plan->items.items[i];
	const struct drill_probe *probe = drill_item_probe(item);
	bool sends = str_starts(item->line, "send ") || str_starts(item->line, "stranger ");
	static const char *const own[] = { "bxtaaaaaaaa", "bxtbbbbbbbb", "lo" };

	switch (probe->want) {
	case WANT_SILENCE:
	case WANT_CLOSED:
	case WANT_HIDDEN:
		drill_take_line(w, item, sends ? "sent 60" : "silent");
		break;
	case WANT_OPEN:
		drill_take_line(w, item, "open");
		break;
	case WANT_REFUSED:
		drill_take_line(w, item, "refused");
		break;
	case WANT_NAME:
		drill_take_line(w, item, "open NOERROR 203.0.113.80");
		break;
	case WANT_ECHO:
		drill_take_line(w, item, sends ? "sent 60" : "open NXDOMAIN x");
		if (probe->from == DRILL_HOST) {
			char line[128], token[32];

			(void)snprintf(line, sizeof(line), "seen local udp 127.0.0.1 %s",
				drill_token(w, i, token));
			assert_true(drill_take_sight(w, plan, DRILL_HOST, line));
		} else {
			see(w, plan, i, probe->from, "eth0", "in", "10.88.0.1", "10.88.0.2");
		}
		break;
	case WANT_NO_NAME:
	case WANT_PINNED:
		drill_take_line(w, item, "open NXDOMAIN");
		break;
	case WANT_CLEAN:
		drill_take_line(w, item, "selftest ok");
		drill_take_line(w, item, "scanned 12");
		break;
	case WANT_CHECK:
		item->answer = ANSWER_YES;
		break;
	}
	if (item->token && probe->from != DRILL_HOST)
		see(w, plan, i, DRILL_HOST, own[probe->from], "in", "10.88.0.2", "203.0.113.53");
	if (probe->want == WANT_HIDDEN || probe->want == WANT_PINNED)
		see(w, plan, i, DRILL_HOST, "wan0", "out", "203.0.113.2", "203.0.113.53");
}

/* Counters moved by what each claim's packets make. */
UNUSED static void count_well(const struct drill_plan *plan, struct drill_scene *scene)
{
	struct error err = { 0 };

	for (size_t i = 0; i < plan->items.len; i++) {
		const struct drill_item *item = &plan->items.items[i];
		const struct drill_claim *claim = &drill_claims[item->index];
		struct drill_count count = { .round = item->round };

		if (item->control || !claim->counters[0])
			continue;
		count.packets = drill_item_probe(item)->counted;
		(void)snprintf(count.name, sizeof(count.name), "%s", claim->counters[0]);
		assert_ok(drill_counts_push(&scene->counts, count, &err), &err);
	}
	scene->counters = scene->wire = scene->stack = true;
}

UNUSED static void all_well(const struct drill_world *w, struct drill_plan *plan)
{
	for (size_t i = 0; i < plan->items.len; i++)
		go_well(w, plan, i);
}

#endif

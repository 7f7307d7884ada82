/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory. Round 0 has the controls. Then claims are taken in order of phase and put into the first
 * round of their phase in which nobody else moves one of their counters; a claim without counters fits
 * anywhere. So the number of rounds of a phase is that of the most used counter, and no round can
 * count one claim's packet for another.
 */
#include "vmm/drill-plan.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"

enum { ROUNDS_MAX = 64 };

void drill_world_done(struct drill_world *world)
{
	drill_addresses_done(&world->addresses);
	drill_addresses_done(&world->neighbours);
	drill_addresses_done(&world->services);
}

void drill_plan_done(struct drill_plan *plan)
{
	drill_items_done(&plan->items);
	free(plan->selected);
	free(plan->round);
	plan->selected = NULL;
	plan->round = NULL;
}

const struct drill_probe *drill_item_probe(const struct drill_item *item)
{
	return item->control ? &drill_controls[item->index].probes[item->row]
			     : &drill_claims[item->index].probes[item->row];
}

enum drill_phase drill_plan_phase(const struct drill_plan *plan, unsigned round)
{
	vec_foreach(const struct drill_item, item, &plan->items) {
		if (item->round == round)
			return item->control ? PHASE_MAIN : drill_claims[item->index].phase;
	}
	return DRILL_PHASES;
}

unsigned drill_plan_round(const struct drill_plan *plan, size_t claim)
{
	return plan->round[claim];
}

const char *drill_token(const struct drill_world *world, size_t item, char buf[32])
{
	(void)snprintf(buf, 32, "%s%04zx", world->prefix, (item + 1) & 0xffff);
	return buf;
}

size_t drill_token_item(
	const struct drill_world *world, const struct drill_plan *plan, const char *token)
{
	size_t head = strlen(world->prefix);
	unsigned long number;

	if (strncmp(token, world->prefix, head) != 0 || strlen(token) != head + 4 ||
		strspn(token + head, "0123456789abcdef") != 4)
		return plan->items.len;
	number = strtoul(token + head, NULL, 16);
	return !number || number > plan->items.len ? plan->items.len : number - 1;
}

/* What {x} and {p} stand for in one repeat of a line. */
struct repeat {
	uint32_t address;
	uint16_t port;
};

static void put_ipv4(struct str *into, uint32_t addr)
{
	char buf[16];

	str_append(into, net_format_ipv4(addr, buf));
}

static void put_reverse(struct str *into, uint32_t addr)
{
	str_printf(into, "%u.%u.%u.%u", addr & 255, addr >> 8 & 255, addr >> 16 & 255, addr >> 24);
}

static uint32_t broadcast_of(const struct drill_world *w)
{
	return net_broadcast(&w->net);
}

/* One {name}; false when there is no such variable. */
static bool put_variable(const struct drill_world *w, const struct repeat *r, size_t item,
	const char *name, struct str *into)
{
	const struct drill_box *a = &w->box[DRILL_A], *b = &w->box[DRILL_B];
	const struct {
		const char *name, *text;
	} texts[] = { { "a_mac", a->mac }, { "b_mac", b->mac }, { "a_if", a->iface },
		{ "b_name", b->name }, { "gw_mac", w->gateway_mac }, { "bridge", w->bridge },
		{ "name", "example.com" } };
	const struct {
		const char *name;
		uint32_t addr;
	} addresses[] = { { "a_ip", a->ip }, { "b_ip", b->ip }, { "gw", net_gateway(&w->net) },
		{ "broadcast", broadcast_of(w) }, { "dns", w->net.dns[0] }, { "x", r->address } };
	const struct {
		const char *name;
		unsigned number;
	} numbers[] = { { "ms", w->silence_ms }, { "long", w->answer_ms },
		{ "host_port", w->host_port }, { "box_port", w->box_port },
		{ "other_port", w->other_port }, { "door", w->door }, { "no_door", w->no_door },
		{ "p", r->port }, { "sport", (uint16_t)(w->sport + item) } };
	char token[32];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (str_equal(texts[i].name, name))
			return str_append(into, texts[i].text), true;
	}
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		if (str_equal(addresses[i].name, name))
			return put_ipv4(into, addresses[i].addr), true;
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (str_equal(numbers[i].name, name))
			return str_printf(into, "%u", numbers[i].number), true;
	}
	if (str_equal(name, "t"))
		str_append(into, drill_token(w, item, token));
	else if (str_equal(name, "b_reverse"))
		put_reverse(into, b->ip);
	else if (str_equal(name, "gw_reverse"))
		put_reverse(into, net_gateway(&w->net));
	else
		return false;
	return true;
}

/* Fill the item's line from the template. */
static int expand(const struct drill_world *w, const struct repeat *r, size_t number,
	const char *template, struct drill_item *item, struct error *err)
{
	_cleanup_str_ struct str line = STR_INIT;

	for (const char *p = template; *p;) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;
		char name[24];

		if (!end) {
			str_append_char(&line, *p++);
			continue;
		}
		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - p - 1), p + 1);
		if (!put_variable(w, r, number, name, &line))
			return error_set(err, ERROR_INVALID, "drill: no variable '%s' for '%s'",
				name, template);
		item->token = item->token || str_equal(name, "t");
		p = end + 1;
	}
	if (str_ok(&line, err) < 0)
		return -1;
	if (line.len >= sizeof(item->line))
		return error_set(err, ERROR_INVALID, "drill: the line '%s' is too long", template);
	memcpy(item->line, str_get(&line), line.len + 1);
	return 0;
}

/* One probe line in one repeat becomes an item like model. */
static int add_item(const struct drill_world *w, const struct repeat *r,
	const struct drill_item *model, struct drill_plan *plan, struct error *err)
{
	struct drill_item item = *model;

	if (plan->items.len >= 4000)
		return error_set(err, ERROR_INVALID, "drill: too many probes");
	if (expand(w, r, plan->items.len, drill_item_probe(model)->line, &item, err) < 0)
		return -1;
	return drill_items_push(&plan->items, item, err);
}

/* A repeat whose addresses only the host itself knows. */
static int add_unseen(const struct drill_item *model, struct drill_plan *plan, struct error *err)
{
	struct drill_item item = *model;

	item.answer = ANSWER_UNSEEN;
	(void)snprintf(item.text, sizeof(item.text), "the host's own addresses are not known here");
	(void)snprintf(item.line, sizeof(item.line), "%s", drill_item_probe(model)->line);
	return drill_items_push(&plan->items, item, err);
}

static bool contains(const struct drill_addresses *list, uint32_t value)
{
	vec_foreach(const uint32_t, item, list) {
		if (*item == value)
			return true;
	}
	return false;
}

/* Packets to these go another way than the claim is about: to the host itself, to the boxes' subnet. */
static bool is_target(const struct drill_world *w, uint32_t addr)
{
	return !contains(&w->addresses, addr) && addr != net_gateway(&w->net) &&
	       ((addr & net_mask(w->net.prefix)) != w->net.subnet ||
		       addr == net_broadcast(&w->net));
}

static int target_address(
	const struct drill_world *w, const char *word, uint32_t *ret, struct error *err)
{
	if (str_equal(word, "{broadcast}")) {
		*ret = broadcast_of(w);
		return 0;
	}
	return parse_ipv4(word, "target", ret, err);
}

enum { NEIGHBOURS_MAX = 2 };

/* The claim's own targets, then real neighbours of the host, who would answer. */
static int add_targets(const struct drill_world *w, const struct drill_claim *claim,
	const struct drill_item *model, struct drill_plan *plan, struct error *err)
{
	_cleanup_free_ char *targets = str_dup(claim->targets, err);
	struct repeat r = { 0, 0 };
	uint32_t range = 0;
	unsigned prefix = 0, count = 0;
	char *save = NULL;

	if (!targets)
		return -1;
	for (char *word = strtok_r(targets, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (target_address(w, word, &r.address, err) < 0)
			return -1;
		if (is_target(w, r.address) && add_item(w, &r, model, plan, err) < 0)
			return -1;
	}
	if (!claim->range || parse_cidr(claim->range, "range", &range, &prefix, err) < 0)
		return claim->range ? -1 : 0;
	vec_foreach(const uint32_t, addr, &w->neighbours) {
		r.address = *addr;
		if ((*addr & net_mask(prefix)) == range && is_target(w, *addr) &&
			count++ < NEIGHBOURS_MAX && add_item(w, &r, model, plan, err) < 0)
			return -1;
	}
	return 0;
}

static int add_host_addresses(const struct drill_world *w, const struct drill_item *model,
	struct drill_plan *plan, struct error *err)
{
	if (!w->host)
		return add_unseen(model, plan, err);
	vec_foreach(const uint32_t, addr, &w->addresses) {
		if (add_item(w, &(struct repeat){ *addr, 0 }, model, plan, err) < 0)
			return -1;
	}
	return 0;
}

static int add_services(const struct drill_world *w, const struct drill_item *model,
	struct drill_plan *plan, struct error *err)
{
	if (!w->host)
		return add_unseen(model, plan, err);
	vec_foreach(const uint32_t, port, &w->services) {
		struct repeat r = { net_gateway(&w->net), (uint16_t)*port };

		if (add_item(w, &r, model, plan, err) < 0)
			return -1;
		if (!w->addresses.len)
			continue;
		r.address = w->addresses.items[0];
		if (add_item(w, &r, model, plan, err) < 0)
			return -1;
	}
	return 0;
}

static int add_resolvers(const struct drill_world *w, const struct drill_item *model,
	struct drill_plan *plan, struct error *err)
{
	for (size_t i = 0; i < w->net.n_dns; i++) {
		if (add_item(w, &(struct repeat){ w->net.dns[i], 0 }, model, plan, err) < 0)
			return -1;
	}
	return 0;
}

static int add_probe(const struct drill_world *w, const struct drill_item *model,
	struct drill_plan *plan, struct error *err)
{
	switch (drill_item_probe(model)->each) {
	case EACH_TARGET:
		return add_targets(w, &drill_claims[model->index], model, plan, err);
	case EACH_HOST_ADDRESS:
		return add_host_addresses(w, model, plan, err);
	case EACH_HOST_SERVICE:
		return add_services(w, model, plan, err);
	case EACH_RESOLVER:
		return add_resolvers(w, model, plan, err);
	case EACH_ONCE:
		break;
	}
	return add_item(w, &(struct repeat){ 0, 0 }, model, plan, err);
}

static int add_controls(const struct drill_world *w, struct drill_plan *plan, struct error *err)
{
	for (size_t i = 0; i < DRILL_CONTROLS; i++) {
		const struct drill_control_row *row = &drill_controls[i];
		struct drill_item model = { .control = true, .index = i };
		size_t n = drill_probe_count(row->probes, ARRAY_LEN(row->probes));

		for (model.row = 0; plan->controls[i] && model.row < n; model.row++) {
			if (add_probe(w, &model, plan, err) < 0)
				return -1;
		}
	}
	return 0;
}

static bool share_counter(const struct drill_claim *a, const struct drill_claim *b)
{
	for (size_t i = 0; i < DRILL_COUNTERS_MAX && a->counters[i]; i++) {
		for (size_t j = 0; j < DRILL_COUNTERS_MAX && b->counters[j]; j++) {
			if (str_equal(a->counters[i], b->counters[j]))
				return true;
		}
	}
	return false;
}

/* The first round from first on in which no earlier claim of this phase moves a counter of claim i. */
static unsigned free_round(const bool *selected, const unsigned *rounds, size_t i, unsigned first)
{
	for (unsigned round = first;; round++) {
		bool taken = false;

		for (size_t j = 0; j < i; j++)
			taken = taken || (selected[j] && rounds[j] == round &&
						 drill_claims[j].phase == drill_claims[i].phase &&
						 share_counter(&drill_claims[i], &drill_claims[j]));
		if (!taken)
			return round;
	}
}

static void choose_rounds(struct drill_plan *plan, bool in_one)
{
	unsigned *rounds = plan->round;
	unsigned first = 1, last = 0;

	for (int phase = 0; phase < DRILL_PHASES; phase++) {
		for (size_t i = 0; i < drill_claim_count; i++) {
			if (!plan->selected[i] || (int)drill_claims[i].phase != phase)
				continue;
			rounds[i] = in_one ? first : free_round(plan->selected, rounds, i, first);
			last = MAX(last, rounds[i]);
		}
		first = last + 1;
	}
	plan->rounds = last + 1;
}

static int add_claims(const struct drill_world *w, struct drill_plan *plan, struct error *err)
{
	for (unsigned round = 1; round < plan->rounds; round++) {
		for (size_t i = 0; i < drill_claim_count; i++) {
			const struct drill_claim *claim = &drill_claims[i];
			struct drill_item model = { .index = i, .round = round };
			size_t n = drill_probe_count(claim->probes, DRILL_PROBES_MAX);

			if (!plan->selected[i] || plan->round[i] != round)
				continue;
			for (model.row = 0; model.row < n; model.row++) {
				if (add_probe(w, &model, plan, err) < 0)
					return -1;
			}
		}
	}
	return 0;
}

int drill_plan_make(const struct drill_world *world, const bool *selected, bool in_one,
	struct drill_plan *ret, struct error *err)
{
	_cleanup_(drill_plan_done) struct drill_plan plan = { .items = VEC_INIT };

	plan.selected = calloc(drill_claim_count, sizeof(*plan.selected));
	plan.round = calloc(drill_claim_count, sizeof(*plan.round));
	if (!plan.round || !plan.selected)
		return error_oom(err);
	memcpy(plan.selected, selected, drill_claim_count * sizeof(*selected));
	for (size_t i = 0; i < drill_claim_count; i++) {
		for (unsigned c = 0; c < DRILL_CONTROLS; c++)
			plan.controls[c] = plan.controls[c] ||
					   (selected[i] && drill_claims[i].controls & 1u << c);
	}
	plan.controls[CONTROL_HOST_SEES] = world->host;
	choose_rounds(&plan, in_one);
	if (add_controls(world, &plan, err) < 0 || add_claims(world, &plan, err) < 0)
		return -1;
	*ret = plan;
	plan = (struct drill_plan){ .items = VEC_INIT };
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/drill/bench.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "vmm/virt.h"

/* ---- lines ---- */

static bool put_variable(const struct drill_world *w, const char *name, struct str *into)
{
	const struct drill_box *a = &w->box[DRILL_A], *b = &w->box[DRILL_B];
	const struct {
		const char *name, *text;
	} texts[] = { { "a_tap", a->tap }, { "b_tap", b->tap }, { "a_mac", a->mac },
		{ "b_mac", b->mac }, { "a_if", a->iface }, { "a_name", a->name },
		{ "b_name", b->name }, { "bridge", w->bridge }, { "tests", TESTS_DRILL } };
	const struct {
		const char *name;
		uint32_t addr;
	} addresses[] = { { "a_ip", a->ip }, { "b_ip", b->ip }, { "gw", net_gateway(&w->net) },
		{ "dns", w->net.dns[0] } };
	char buf[16];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (str_equal(texts[i].name, name))
			return str_append(into, texts[i].text), true;
	}
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		if (str_equal(addresses[i].name, name))
			return str_append(into, net_format_ipv4(addresses[i].addr, buf)), true;
	}
	if (str_equal(name, "door") || str_equal(name, "box_port"))
		return str_printf(into, "%u", name[0] == 'd' ? w->door : w->box_port), true;
	return false;
}

/* The line with its {variables} filled in; braces of nft stand between blanks. Given. */
static char *fill(const struct drill_world *w, const char *line, struct error *err)
{
	_cleanup_str_ struct str out = STR_INIT;

	for (const char *p = line; *p;) {
		const char *end = p[0] == '{' && p[1] != ' ' ? strchr(p, '}') : NULL;
		char name[24];

		if (!end) {
			str_append_char(&out, *p++);
			continue;
		}
		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - p - 1), p + 1);
		if (!put_variable(w, name, &out)) {
			error_set(err, ERROR_INVALID, "no variable '%s'", name);
			return NULL;
		}
		p = end + 1;
	}
	return str_take(&out, err);
}

static int run_lines(struct bench *b, const char *const *lines,
	int (*run)(void *ctx, const char *line, struct error *err), struct error *err)
{
	for (size_t i = 0; i < MUTATION_LINES && lines[i]; i++) {
		_cleanup_free_ char *line = fill(b->world, lines[i], err);

		if (!line || run(b->ops.ctx, line, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- making and mending ---- */

static bool listed(const char *const *names, const char *name)
{
	for (size_t i = 0; i < MUTATION_LINES && names[i]; i++) {
		if (str_equal(names[i], name))
			return true;
	}
	return false;
}

/* The rules without those that the mutation takes out. */
static int load_without(struct bench *b, const struct mutation *m, struct error *err)
{
	struct ruleset rules = *b->rules;
	size_t removed = 0;

	for (size_t i = 0; i < rules.n_chains; i++) {
		struct chain *chain = &rules.chains[i];
		size_t kept = 0;

		for (size_t k = 0; k < chain->n_rules; k++) {
			if (str_equal(chain->name, m->no_chain) ||
				(chain->rules[k]->counter &&
					listed(m->without, chain->rules[k]->counter)))
				removed++;
			else
				chain->rules[kept++] = chain->rules[k];
		}
		chain->n_rules = kept;
	}
	if (!removed)
		return error_set(err, ERROR_INVALID, "no such rule");
	return b->load(b->ops.ctx, &rules, err);
}

static int make(struct bench *b, const struct mutation *m, struct error *err)
{
	_cleanup_free_ char *names = NULL;

	b->program = m->program;
	if ((m->without[0] || m->no_chain) && load_without(b, m, err) < 0)
		return -1;
	if (m->names) {
		names = fill(b->world, m->names, err);
		if (!names ||
			b->names(b->ops.ctx, str_equal(names, "dead") ? NULL : names, err) < 0)
			return -1;
	}
	if (run_lines(b, m->host, b->on_host, err) < 0 ||
		run_lines(b, m->box, b->in_box, err) < 0 ||
		run_lines(b, m->peer, b->in_peer, err) < 0)
		return -1;
	return 0;
}

static int mend(struct bench *b, const struct mutation *m, struct error *err)
{
	if (run_lines(b, m->mend_host, b->on_host, err) < 0 ||
		run_lines(b, m->mend_box, b->in_box, err) < 0 ||
		run_lines(b, m->mend_peer, b->in_peer, err) < 0 ||
		(m->names && b->names(b->ops.ctx, "", err) < 0))
		return -1;
	return b->mend(b->ops.ctx, err);
}

/* ---- what the drill says ---- */

static bool word_in(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p && (p = strstr(p, word)); p += len) {
		if ((p == list || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
			return true;
	}
	return false;
}

static bool is_as_wanted(const struct mutation *m, const char *id, enum drill_verdict verdict)
{
	bool broken = word_in(m->broken, id), unknown = word_in(m->unknown, id);

	if (word_in(m->either, id))
		return true;
	if (broken || unknown)
		return verdict == (broken ? DRILL_BROKEN : DRILL_UNKNOWN);
	return verdict == DRILL_HOLDS || (verdict == DRILL_UNKNOWN && word_in(m->unknown, "*"));
}

static bool is_drilled(const struct bench *b, const char *id)
{
	if (!b->claims)
		return true;
	for (size_t i = 0; b->claims[i]; i++) {
		if (str_equal(b->claims[i], id))
			return true;
	}
	return false;
}

static int compare(const struct bench *b, const struct mutation *m, const struct drill_run *run)
{
	int wrong = 0;

	(void)b;
	for (size_t i = 0; i < drill_claim_count; i++) {
		const struct drill_result *r = &run->results[i];

		if (!run->selected[i] || is_as_wanted(m, drill_claims[i].id, r->verdict))
			continue;
		if (!wrong++)
			printf("WRONG %s\n", m->name);
		printf("      %s is %s: %s\n", drill_claims[i].id, drill_verdict_name(r->verdict),
			r->reason);
	}
	return wrong;
}

static int drill(struct bench *b, const struct mutation *m, struct error *err)
{
	static const char *const nowhere[] = { "/no/such/box-probe", NULL };
	_cleanup_free_ bool *selected = calloc(drill_claim_count, sizeof(*selected));
	_cleanup_(drill_run_done) struct drill_run run = { .plan.items = VEC_INIT };
	uint64_t begun = clock_ms();
	int wrong;

	if (!selected)
		return error_oom(err);
	for (size_t i = 0; i < drill_claim_count; i++)
		selected[i] = is_drilled(b, drill_claims[i].id);
	run.world = b->world;
	run.selected = selected;
	run.in_one = true;
	memcpy(run.argv, b->argv, sizeof(run.argv));
	if (m->no_tool)
		run.argv[DRILL_A] = nowhere;
	run.ops = b->ops;
	run.interrupt_fd = -1;
	b->run = &run;
	if (drill_run(&run, err) < 0)
		return -1;
	wrong = compare(b, m, &run);
	if (!wrong)
		printf("ok    %s (%ju ms, %zu probes)\n", m->name, (uintmax_t)(clock_ms() - begun),
			run.plan.items.len);
	fflush(stdout);
	return wrong != 0;
}

const struct drill_facts *bench_facts(const struct bench *b)
{
	return &b->run->facts[DRILL_A];
}

static int mutate(struct bench *b, const struct mutation *m, struct error *err)
{
	int wrong;

	if (make(b, m, err) < 0)
		return error_wrap(err, "mutation '%s'", m->name);
	wrong = drill(b, m, err);
	if (wrong < 0)
		return error_wrap(err, "drill under '%s'", m->name);
	if (mend(b, m, err) < 0)
		return error_wrap(err, "mending '%s'", m->name);
	return wrong;
}

static bool is_wanted(const struct mutation *m, const char *const *words)
{
	if (!words || !words[0])
		return true;
	for (; *words; words++) {
		if (strstr(m->name, *words))
			return true;
	}
	return false;
}

int bench_run(struct bench *b, const char *const *words, struct error *err)
{
	int wrong = 0;

	for (size_t i = 0; i < mutation_count; i++) {
		const struct mutation *m = &mutations[i];
		int one;

		if ((m->where != MUTATION_BOTH && m->where != b->kind) || !is_wanted(m, words))
			continue;
		one = mutate(b, m, err);
		if (one < 0)
			return -1;
		wrong += one;
	}
	return wrong;
}

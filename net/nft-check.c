/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both sides are brought into one spelling (nft-read.h) and compared as text: chains and sets by name,
 * rules in order within their chain, elements as sorted bytes. The sentences are made for people: our
 * own rules are told by what they stop, strangers' by how the kernel writes them.
 */
#include "net/nft-check.h"

#include <string.h>

#include "base/str.h"
#include "net/nft-read.h"

enum { GENERATION_RETRIES = 5 };

struct check {
	struct nl *nl;
	const struct ruleset *rs;
	const struct net_port *ports;
	size_t n_ports;
	struct nft_differences *differences;
};

void nft_differences_free(struct nft_differences *d)
{
	vec_foreach(char *, text, d)
		free(*text);
	nft_differences_done(d);
}

static int tell(struct check *c, struct error *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int tell(struct check *c, struct error *err, const char *fmt, ...)
{
	_cleanup_str_ struct str s = STR_INIT;
	_cleanup_free_ char *text = NULL;
	va_list ap;

	if (c->differences->len > NFT_DIFFERENCES_MAX)
		return 0;
	va_start(ap, fmt);
	if (c->differences->len == NFT_DIFFERENCES_MAX)
		str_append(&s, "and more");
	else
		str_vprintf(&s, fmt, ap);
	va_end(ap);
	text = str_take(&s, err);
	if (!text || nft_differences_push(c->differences, text, err) < 0)
		return -1;
	text = NULL; /* now the list's */
	return 0;
}

static const struct nft_row *row_find(const struct nft_rows *rows, const char *name)
{
	vec_foreach(const struct nft_row, row, rows) {
		if (str_equal(row->name, name))
			return row;
	}
	return NULL;
}

/* Chains or sets of ours: there, and as we made them. */
static int compare_named(struct check *c, enum rules_family family, const char *kind,
	const struct nft_rows *have, const struct nft_row *want, struct error *err)
{
	const struct nft_row *row = row_find(have, want->name);

	if (!row)
		return tell(c, err, "%s %s: %s %s is missing", rules_family_name(family),
			RULES_TABLE, kind, want->name);
	if (!str_equal(row->text, want->text))
		return tell(c, err, "%s %s: %s %s was changed", rules_family_name(family),
			RULES_TABLE, kind, want->name);
	return 0;
}

/* Which of the kernel's rules of this chain are accounted for, and our rules' texts. */
struct chain_rules {
	const struct chain *chain;
	char *want[RULES_CHAIN_MAX]; /* owned */
	size_t at[RULES_CHAIN_MAX]; /* position of each among the kernel's; SIZE_MAX: missing */
};

static void chain_rules_done(struct chain_rules *cr)
{
	for (size_t i = 0; i < RULES_CHAIN_MAX; i++)
		free(cr->want[i]);
}

static int chain_rules_init(struct chain_rules *cr, const struct ruleset *rs,
	const struct chain *chain, struct error *err)
{
	cr->chain = chain;
	for (size_t i = 0; i < chain->n_rules; i++) {
		_cleanup_(nftnl_rule_free_p) struct nftnl_rule *rule = nft_rule_new(
			rs, chain, chain->rules[i], err);

		if (!rule)
			return -1;
		cr->want[i] = nft_rule_text(rule, err);
		if (!cr->want[i])
			return -1;
		cr->at[i] = SIZE_MAX;
	}
	return 0;
}

/* The first of our rules with this text that is not accounted for yet; -1: a stranger. */
static int chain_rules_take(struct chain_rules *cr, const char *text, size_t at)
{
	for (size_t i = 0; i < cr->chain->n_rules; i++) {
		if (cr->at[i] == SIZE_MAX && str_equal(cr->want[i], text)) {
			cr->at[i] = at;
			return 0;
		}
	}
	return -1;
}

static int tell_rules(struct check *c, const struct chain_rules *cr, struct error *err)
{
	const struct chain *chain = cr->chain;
	const char *family = rules_family_name(chain->family);
	size_t last = 0;
	bool moved = false;

	for (size_t i = 0; i < chain->n_rules; i++) {
		if (cr->at[i] == SIZE_MAX) {
			if (tell(c, err, "%s %s, chain %s: rule %zu is missing (%s: %s)", family,
				    RULES_TABLE, chain->name, i + 1,
				    chain->rules[i]->verdict == RULES_DROP ? "stops" : "lets pass",
				    chain->rules[i]->says) < 0)
				return -1;
			continue;
		}
		moved = moved || cr->at[i] < last;
		last = cr->at[i];
	}
	if (moved)
		return tell(c, err, "%s %s, chain %s: its rules are in another order", family,
			RULES_TABLE, chain->name);
	return 0;
}

static int compare_rules(
	struct check *c, const struct chain *chain, const struct nft_rows *have, struct error *err)
{
	_cleanup_(chain_rules_done) struct chain_rules cr = { 0 };
	size_t at = 0;

	if (chain_rules_init(&cr, c->rs, chain, err) < 0)
		return -1;
	vec_foreach(const struct nft_row, row, have) {
		if (!str_equal(row->name, chain->name))
			continue;
		at++;
		if (chain_rules_take(&cr, row->text, at) < 0 &&
			tell(c, err, "%s %s, chain %s: rule %zu is not ours: %s",
				rules_family_name(chain->family), RULES_TABLE, chain->name, at,
				row->text) < 0)
			return -1;
	}
	return tell_rules(c, &cr, err);
}

static int compare_chain(struct check *c, const struct nft_state *state, const struct chain *chain,
	struct error *err)
{
	_cleanup_(nftnl_chain_free_p) struct nftnl_chain *nc = nft_chain_new(chain, err);
	_cleanup_free_ char *text = nc ? nft_chain_text(nc, err) : NULL;
	struct nft_row want = { .text = text };

	if (!text)
		return -1;
	strncpy(want.name, chain->name, sizeof(want.name) - 1);
	if (compare_named(c, chain->family, "chain", &state->chains, &want, err) < 0)
		return -1;
	return row_find(&state->chains, chain->name) ? compare_rules(c, chain, &state->rules, err)
						     : 0;
}

static int element_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct element));
}

static int expected_elements(
	struct check *c, const struct set_def *set, struct nft_elements *want, struct error *err)
{
	for (size_t i = 0; i < c->n_ports; i++) {
		size_t n = rules_element_count(set, &c->ports[i]);

		for (size_t j = 0; j < n; j++) {
			struct element e;

			rules_element(set, &c->ports[i], j, &e);
			if (nft_elements_push(want, e, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int tell_element(struct check *c, const struct set_def *set, const struct element *e,
	const char *how, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	rules_print_element_bytes(set, e, &text);
	return tell(c, err, "%s %s, %s %s: the entry %s %s", rules_family_name(set->family),
		RULES_TABLE, set->data[0] ? "map" : "set", set->name, str_get(&text), how);
}

static int merge_elements(struct check *c, const struct set_def *set,
	const struct nft_elements *want, const struct nft_elements *have, struct error *err)
{
	size_t i = 0, j = 0;

	while (i < want->len || j < have->len) {
		int order = i == want->len   ? 1
			    : j == have->len ? -1
					     : element_order(&want->items[i], &have->items[j]);

		if (order < 0 && tell_element(c, set, &want->items[i], "is missing", err) < 0)
			return -1;
		if (order > 0 &&
			tell_element(c, set, &have->items[j], "belongs to no running box", err) < 0)
			return -1;
		i += order <= 0;
		j += order >= 0;
	}
	return 0;
}

static int compare_elements(struct check *c, const struct set_def *set, struct error *err)
{
	_cleanup_(nft_elements_done) struct nft_elements want = VEC_INIT, have = VEC_INIT;

	if (expected_elements(c, set, &want, err) < 0 ||
		nft_read_elements(c->nl, set, &have, err) < 0)
		return -1;
	if (want.len > 0)
		qsort(want.items, want.len, sizeof(*want.items), element_order);
	if (have.len > 0)
		qsort(have.items, have.len, sizeof(*have.items), element_order);
	return merge_elements(c, set, &want, &have, err);
}

static int compare_set(struct check *c, const struct nft_state *state, const struct set_def *set,
	struct error *err)
{
	_cleanup_(nftnl_set_free_p) struct nftnl_set *ns = nft_set_new(set, 0, err);
	_cleanup_free_ char *text = ns ? nft_set_text(ns, err) : NULL;
	struct nft_row want = { .text = text };
	const struct nft_row *row = row_find(&state->sets, set->name);

	if (!text)
		return -1;
	strncpy(want.name, set->name, sizeof(want.name) - 1);
	if (compare_named(c, set->family, "set", &state->sets, &want, err) < 0)
		return -1;
	/* Elements of another shape cannot be compared. */
	return row && str_equal(row->text, text) ? compare_elements(c, set, err) : 0;
}

static bool is_chain(const struct check *c, enum rules_family family, const char *name)
{
	for (size_t i = 0; i < c->rs->n_chains; i++) {
		if (c->rs->chains[i].family == family && str_equal(c->rs->chains[i].name, name))
			return true;
	}
	return false;
}

static bool is_set(enum rules_family family, const char *name)
{
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (rules_sets[i].family == family && str_equal(rules_sets[i].name, name))
			return true;
	}
	return false;
}

static int tell_strangers(
	struct check *c, enum rules_family family, const struct nft_state *state, struct error *err)
{
	vec_foreach(const struct nft_row, row, &state->chains) {
		if (!is_chain(c, family, row->name) &&
			tell(c, err, "%s %s: chain %s is not ours", rules_family_name(family),
				RULES_TABLE, row->name) < 0)
			return -1;
	}
	vec_foreach(const struct nft_row, row, &state->sets) {
		if (!is_set(family, row->name) &&
			tell(c, err, "%s %s: set %s is not ours", rules_family_name(family),
				RULES_TABLE, row->name) < 0)
			return -1;
	}
	return 0;
}

static int check_family(struct check *c, enum rules_family family, struct error *err)
{
	_cleanup_nft_state_ struct nft_state state = { 0 };

	if (nft_read(c->nl, family, &state, err) < 0)
		return -1;
	if (!state.present)
		return tell(c, err, "table %s %s is missing or asleep", rules_family_name(family),
			RULES_TABLE);
	for (size_t i = 0; i < c->rs->n_chains; i++) {
		if (c->rs->chains[i].family == family &&
			compare_chain(c, &state, &c->rs->chains[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (rules_sets[i].family == family &&
			compare_set(c, &state, &rules_sets[i], err) < 0)
			return -1;
	}
	return tell_strangers(c, family, &state, err);
}

static int check_once(struct check *c, struct error *err)
{
	for (int f = 0; f < RULES_FAMILIES; f++) {
		if (check_family(c, (enum rules_family)f, err) < 0)
			return -1;
	}
	return 0;
}

int nft_check(struct nl *nl, const struct ruleset *rs, const struct net_port *ports, size_t n_ports,
	struct nft_differences *ret, struct error *err)
{
	for (int i = 0; i < GENERATION_RETRIES; i++) {
		_cleanup_nft_differences_ struct nft_differences found = VEC_INIT;
		struct check c = { nl, rs, ports, n_ports, &found };
		uint32_t before = 0, after = 0;
		struct error failed = { 0 };
		int checked;

		if (nft_generation(nl, &before, err) < 0)
			return -1;
		checked = check_once(&c, &failed);
		if (nft_generation(nl, &after, err) < 0)
			return -1;
		if (before != after)
			continue; /* somebody changed rules meanwhile: what was read is half and half */
		if (checked < 0) {
			*err = failed;
			return -1;
		}
		vec_foreach(char *, text, &found) {
			if (nft_differences_push(ret, *text, err) < 0)
				return -1;
			*text = NULL;
		}
		return 0;
	}
	return error_set(err, ERROR_BUSY,
		"cannot compare the isolation rules: somebody keeps changing the packet filter");
}

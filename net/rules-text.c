/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules as nft text: for people, golden files, and as what the netlink batch is measured against. */
#include "net/rules-fields.h"
#include "net/rules.h"

enum { COUNTERS_MAX = 64 };

const char *rules_family_name(enum rules_family family)
{
	return family == RULES_BRIDGE ? "bridge" : "inet";
}

const char *rules_hook_name(enum rules_hook hook)
{
	static const char *const names[] = {
		[RULES_PREROUTING] = "prerouting",
		[RULES_INPUT] = "input",
		[RULES_FORWARD] = "forward",
		[RULES_OUTPUT] = "output",
		[RULES_POSTROUTING] = "postrouting",
	};

	return names[hook];
}

static void print_match(const struct ruleset *rs, const struct match *m, struct str *into)
{
	const struct field_row *row = &field_rows[m->fields[0]];
	const char *quote = row->type == TYPE_IFNAME ? "\"" : "";
	char buf[24];

	for (size_t i = 0; i < RULES_JOINED && m->fields[i]; i++) {
		str_append(into, i > 0 ? " . " : "");
		str_append(into, field_rows[m->fields[i]].text);
	}
	switch (m->op) {
	case OP_EQ:
	case OP_NE:
		str_printf(into, "%s %s%s%s", m->op == OP_NE ? " !=" : "", quote,
			rules_value(rs, m->value, buf), quote);
		break;
	case OP_IN:
	case OP_NOT_IN:
		str_printf(into, "%s @%s", m->op == OP_NOT_IN ? " !=" : "", m->value);
	}
}

void rules_print_rule(const struct ruleset *rs, const struct chain *chain, const struct rule *rule,
	struct str *into)
{
	static const char *const verdicts[] = {
		[RULES_ACCEPT] = "accept",
		[RULES_DROP] = "drop",
		[RULES_MASQUERADE] = "masquerade",
		[RULES_DNAT_DOOR] = "dnat ip to tcp dport map @doors",
	};
	struct match m[2 * RULES_MATCHES];
	size_t n = rules_expand(chain->family, rule, m);

	for (size_t i = 0; i < n; i++) {
		print_match(rs, &m[i], into);
		str_append_char(into, ' ');
	}
	if (rule->counter)
		str_printf(into, "counter name %s ", rule->counter);
	str_append(into, verdicts[rule->verdict]);
}

static void print_types(const enum part parts[RULES_JOINED], struct str *into)
{
	uint32_t type = rules_parts_type(parts);

	for (int shift = 12; shift >= 0; shift -= 6) {
		uint32_t one = type >> shift & 63;

		if (one)
			str_printf(into, "%s%s", type >> shift > one ? " . " : " ",
				field_type_name((enum field_type)one));
	}
}

static void print_set(
	const struct set_def *set, const struct net_port *ports, size_t n_ports, struct str *into)
{
	const char *sep = "\t\telements = { ";

	str_printf(into, "\t%s %s {\n\t\ttype", set->data[0] ? "map" : "set", set->name);
	if (set->type_of)
		str_printf(into, "of %s", set->type_of);
	else
		print_types(set->key, into);
	if (set->data[0]) {
		str_append(into, " :");
		print_types(set->data, into);
	}
	str_append(into, "\n");
	for (size_t i = 0; i < n_ports; i++) {
		for (size_t j = 0; j < rules_element_count(set, &ports[i]); j++) {
			str_append(into, sep);
			rules_print_element(set, &ports[i], j, into);
			sep = ",\n\t\t\t";
		}
	}
	str_append(into, sep[0] == ',' ? " }\n\t}\n" : "\t}\n");
}

static void print_chain(const struct ruleset *rs, const struct chain *chain, struct str *into)
{
	str_printf(into, "\tchain %s {\n\t\ttype %s hook %s priority %d; policy accept\n",
		chain->name, chain->nat ? "nat" : "filter", rules_hook_name(chain->hook),
		chain->priority);
	for (size_t i = 0; i < chain->n_rules; i++) {
		str_printf(into, "\t\t# %s\n\t\t", chain->rules[i]->says);
		rules_print_rule(rs, chain, chain->rules[i], into);
		str_append(into, "\n");
	}
	str_append(into, "\t}\n");
}

static void print_table(const struct ruleset *rs, enum rules_family family,
	const struct net_port *ports, size_t n_ports, struct str *into)
{
	const char *counters[COUNTERS_MAX];
	size_t n = rules_counters(rs, family, counters, COUNTERS_MAX);

	str_printf(into, "table %s %s {\n", rules_family_name(family), RULES_TABLE);
	for (size_t i = 0; i < n; i++)
		str_printf(into, "\tcounter %s {\n\t}\n", counters[i]);
	for (size_t i = 0; i < n_rules_sets; i++) {
		if (rules_sets[i].family == family)
			print_set(&rules_sets[i], ports, n_ports, into);
	}
	for (size_t i = 0; i < rs->n_chains; i++) {
		if (rs->chains[i].family == family)
			print_chain(rs, &rs->chains[i], into);
	}
	str_append(into, "}\n");
}

void rules_print(
	const struct ruleset *rs, const struct net_port *ports, size_t n_ports, struct str *into)
{
	for (int f = 0; f < RULES_FAMILIES; f++) {
		const char *family = rules_family_name((enum rules_family)f);

		/* "add" first, so that "delete" cannot fail when there is no table yet. */
		str_printf(into, "add table %s %s\ndelete table %s %s\n", family, RULES_TABLE,
			family, RULES_TABLE);
		print_table(rs, (enum rules_family)f, ports, n_ports, into);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deliberate breaks of a live isolation stack, and what the drill has to say of each. A claim that no
 * mutation here turns broken has not been shown to be able to fail, and does not count.
 */
#ifndef TESTS_DRILL_MUTATIONS_H
#define TESTS_DRILL_MUTATIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { MUTATION_LINES = 8 };

/* Where a mutation can be made: both, unless something of it is missing in one. */
enum mutation_where {
	MUTATION_BOTH,
	MUTATION_STANDIN, /* namespaces as boxes */
	MUTATION_REAL, /* real boxes in the lab */
};

struct mutation {
	const char *name;
	enum mutation_where where;
	/* The break. Lines are blank-separated words with {variables}; see mutate.c. */
	const char *without[MUTATION_LINES]; /* rules with these counters are not loaded */
	const char *no_chain; /* rules of this chain are not loaded */
	const char *host[MUTATION_LINES]; /* run on the host, after the rules */
	const char *box[MUTATION_LINES]; /* run in box A, as root */
	const char *peer[MUTATION_LINES]; /* run in box B, as root */
	const char
		*names; /* the gateway's name server gets these arguments; "dead": there is none */
	bool no_tool; /* the probe cannot be started in box A */
	const char *program; /* claim ownership tries this instead of box */
	/* What the rules' reload, the port flags and a new name server do not mend. */
	const char *mend_host[MUTATION_LINES];
	const char *mend_box[MUTATION_LINES];
	const char *mend_peer[MUTATION_LINES];
	/*
	 * Blank-separated ids: exactly these are broken, exactly these unknown, all others hold. A last
	 * "*" in unknown: others may be unknown, too.
	 */
	const char *broken;
	const char *unknown;
	const char *either; /* these may be anything: it depends on what the host's caches hold */
};

extern const struct mutation mutations[];
extern const size_t mutation_count;

#endif

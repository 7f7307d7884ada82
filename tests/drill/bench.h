/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs mutations on a stack, whichever kind of boxes it has, and compares what the drill says. */
#ifndef TESTS_DRILL_BENCH_H
#define TESTS_DRILL_BENCH_H

#include "tests/drill/mutations.h"
#include "vmm/drill-run.h"

struct bench {
	struct drill_world *world; /* lent; its boxes are known */
	const char *const *argv[DRILL_PLACES];
	struct drill_ops ops;
	const char *const
		*claims; /* lent, NULL-terminated: those that this kind can drill; NULL: all */
	enum mutation_where kind; /* MUTATION_STANDIN or MUTATION_REAL */

	/* What mutations need. Lines have no variables any more. ctx is ops.ctx. */
	int (*load)(void *ctx, const struct ruleset *rules, struct error *err);
	const struct ruleset *rules; /* as they should be */
	int (*on_host)(void *ctx, const char *line, struct error *err);
	int (*in_box)(void *ctx, const char *line, struct error *err);
	int (*in_peer)(
		void *ctx, const char *line, struct error *err); /* NULL: no mutation needs it */
	int (*names)(void *ctx, const char *arguments, struct error *err); /* NULL: dead */
	int (*mend)(void *ctx, struct error *err);
	/* Of the drill that runs. */
	const char *program; /* the mutation's; NULL: none */
	const struct drill_run *run;
};

/*
 * Run all mutations of this kind, or those whose names contain one of the words (NULL-terminated; NULL:
 * all). A line each on standard output. Returns how many went wrong; -1 when it could not go on.
 */
int bench_run(struct bench *b, const char *const *words, struct error *err) MUST_CHECK;

/* What box A has told of itself in the drill that runs. */
const struct drill_facts *bench_facts(const struct bench *b);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running the probes of a drill and collecting what they see. Where the probes run is an argument
 * array for each place, and what only root on the host can see or do is a table of functions; so tests
 * run the whole of it with network namespaces as boxes.
 */
#ifndef VMM_DRILL_RUN_H
#define VMM_DRILL_RUN_H

#include "net/nft.h"
#include "vmm/drill-facts.h"
#include "vmm/drill-judge.h"

enum { DRILL_NFT_COUNTERS = 128 };

/* What the host can tell and do. A NULL function: not from here. ctx is handed to each. */
struct drill_ops {
	/* All drop counters of the kernel's tables; as nft_counters. */
	int (*counters)(
		void *ctx, struct nft_counter *list, size_t max, size_t *ret_n, struct error *err);
	/* Open a door from world->door to the peer's world->box_port, or remove it. */
	int (*door)(void *ctx, bool open, struct error *err);
	/* Look at a fact about host or domains, by claim id. */
	void (*check)(void *ctx, const char *name, struct drill_finding *ret);
	/* A claim has its verdict; in the order in which they get it. */
	void (*verdict)(void *ctx, size_t claim, const struct drill_result *result);
	/* Something begins that takes a while: "watching", "round 3 of 9". */
	void (*stage)(void *ctx, const char *text);
	void *ctx;
};

struct drill_run {
	/* set by the caller */
	struct drill_world *world; /* lent; the boxes' iface and the tokens' prefix are filled in */
	const bool *selected; /* lent; by index of drill_claims */
	bool in_one; /* one round for each phase: quicker */
	/* NULL-terminated, lent: starts "box-probe serve" there; NULL: nothing can run there. */
	const char *const *argv[DRILL_PLACES];
	struct drill_ops ops;
	int interrupt_fd; /* lent; -1: none */

	/* the outcome; owned */
	struct drill_plan plan;
	struct drill_scene scene;
	struct drill_facts facts[2];
	struct drill_result *results; /* by index of drill_claims */
	char down[DRILL_PLACES][160]; /* why no probe could run there; "": they could */
};
void drill_run_done(struct drill_run *run);

/*
 * Run it. Probes that could not run, and places where none could, are observations like others: the
 * claims become unknown. -1 only when interrupted or out of resources; doors are closed then too.
 */
int drill_run(struct drill_run *run, struct error *err) MUST_CHECK;

#endif

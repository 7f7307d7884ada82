/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carrying out a plan over the layers of one held box (vmm/layer-plan.h) through libvirt. Each action
 * is a step (base/steps.h), so each is timed, shown, and a place for BOX_FAULT.
 */
#ifndef VMM_CHAIN_RUN_H
#define VMM_CHAIN_RUN_H

#include "base/steps.h"
#include "vmm/console.h"
#include "vmm/hold.h"
#include "vmm/layer-plan.h"
#include "vmm/wake.h"

struct chain_run {
	struct box_hold *hold; /* lent */
	const struct layer_plan *plan; /* lent */
	int64_t when; /* what is recorded as a snapshot's time */
	const char *live; /* in: PIVOT takes the memory too; this program's version. NULL: not */
	const struct wake *wake; /* in: START is from this memory; NULL: a boot */
	struct error cold; /* out: it was a boot all the same, and why */
	bool woken; /* out: the guest runs, and knows who it is */
	bool quiesced; /* in: for a RECORD without a PIVOT; out: whether the PIVOT was quiesced */
	char why[256]; /* out: why not */
	struct console *console; /* out, owned: of a box that was started; may be NULL */

	/* Private. */
	size_t at; /* the action that is next */
	bool stuck; /* an undo has failed: what was done before stays, for recovery */
	bool swept; /* what others have left to this box meanwhile has been looked for */
	char memory[META_VOLUME_MAX]; /* what a PIVOT has written the memory to; "": none */
	char *before; /* owned: the definition before a SWITCH */
};

void chain_run_done(struct chain_run *run);
#define _cleanup_chain_run_ _cleanup_(chain_run_done)

/*
 * Do it all. A failure before the plan's commit is undone and the box is as it was; from the commit on,
 * and when something cannot be undone, what is left is for the next command for the box: the intent
 * stays.
 */
int chain_run(struct chain_run *run, const char *operation, const struct steps_observer *observer,
	struct error *err) MUST_CHECK;

/*
 * Start the stopped box from run->wake, or leave it stopped and as if that had not been tried: run->woken says
 * which, run->cold why.
 */
int chain_wake(struct chain_run *run, struct error *err) MUST_CHECK;

/* The plan's action that is next, a LAYER_PULL or a LAYER_COMMIT (vmm/chain-merge.c). For chain-run.c alone. */
int chain_run_pull(struct chain_run *run, struct error *err) MUST_CHECK;
int chain_run_commit(struct chain_run *run, struct error *err) MUST_CHECK;

/* The intent that the box's metadata holds: false if it is none of a plan's (another operation). */
bool chain_intent(const struct meta_operation *operation, struct layer_intent *ret);

/* Names of operations in metadata, by enum layer_intent_kind; NULL at 0. */
extern const char *const chain_operations[];

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of boxes: taking, restoring and removing them, and shortening chains. Each function does
 * the whole operation: it holds the box, plans over the layer graph, carries the plan out. What may be
 * refused is refused before anything is changed.
 */
#ifndef VMM_CHAIN_H
#define VMM_CHAIN_H

#include "vmm/layer-plan.h"
#include "vmm/lifecycle.h"

/* The layers of one box, read while it is held. */
struct chain {
	struct layer_graph graph; /* owned */
	const struct layer_box *box; /* lent by graph */
	uint64_t pool_free; /* bytes */
};

void chain_done(struct chain *chain);
#define _cleanup_chain_ _cleanup_(chain_done)

/* Read and check them: ERROR_INVALID when the box's layers are not in order. ret is zeroed. */
int chain_open(struct box_hold *hold, struct chain *ret, struct error *err) MUST_CHECK;

/* ERROR_BUSY when libvirt holds a memory image of the box, which fits only the disk that it has now. */
int chain_refuse_saved(struct box_hold *hold, struct error *err) MUST_CHECK;

/* What was done, for people. */
struct chain_report {
	char label[64];
	bool running; /* the box ran */
	bool quiesced; /* and its file systems were at rest */
	char why[256]; /* not quiesced: why not */
	char note[256]; /* a layer that was kept, and why; "": none */
	unsigned merged; /* layers by which the chain was shortened afterwards */
	char not_merged[512]; /* it should have been, and why not; "": nothing */
	bool live; /* snapshot: with its memory; restore: from its memory */
	struct error cold; /* it should have been, and why not */
};

struct chain_wish {
	const char *label; /* NULL: "manual-<seconds since the epoch>" */
	const char *
		live; /* this program's version: take the memory too, of a running box. NULL: not */
	const struct steps_observer *observer;
};

/*
 * Take a snapshot. ERROR_EXISTS: the label is taken; ERROR_FAILED: a live one of a box that does not run.
 * A chain that has become long is shortened afterwards; failing at that does not fail the snapshot.
 */
int chain_snapshot(virConnectPtr conn, const char *name, const struct chain_wish *wish,
	struct chain_report *report, struct error *err) MUST_CHECK;

/* Remove one. ERROR_NOT_FOUND lists those that there are. */
int chain_forget(virConnectPtr conn, const char *name, const char *label,
	const struct steps_observer *observer, struct chain_report *report,
	struct error *err) MUST_CHECK;

/*
 * Go back to one. A live one goes on where it was, also when the box was stopped; what is wrong with its memory
 * is in report->cold. Otherwise a box that runs is powered off and started again; then this waits until it is usable,
 * as box_start does; tail gets the console's last lines when it does not become so.
 */
int chain_restore(virConnectPtr conn, const char *name, const char *label,
	const struct start_watch *watch, struct str *tail, struct chain_report *report,
	struct error *err) MUST_CHECK;

/*
 * For cloning a held box as it is now: what it has written is frozen in a layer without a name, and it
 * goes on in a new one. layer gets the frozen one's name.
 */
int chain_freeze_top(struct box_hold *hold, const struct steps_observer *observer,
	char layer[META_VOLUME_MAX], struct chain_report *report, struct error *err) MUST_CHECK;

/* What a killed operation of this file left in a held box: a row of vmm/recover.c. */
int chain_recover(struct box_hold *hold, bool *ret_gone, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live snapshots: disk and memory of a running box together. The layer is the chain's business (vmm/chain.h);
 * here are the two volumes beside it,
 *
 *	live-<uuid of the box>-<number>.mem	the memory, in libvirt's save format
 *	live-<uuid of the box>-<number>.json	its record (images/warm-record.h), written after it
 *
 * of which the label in the box's metadata names the first. A label whose record is missing or does not fit
 * is a snapshot of the disk alone.
 */
#ifndef VMM_LIVE_H
#define VMM_LIVE_H

#include "vmm/hold.h"
#include "vmm/warm.h"

/* A name for the memory of a snapshot that is about to be taken, and an empty volume of that name. */
int live_prepare(struct box_hold *hold, char memory[META_VOLUME_MAX], struct error *err) MUST_CHECK;

/* After libvirt has written it: the record. disk is the frozen layer. */
int live_record(struct box_hold *hold, const char *memory, const char *layer, const char *tool,
	struct error *err) MUST_CHECK;

/*
 * The memory of a box's snapshot, to be restored by a machine like the box: 1; 0: it has none; -1:
 * ERROR_INVALID when it does not fit this host any more or is damaged. ret is zeroed.
 */
int live_open(
	struct box_hold *hold, const char *label, struct warm *ret, struct error *err) MUST_CHECK;

/* Delete a memory image and its record; missing ones are a success. Only names of the box's own. */
int live_delete(struct box_hold *hold, const char *memory, struct error *err) MUST_CHECK;

/* Delete what no label of the box names: leftovers of killed snapshots; with all, everything. */
int live_sweep(struct box_hold *hold, bool all, struct error *err) MUST_CHECK;

#endif

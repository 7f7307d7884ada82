/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that was restored from a memory image believes to be the machine that was saved, and cannot
 * find out by itself that it is another one now: it is told. Until it has taken its MAC, the rules of the
 * host let nothing of it through.
 */
#ifndef VMM_ADOPT_H
#define VMM_ADOPT_H

#include "vmm/box.h"
#include "vmm/guest.h"
#include "vmm/lifecycle.h"

#define ADOPT_MS \
	120000 /* for one request: two host keys and a lease, emulated, on a busy machine */

enum adopt_as {
	ADOPT_OTHER, /* the memory is of another machine: everything is new */
	ADOPT_SAME, /* its own from an earlier time: machine-id and SSH host keys stay */
};

/*
 * Give the running box the identity that its definition says: UUID, random seed, clock, host name,
 * machine-id, instance-id, SSH host keys, MAC, and the lease of its address; and see in its answer that it
 * has taken them. ERROR_FAILED names the first that it has not. The observer of watch is told of the operation "adopt",
 * and how long each item took by the guest's own clock ("adopt.identity").
 */
int box_adopt(struct box *box, enum adopt_as as, const struct start_watch *watch,
	struct error *err) MUST_CHECK;

/* Make the running box's disk that large, and its file system as large as the disk. */
int box_grow_disk(struct box *box, uint64_t bytes, struct error *err) MUST_CHECK;

#endif

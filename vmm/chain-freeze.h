/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moving a running box to a new layer, with its file systems at rest if its agent answers. */
#ifndef VMM_CHAIN_FREEZE_H
#define VMM_CHAIN_FREEZE_H

#include "vmm/box.h"

struct chain_freeze {
	bool quiesced;
	char why[256]; /* not quiesced: why */
};

/*
 * With memory, the path of a volume that is empty: what the box has in its memory at that moment is written
 * there, in libvirt's save format, while it goes on running; its file systems are as they are.
 *
 * From now on the box writes to the volume with this path (of the hypervisor), which stands on what it
 * has written to until now. ret says whether the guest had its file systems at rest meanwhile.
 */
int chain_pivot(struct box *box, const char *path, const char *memory, struct chain_freeze *ret,
	struct error *err) MUST_CHECK;

#endif

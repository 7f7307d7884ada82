/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that can be said about one box: for "box info". */
#ifndef VMM_INFO_H
#define VMM_INFO_H

#include "vmm/box.h"

struct info_snapshot {
	uint64_t bytes; /* that only this snapshot needs */
	bool present; /* its layer is in the pool */
};
VEC_DEFINE(info_snapshots, struct info_snapshot);

struct box_info {
	enum box_state state;
	struct box_hardware hardware;
	uint64_t disk; /* bytes that the guest sees */
	uint64_t own_bytes; /* bytes on the host that only this box needs, snapshots not counted */
	unsigned depth; /* layers in the chain of its disk; 0: the chain is damaged */
	bool address_reserved; /* the reservation of its MAC is there and is what metadata says */
	struct info_snapshots
		snapshots; /* owned; one for each of the box's metadata, in its order */
};

void box_info_done(struct box_info *info);
#define _cleanup_box_info_ _cleanup_(box_info_done)

/* ret is zeroed or done. Pool or network that are not there are no error: what they say is 0. */
int box_info(virConnectPtr conn, const struct box *box, struct box_info *ret,
	struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Volumes that bear the UUID of a box which is no more, and that nobody needs: what "virsh undefine" leaves of a
 * box. They are shown and never deleted: the owner may define that domain again, and a disk outside the
 * pool may stand on them.
 */
#ifndef VMM_STRAY_H
#define VMM_STRAY_H

#include "base/vec.h"
#include "vmm/pool.h"

struct stray {
	char name[POOL_NAME_MAX];
	uint64_t bytes; /* that it takes */
};
VEC_DEFINE(strays, struct stray);
#define _cleanup_strays_ _cleanup_(strays_done)

/*
 * All of them, by name. ERROR_BUSY when a box's disk is outside the pool, so that nobody can say
 * what it needs. ret is empty before.
 */
int stray_list(virConnectPtr conn, virStoragePoolPtr pool, struct strays *ret,
	struct error *err) MUST_CHECK;

/* ---- pure ---- */

/* The UUID in the name of a layer, a seed or a memory of a box; false when it is none of those. */
bool stray_owner(const char *name, char uuid[VIR_UUID_STRING_BUFLEN]);

#endif

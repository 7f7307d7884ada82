/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layer graph as libvirt has it now: the volumes of the pool, what every domain's disks name, what
 * the boxes' metadata names. One call a volume and one or two a domain; no lock is taken, so what a
 * caller wants to change it reads while it holds the box's lock.
 */
#ifndef VMM_LAYER_READ_H
#define VMM_LAYER_READ_H

#include "vmm/layer-graph.h"
#include "vmm/virt.h"

/*
 * Fill graph (which must be zeroed or done) and resolve it. Domains that are not ours, and disks of
 * boxes that are not theirs by our making, become pins: nobody's layer is deleted under them. All
 * layers of a box whose metadata cannot be read, or is newer than this program, are pinned too.
 */
int layer_graph_read(virConnectPtr conn, virStoragePoolPtr pool, struct layer_graph *graph,
	struct error *err) MUST_CHECK;

/*
 * Whether a domain other than the one with this UUID has a disk with that path, or names it as a volume of the
 * pool: 1, 0, or -1. For volumes that are not layers.
 */
int layer_path_used(virConnectPtr conn, const char *path, const char *except_uuid,
	struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doors: a port of a box on 127.0.0.1 of its host, remembered in the box's metadata. A stopped box's doors
 * open when it starts, by the qemu hook. A running box's follow its metadata by the network hook, which
 * libvirt runs when boxnet is updated: so no door needs root, nor a host that is this machine
 * (docs/decisions/0011). What the packet filter does with them is net/doors.h's and net/rules.h's.
 */
#ifndef VMM_DOOR_H
#define VMM_DOOR_H

#include "vmm/box.h"
#include "vmm/hold.h"

#define OPERATION_DOOR "door" /* recovered by shutting that door */

/* Whether the packet filter lets a door's connections through. */
enum door_state {
	DOOR_SHUT,
	DOOR_OPEN,
	DOOR_UNKNOWN, /* the host is another machine */
};

struct door_report {
	struct meta_door door;
	bool running; /* the box runs: the change is in force; else it is when the box starts */
	enum door_state state;
};

/*
 * Pure: may the box with this UUID have that door, beside the doors of all boxes? ERROR_EXISTS names
 * who has the port of the host, or the box's own door to the same port; ERROR_NO_SPACE: too many doors.
 */
int door_check(const struct box_rows *rows, const char *uuid, const struct meta_door *door,
	struct error *err) MUST_CHECK;

/*
 * Open one. Everything that can refuse it is asked before anything changes: other boxes' doors, stopped
 * ones' too, and on this machine the programs that listen. All or nothing: a running box whose host does
 * not open the door keeps what it had. The connection needs no more rights than any for boxes.
 */
int door_open(virConnectPtr conn, const char *name, const struct meta_door *door,
	struct door_report *ret, struct error *err) MUST_CHECK;

/* Shut the one to this port of the box. ERROR_NOT_FOUND lists those that there are. */
int door_shut(virConnectPtr conn, const char *name, uint16_t port, struct door_report *ret,
	struct error *err) MUST_CHECK;

/* What the host says of a door now. A stopped box's are shut. */
enum door_state door_state(virConnectPtr conn, const struct box *box, const struct meta_door *door);

/* What a killed door_open or door_shut left in a held box: a row of vmm/recover.c. */
int door_recover(struct box_hold *hold, bool *ret_gone, struct error *err) MUST_CHECK;

#endif

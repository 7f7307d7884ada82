/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which boxes run, as the hook knows it: a small file a box below /run/box/ports, named by its UUID,
 * written before the box's elements go into the kernel and removed after they came out.
 *
 * Why at all: the hook and the boot unit must not ask libvirt, and when somebody flushed our tables
 * the elements are gone with them. It is no database: it lives in /run, says no more than the kernel's
 * sets, and is taken at its word only for what they should hold.
 */
#ifndef NET_RECORD_H
#define NET_RECORD_H

#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "net/port.h"

VEC_DEFINE(net_ports, struct net_port);

/* One process at a time changes records and rules. The descriptor holds the lock: close it. */
int record_lock(const char *dir, struct error *err) MUST_CHECK;

/* All records of the folder, appended, by UUID. A missing folder is empty; a damaged file is an error. */
int record_load(const char *dir, struct net_ports *ret, struct error *err) MUST_CHECK;

int record_write(const char *dir, const struct net_port *port, struct error *err) MUST_CHECK;

bool record_exists(const char *dir, const char *uuid);

/* A number that changes with each writing of the record (its inode: the old file is there until the new one is); 0:
 * there is none. */
ino_t record_identity(const char *dir, const char *uuid);

/*
 * The record of one box: 1, 0 when it has none, -1. Everybody may read it: it is how a client on the
 * same host, who may not look into the kernel, sees which doors are in force.
 */
int record_read(
	const char *dir, const char *uuid, struct net_port *ret, struct error *err) MUST_CHECK;

/* A missing record is a success. */
int record_remove(const char *dir, const char *uuid, struct error *err) MUST_CHECK;

/*
 * Whether a record is left over: its tap is not there although the record has had time to see it come
 * (libvirt makes the tap right after the hook). libvirtd calls the release hook even for a QEMU that
 * died while libvirtd was down, so this is for a host that lost power in the middle.
 */
bool record_is_stale(const char *dir, const struct net_port *port);

#endif

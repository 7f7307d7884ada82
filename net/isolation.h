/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The isolation stack of this host as one thing: configuration, records of running boxes, and the
 * kernel's rules kept in step, one process at a time. What the hook, setup-host, doctor and the boot
 * unit call. Needs root; never talks to libvirt.
 *
 * Order of events for a box, so that no frame passes before rules stand and nothing is left when it
 * is gone:
 *
 *	hook prepare    isolation_admit: record written, tables verified or repaired, elements in
 *	                libvirt makes the tap, QEMU starts
 *	                QEMU ends, libvirt removes the tap
 *	hook release    isolation_release: elements out, record removed
 */
#ifndef NET_ISOLATION_H
#define NET_ISOLATION_H

#include <stdbool.h>

#include "base/error.h"
#include "net/nft-check.h"
#include "net/rules.h"

/* Where things are; tests have their own. */
struct isolation_paths {
	const char *config; /* /etc/box/net.conf */
	const char *ports; /* /run/box/ports */
	const char *libvirt_status; /* /run/libvirt/qemu: libvirt's own files of running domains */
	const char *proc; /* /proc/sys/net/ipv4 */
};
extern const struct isolation_paths isolation_paths;

/*
 * Let a box in. The tables are compared with the rules first, and put right when they are not; what
 * cannot be put right is an error and the box must not start. ERROR_EXISTS for a MAC, address, tap or
 * door of another running box, or a door whose port a program of the host uses. Doing it again for
 * the same box replaces what it had.
 */
int isolation_admit(const struct isolation_paths *paths, const struct net_port *port,
	struct error *err) MUST_CHECK;

/* Shut a box out: its elements and record go. One that is not there is a success. */
int isolation_release(
	const struct isolation_paths *paths, const char *uuid, struct error *err) MUST_CHECK;

/*
 * Make the kernel right: tables as the rules say, elements of the running boxes, route_localnet on the
 * bridge if there is one. *ret_changed (may be NULL): something was not right.
 */
int isolation_ensure(
	const struct isolation_paths *paths, bool *ret_changed, struct error *err) MUST_CHECK;

/*
 * Bring the doors of running boxes to what their domains say now (libvirt's status files), then
 * isolation_ensure. For a door that was opened or closed while the box runs. Of a door that cannot be
 * opened the error tells; the others are done.
 */
int isolation_sync_doors(const struct isolation_paths *paths, struct error *err) MUST_CHECK;

/* Compare only; sentences are appended to ret, none means that all is right. */
int isolation_check(const struct isolation_paths *paths, struct nft_differences *ret,
	struct error *err) MUST_CHECK;

/*
 * The kernel's own second layer: whether the port of this tap is isolated from the other boxes' ports.
 * 1, 0, or -1 when there is no such port. No privilege.
 */
int isolation_port_flag(const char *tap, struct error *err) MUST_CHECK;

#endif

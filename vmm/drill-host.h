/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the drill has to know of the machine that it runs on, when that is the boxes' host. Everything is
 * of the calling process's network namespace; nothing is changed.
 */
#ifndef VMM_DRILL_HOST_H
#define VMM_DRILL_HOST_H

#include "vmm/drill-facts.h"

/*
 * Fill in the world what is the host's: addresses, neighbours, services (it is the caller who knows
 * that it is the host), and the ports. bridge and net are set. host false: the ports only.
 */
int drill_host_look(struct drill_world *world, bool host, struct error *err) MUST_CHECK;

/* Pure: the rows of /proc/net/arp and /proc/net/tcp. Addresses on the bridge and port 53 are left out. */
int drill_host_neighbours(const char *arp, const char *bridge, struct drill_addresses *ret,
	struct error *err) MUST_CHECK;
int drill_host_services(const char *tcp, struct drill_addresses *ret, struct error *err) MUST_CHECK;

/* Claim port-flag: the kernel's isolation of both boxes' ports, read over netlink. */
void drill_check_port_flag(const struct drill_world *world, struct drill_finding *ret);

/* Claim hook: libvirt's hook is there, and it has let these two boxes (UUIDs) in. */
void drill_check_hook(const char *hook, const char *records, const char *const uuids[2],
	struct drill_finding *ret);

/* Claim no-page-merging. That the host merges nothing now is not enough: it may tomorrow. */
void drill_check_merging(const struct drill_domain *domain, struct drill_finding *ret);

/*
 * Claim no-host-listener. pids: the boxes' QEMU processes, 0 for one that is not known here. Needs root
 * to look into them.
 */
void drill_check_listener(
	const struct drill_domain *domain, const int pids[2], struct drill_finding *ret);

#endif

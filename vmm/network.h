/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libvirt network "boxnet" and the addresses of boxes. A box's address is a DHCP reservation (MAC
 * and address, no name: a name would be served to other boxes) in that network; libvirt's own check
 * for doubles makes taking one atomic, for all clients of that libvirtd.
 */
#ifndef VMM_NETWORK_H
#define VMM_NETWORK_H

#include "base/vec.h"
#include "vmm/virt.h"

#define NETWORK_NAME "boxnet"
#define NETWORK_LEASE_MINUTES 10 /* a killed box's lease blocks its address that long */

/* ---- pure: what a network's XML says, and which address comes next ---- */

struct network_host {
	char mac[18];
	uint32_t address; /* host byte order */
};
VEC_DEFINE(network_hosts, struct network_host);

struct network_view {
	uint32_t gateway; /* host byte order */
	unsigned prefix;
	struct network_hosts hosts; /* owned: the reservations */
};
void network_view_done(struct network_view *view);
#define _cleanup_network_view_ _cleanup_(network_view_done)

int network_view_parse(const char *xml, struct network_view *ret, struct error *err) MUST_CHECK;

/*
 * The first address, from place start of the subnet on and round (any number; 0: the lowest), that no
 * reservation has and that is not in leased (addresses that DHCP has lent out and not got back: its server
 * would refuse to give them to another MAC). 0 when all are taken.
 */
uint32_t network_choose(
	const struct network_view *view, const uint32_t *leased, size_t n_leased, uint32_t start);

/* The reservation of this MAC, lent; NULL when it has none. */
const struct network_host *network_view_find(const struct network_view *view, const char *mac);

/* ---- libvirt ---- */

/*
 * Make the network be as def says: defined, started, autostarted, its reservations kept. Running boxes
 * would lose their network if it were stopped, so a changed definition of an active network is an error
 * (ERROR_BUSY) while boxes use it. *ret_changed says whether anything had to be done.
 */
int network_setup(
	virConnectPtr conn, const char *def, bool *ret_changed, struct error *err) MUST_CHECK;

/* Stopped, undefined, seen to be gone; a missing one is a success. */
int network_teardown(virConnectPtr conn, struct error *err) MUST_CHECK;

/* The network, active. ERROR_NOT_FOUND or ERROR_FAILED with "box setup-host" when it is not. */
virNetworkPtr network_open(virConnectPtr conn, struct error *err) MUST_CHECK;

/* What the network holds now. */
int network_view_read(virNetworkPtr net, struct network_view *ret, struct error *err) MUST_CHECK;

/*
 * Reserve an address for this MAC; *ret in host byte order. ERROR_EXISTS when the MAC has one already,
 * ERROR_NO_SPACE when the subnet is used up.
 */
int network_reserve(
	virNetworkPtr net, const char *mac, uint32_t *ret, struct error *err) MUST_CHECK;

/*
 * Reserve just this address (host byte order) for a MAC that has none: 1. 0 when it has one, whichever, or
 * the address is not of this network.
 */
int network_reserve_again(
	virNetworkPtr net, const char *mac, uint32_t address, struct error *err) MUST_CHECK;

/*
 * Give the reservation of this MAC back, and see that it is gone. A missing one is a success, and so is
 * a missing network; one that is not active is changed all the same.
 */
int network_release(virConnectPtr conn, const char *mac, struct error *err) MUST_CHECK;

/*
 * Repeat the reservation of this MAC as it is. That changes nothing, but libvirt runs the network hook, as
 * root and on the right host: it brings the doors of running boxes to what their domains say, and puts
 * the rules right. ERROR_NOT_FOUND when the MAC has no reservation.
 */
int network_nudge(virConnectPtr conn, const char *mac, struct error *err) MUST_CHECK;

#endif

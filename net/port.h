/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the packet filter needs of a box, out of its domain's XML. Everybody who may talk to libvirt can
 * write that text, so it is taken as hostile: all of it is checked against what a box can be.
 */
#ifndef NET_PORT_H
#define NET_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "net/config.h"
#include "net/rules.h"

/* Also in vmm/metadata.h, which net does not include; a unit test of vmm's mark compares. */
#define PORT_NAMESPACE "urn:box:domain"

/*
 * Read the domain's XML: the one document of a hook, or libvirt's own status file of a running domain.
 * 1: it is a box with its NIC on boxnet, and *ret is what it may use. 0: it is not a box, or its NIC
 * is not as box made it (another network, another tap): it gets nothing through, and that is not our
 * business. -1, ERROR_INVALID: it is a box that must not be let in, as with an address outside the
 * subnet.
 */
int port_from_domain(const char *xml, size_t len, const struct net_config *config,
	struct net_port *ret, struct error *err) MUST_CHECK;

/*
 * What two boxes cannot share: tap, MAC, address, a door's port on the host. 0, or -1 with
 * ERROR_EXISTS and the other's UUID. The same UUID never conflicts with itself.
 */
int port_conflict(
	const struct net_port *port, const struct net_port *other, struct error *err) MUST_CHECK;

/* As text of a record, appended; and back (ERROR_INVALID). */
void port_format(const struct net_port *port, struct str *into);
int port_parse(
	const char *text, const char *uuid, struct net_port *ret, struct error *err) MUST_CHECK;

/* 36 characters, lower-case hex and dashes. */
bool port_uuid_ok(const char *uuid);

#endif

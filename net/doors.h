/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doors: a port of one box on the host's own 127.0.0.1. The packet filter holds them as elements of
 * the box (rules.h), so they come and go with it; here is what has to be true before one opens.
 */
#ifndef NET_DOORS_H
#define NET_DOORS_H

#include "base/error.h"
#include "net/rules.h"

/*
 * 0 when no socket of this host listens on 127.0.0.1:host (also 0.0.0.0 and ::), so that the door hides
 * nobody's service. ERROR_EXISTS names the port. For a remote host only its hook can ask this; it does,
 * at every start and when doors change.
 */
int doors_check_free(uint16_t host, struct error *err) MUST_CHECK;

/* The same for those of doors that are not among had already. */
int doors_check_new(
	const struct net_port *port, const struct net_port *had, struct error *err) MUST_CHECK;

#endif

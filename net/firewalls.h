/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other firewalls of this host. A packet has to be let through by all of them: what our rules drop stays
 * dropped whatever the others say, and what ours let through another may still drop. Then boxes get no
 * lease, no names or no internet. So here we look for those that do, and ask them for what boxes need:
 * DHCP and names from the gateway, and the way through the host. What they allow beyond that ours drop.
 *
 * They are asked and told by their own programs, so that they know of it and keep it. Needs root.
 */
#ifndef NET_FIREWALLS_H
#define NET_FIREWALLS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"

struct firewall_finding {
	const char *name; /* "Docker", "ufw", "firewalld"; else "the packet filter" */
	char text[256]; /* what stands in the way; fit for a terminal */
	char repair[256]; /* the command */
	bool fixable; /* by firewalls_fix; else a person has to */
};
VEC_DEFINE(firewall_findings, struct firewall_finding);

/* What stands in the way of boxes, appended to ret; nothing: all is well. */
int firewalls_look(struct firewall_findings *ret, struct error *err) MUST_CHECK;

/* Tell those who can be told. What was told before is not told again. */
int firewalls_fix(struct error *err) MUST_CHECK;

/* Take back what they were told, for a host that is to have no boxes any more. */
int firewalls_take_back(struct error *err) MUST_CHECK;

/*
 * As firewalls_fix, for those who forget it when the host or they themselves start again (Docker). For the boot unit;
 * what cannot be done is left for "box doctor" to tell.
 */
void firewalls_remind(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether libvirt's hook let a box in. The hook refuses a start that it cannot guard, but a hook that libvirtd does
 * not call (installed since it started, moved away) refuses nothing. So who starts a box here, with its
 * processors stopped, asks afterwards whether the hook wrote the box's record anew (net/record.h), before the
 * guest's first instruction.
 *
 * Says nothing, and lets all pass, for a libvirtd of another host, for a client that does not see this host's set-up
 * (in a container, say), and for a box without a device on our network.
 */
#ifndef VMM_ADMISSION_H
#define VMM_ADMISSION_H

#include <sys/types.h>

#include "vmm/box.h"

struct admission {
	bool asked; /* it can be told at all */
	ino_t before; /* of the record before the start; 0: there was none */
};

/* Before the start. */
int admission_begin(const struct box *box, struct admission *ret, struct error *err) MUST_CHECK;

/* After it, while the box is paused. ERROR_DENIED: it was not let in, and must not run. */
int admission_check(const struct admission *a, const struct box *box, struct error *err) MUST_CHECK;

/*
 * For a box that stands still already, and was started by who knows whom: it must have been let in at some time. Else
 * ERROR_DENIED.
 */
int admission_standing(const struct box *box, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting and stopping. These are the bare acts: the caller holds the box's lock (vmm/hold.h) and has
 * read its metadata since. Waiting for a change of state is waiting for libvirt's event.
 */
#ifndef VMM_POWER_H
#define VMM_POWER_H

#include "vmm/box.h"
#include "vmm/console.h"

#define POWER_DOWN_MS 60000 /* what a guest is given to shut down */

/*
 * Start a stopped box, or resume a paused one; a running one is a success. Not yet usable afterwards:
 * see guest_wait_ready. ret_console (may be NULL) gets the console followed from the guest's first
 * instruction, or NULL when it cannot be had; free it.
 */
int power_on(virConnectPtr conn, struct box *box, struct console **ret_console,
	struct error *err) MUST_CHECK;

/*
 * Ask the guest to shut down and wait until it has, at most timeout_ms: ERROR_TIMEOUT after that, with
 * the guest still there. A stopped box is a success.
 */
int power_down(
	virConnectPtr conn, struct box *box, uint64_t timeout_ms, struct error *err) MUST_CHECK;

/* Pull the plug. A stopped box is a success. */
int power_off(struct box *box, struct error *err) MUST_CHECK;

#endif

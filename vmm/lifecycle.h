/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start, down, restart as people ask for them: lock, recovery, the act, and for a start the wait until
 * the box is usable. A box that is in the wanted state already is a success.
 */
#ifndef VMM_LIFECYCLE_H
#define VMM_LIFECYCLE_H

#include "base/steps.h"
#include "vmm/guest.h"
#include "vmm/hold.h"
#include "vmm/power.h"

#define LIFECYCLE_READY_MS 600000 /* an emulated guest on a busy machine takes minutes */
#define LIFECYCLE_READY_ROUNDS 6 /* as often as that, while the guest's console goes on talking */
#define LIFECYCLE_TAIL_LINES 25 /* of the console, shown when a start fails */

/* Who watches a start, and how long it may take. All may be zero. */
struct start_watch {
	const struct steps_observer *observer;
	guest_stage_fn *stage; /* told of the guest's stages while it boots */
	void *data;
	int interrupt_fd; /* readable: give up. 0: none */
	uint64_t ready_ms; /* 0: LIFECYCLE_READY_MS. A guest that still talks gets more */
};

/*
 * Wait until the guest is usable: its agent answers, its first boot is over, the box's user is there.
 * On failure the error says which of these did not come, and tail gets the last lines of console (which
 * may be NULL), made harmless.
 */
int box_wait_usable(struct box *box, const struct console *console, const struct start_watch *watch,
	struct str *tail, struct error *err) MUST_CHECK;

/*
 * Start and wait. A box that came up but is not usable stays as it is, running, and the error says so.
 * *ret_changed (may be NULL): false when it was running already.
 */
int box_start(virConnectPtr conn, const char *name, const struct start_watch *watch,
	struct str *tail, bool *ret_changed, struct error *err) MUST_CHECK;

struct down_request {
	bool force; /* pull the plug */
	uint64_t timeout_ms; /* 0: POWER_DOWN_MS */
	const struct steps_observer *observer;
};
int box_down(virConnectPtr conn, const char *name, const struct down_request *request,
	bool *ret_changed, struct error *err) MUST_CHECK;

/* Shut down (or only start, if it is stopped), then start and wait. */
int box_restart(virConnectPtr conn, const char *name, const struct start_watch *watch,
	struct str *tail, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which agents answer: any number of boxes are greeted side by side, so that all who are silent together cost
 * as much time as one of them. Every byte from them is hostile, as in vmm/guest.h.
 */
#ifndef VMM_GUEST_PULSE_H
#define VMM_GUEST_PULSE_H

#include <libvirt/libvirt.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct guest_pulse {
	virDomainPtr dom; /* lent; NULL: the agent is at fd */
	int fd; /* a stream socket, which is taken */
	/*
	 * What came of it. ERROR_NONE: it answered. ERROR_BUSY: all ways in are in use, so it was not asked.
	 * ERROR_TIMEOUT: it was not asked, since libvirt took too long with the others.
	 * ERROR_UNREACHABLE: it did not answer in time, or the box does not run any more. Others: vmm/guest.h.
	 */
	struct error err;
};

/*
 * Ask them all, and wait ms milliseconds for the last answer. Their channels are opened one after another, and none
 * any more after that time again; a single call waits for as long as libvirt does. 0; or -1 with
 * ERROR_INTERRUPTED, or when libvirt's loop fails.
 */
int guest_pulse(struct guest_pulse *all, size_t count, uint64_t ms, struct error *err) MUST_CHECK;

#endif

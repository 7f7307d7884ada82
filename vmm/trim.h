/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Less memory for a guest whose memory is about to be saved. */
#ifndef VMM_TRIM_H
#define VMM_TRIM_H

#include "vmm/box.h"

/*
 * Have the running box's guest give back what it has free, by its balloon, and take it again: the host then
 * knows that nothing is in there. A guest that does not play along costs a second, and nothing else; the one error is a
 * guest that has given memory back and does not take it again, since it would be saved with less than it was
 * made with.
 */
int trim_memory(virConnectPtr conn, struct box *box, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shutting this process up in its present folder, for good, before it reads what a stranger sent: should a
 * parser be talked into running the stranger's code, it finds a process that can neither open, make nor
 * run anything outside that folder, gain privileges, nor take the machine's memory.
 */
#ifndef VMM_COPY_CONFINE_H
#define VMM_COPY_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * max_file is the size of the largest file that may be written. What the kernel does not offer (Landlock,
 * before Linux 5.13 or where it is switched off) is done without: *ret_landlocked says whether it was
 * there. It fails when what is offered cannot be had.
 */
int copy_confine(uint64_t max_file, bool *ret_landlocked, struct error *err) MUST_CHECK;

#endif

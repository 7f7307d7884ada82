/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INT, TERM and HUP while a command works: the first is noted, so that what is half done can be undone;
 * a second one kills. Nobody polls: waiting code is woken by the flag's signal or by the descriptor.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>

#include "base/error.h"

/* Begin to note them, once a process. A signal that is ignored (nohup) stays ignored. */
int interrupt_watch(struct error *err) MUST_CHECK;

/* Non-zero after a signal: for virt_interrupt_flag. */
const volatile sig_atomic_t *interrupt_flag(void);

/* Readable after a signal: for struct run. -1 before interrupt_watch. */
int interrupt_fd(void);

/* 0; or ERROR_INTERRUPTED after a signal. */
int interrupt_check(struct error *err) MUST_CHECK;

/* End as the signal would have ended us, so that a shell's loop ends too. Returns when there was none. */
void interrupt_die(void);

#endif

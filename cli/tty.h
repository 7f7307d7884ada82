/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The person's terminal while a session in a box uses it: raw mode that is undone whatever ends the
 * program (return, exit, a signal; SIGKILL alone cannot be helped), stopping and continuing, size.
 *
 * There is one terminal a process, so the state is the file's own.
 */
#ifndef CLI_TTY_H
#define CLI_TTY_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Put the terminal at fd, lent until tty_restore, into raw mode: every key, Ctrl-C and Ctrl-Z too, is a
 * byte that goes to the box. From here on the signals that would end this process restore the terminal
 * first, SIGTSTP restores it while the process is stopped, and SIGCONT makes it raw again. Signals that
 * the caller blocks or handles itself (signalfd) are left to the caller, who calls tty_restore.
 */
int tty_raw(int fd, struct error *err) MUST_CHECK;

/* As it was before tty_raw. Async-signal-safe; nothing to do is fine. */
void tty_restore(void);

/* Rows and columns of the terminal at fd; false when fd is no terminal or does not know. */
bool tty_size(int fd, unsigned *ret_rows, unsigned *ret_columns);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs that run commands do alike before and after. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "base/error.h"
#include "cli/command.h"
#include "cli/fault.h"

/* First of all: descriptors 0 to 2 are open, and a broken pipe is an error with a text. */
void program_begin(void);

/* Tell the error on stderr; the exit status. command may be NULL: none was found. */
int program_report(const struct command *command, enum fault stage, const struct error *err);

#endif

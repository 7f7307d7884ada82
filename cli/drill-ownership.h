/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claim "ownership": every command that takes a box refuses a machine that is none of ours. */
#ifndef CLI_DRILL_OWNERSHIP_H
#define CLI_DRILL_OWNERSHIP_H

#include "cli/session.h"
#include "vmm/drill-facts.h"

/*
 * Define a small machine without our mark, which never runs; try all those commands on it; see that each
 * says that there is no such box and that it is unchanged; take it away. program is what is tried.
 */
void drill_check_ownership(struct session *s, const char *program, struct drill_finding *ret);

/*
 * Pure: the words that try this command on the machine, NULL-terminated; false when the command takes no
 * box. argv of 16 is enough.
 */
bool drill_ownership_argv(
	const struct command *command, const char *program, const char *name, const char **argv);

#endif

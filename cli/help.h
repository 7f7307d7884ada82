/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Help, made from the command table alone. Texts end in a newline. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/json.h"
#include "base/str.h"
#include "cli/command.h"

/* All commands, by group: "box help". */
void help_overview(struct str *into);

/* One command: "box help CMD", "box CMD --help". */
void help_command(const struct command *command, struct str *into);

/*
 * The table for programs ("box help --json"), hidden commands left out: the list behind "commands", each
 * with name, alias, group, arguments, summary and options {name, letter, argument, help, general: it is one
 * of every command}. Given; NULL with err.
 */
json_t *help_json(struct error *err) MUST_CHECK;

#endif

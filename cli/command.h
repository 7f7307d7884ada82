/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command table: one record a command. Dispatch, help, completion, arity, preconditions,
 * confirmation, privilege and the comparison with the manual pages all read it, so that none of them
 * can know a command that the others do not.
 *
 * To add a command: write cli/cmd-<name>.c (its options and its run), declare both below, add its row
 * in cli/command.c and its page docs/man/box-<name>.1.scd. The lint tests say what was forgotten.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/error.h"
#include "cli/option.h"

struct session;

/* What a command needs: met by session_prepare in this order, before it runs. */
enum need {
	NEED_ROOT = 1 << 0, /* effective user id 0 */
	NEED_VIRT = 1 << 1, /* a connection to libvirt */
	NEED_BOX =
		1
		<< 2, /* the first argument names a box of ours: session->box; implies NEED_VIRT */
	NEED_BOXES = 1 << 3, /* every argument does; implies NEED_VIRT */
	NEED_STOPPED = 1 << 4, /* with NEED_BOX: it is shut off */
	NEED_RUNNING = 1 << 5, /* with NEED_BOX: it runs */
	CONFIRM = 1 << 6, /* ask first, with the wording of .confirm; takes --force */
	TAKES_FORCE = 1 << 7, /* --force with a meaning of the command's own */
	TAKES_JSON = 1 << 8, /* --json */
	TAKES_REST = 1 << 9, /* arguments after the first own_args are another program's */
	RUN_CONTRACT = 1 << 10, /* exit status 125 to 127 and fault lines: cli/fault.h */
	HIDDEN = 1 << 11, /* not in help, no manual page */
};

enum { ARGS_ANY = 1 << 20, COMMAND_WORDS_MAX = 4 };

struct command {
	const char *name;
	const char *alias; /* NULL: none */
	const char *group; /* heading in help; the same for rows that follow one another */
	const char *args; /* synopsis behind the name: "BOX [LABEL]"; "" when there is none */
	const char *summary; /* a line, no capital, no full stop */
	/*
	 * Wording of the question, "{}" standing for the arguments and "{1}" for the first of them:
	 * "remove {} and its snapshots".
	 */
	const char *confirm;
	unsigned min_args, max_args;
	size_t own_args; /* with TAKES_REST */
	unsigned needs;
	/* What completes each argument; the last repeats when max_args is ARGS_ANY. */
	enum word complete[COMMAND_WORDS_MAX];
	const char *const *actions; /* for WORD_ACTION, NULL-terminated */
	const struct option_table *options; /* NULL: none of its own */
	/*
	 * Do it. 0: success, and the exit status is session->status (0 unless set); -1: err is filled and
	 * nobody has printed it. Arguments have been counted and needs are met.
	 */
	int (*run)(struct session *s, const struct call *call, struct error *err);
};

extern const struct command commands[];
extern const size_t command_count;

/* The row of this name or alias; NULL when there is none. */
const struct command *command_find(const char *name);

/* As command_find; ERROR_USAGE with the nearest name when there is none. */
const struct command *command_get(const char *name, struct error *err) MUST_CHECK;

/* Usage errors about the number of arguments, naming the missing one from the synopsis. */
int command_check_args(
	const struct command *command, const struct call *call, struct error *err) MUST_CHECK;

/* What options_parse needs to know of this command. */
struct option_rules command_rules(const struct command *command);

/* One declaration a command: cli/cmd-<name>.c. */
#define COMMAND_RUN(name) \
	int cmd_##name(struct session *s, const struct call *call, struct error *err)

COMMAND_RUN(complete);
COMMAND_RUN(completion);
COMMAND_RUN(cp);
extern const struct option_table cmd_cp_options;
COMMAND_RUN(doctor);
COMMAND_RUN(drill);
COMMAND_RUN(drill_box);
extern const struct option_table cmd_doctor_options;
extern const struct option_table cmd_drill_options;
COMMAND_RUN(down);
COMMAND_RUN(exec);
extern const struct option_table cmd_exec_options;
COMMAND_RUN(expose);
extern const struct option_table cmd_expose_options;
COMMAND_RUN(help);
COMMAND_RUN(image);
extern const struct option_table cmd_image_options;
extern const char *const cmd_image_actions[];
COMMAND_RUN(info);
COMMAND_RUN(list);
COMMAND_RUN(new);
extern const struct option_table cmd_new_options;
COMMAND_RUN(proxy);
COMMAND_RUN(restart);
COMMAND_RUN(rename);
COMMAND_RUN(restore);
COMMAND_RUN(rm);
COMMAND_RUN(root);
COMMAND_RUN(setup_host);
COMMAND_RUN(run);
extern const struct option_table cmd_run_options;
COMMAND_RUN(shell);
COMMAND_RUN(snapshot);
extern const struct option_table cmd_snapshot_options;
COMMAND_RUN(ssh_config);
extern const struct option_table cmd_ssh_config_options;
COMMAND_RUN(start);
COMMAND_RUN(status);
COMMAND_RUN(teardown_host);
extern const struct option_table cmd_teardown_host_options;
COMMAND_RUN(templates);
COMMAND_RUN(tmux);
COMMAND_RUN(version);
COMMAND_RUN(virsh);

#endif

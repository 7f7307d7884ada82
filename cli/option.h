/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options as tables. A command describes its options in rows that point into a struct of its own;
 * the same rows make its help, its completion and the comparison with its manual page. A command
 * sees typed and checked values, never a word of the command line that is an option.
 *
 *	struct exec_options { const char *user; uint64_t timeout_ms; bool tty; };
 *	static const struct option_row rows[] = {
 *		{
 *			.name = "timeout",
 *			.arg = "D",
 *			.help = "end the command after this time: 90s, 5m, 2h",
 *			.kind = OPTION_DURATION,
 *			.offset = offsetof(struct exec_options, timeout_ms),
 *		},
 *		...
 *	};
 *	const struct option_table cmd_exec_options = OPTION_TABLE(struct exec_options, rows);
 *
 * Words: "--name value", "--name=value", "-n value"; "--" ends options; "-" alone is an argument. The
 * last of a repeated option counts.
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a value must be, and the type of the member at offset. A member not given stays 0. */
enum option_kind {
	OPTION_FLAG, /* bool; takes no value */
	OPTION_TEXT, /* const char *, lent from the command line, not empty */
	OPTION_NAME, /* const char *, a box name */
	OPTION_LABEL, /* const char *, a snapshot label */
	OPTION_NUMBER, /* uint64_t, 1 or more */
	OPTION_SIZE, /* uint64_t, bytes */
	OPTION_DURATION, /* uint64_t, milliseconds */
};

/* What completes a word: option_row.complete, command.complete. */
enum word {
	WORD_NONE,
	WORD_BOX,
	WORD_BOX_OR_ALL,
	WORD_BOX_PATH, /* BOX:PATH or a file */
	WORD_BOX_OR_LABEL, /* for --from: BOX or BOX/LABEL */
	WORD_LABEL, /* of the box named before */
	WORD_TEMPLATE,
	WORD_IMAGE,
	WORD_COMMAND, /* of box */
	WORD_SHELL, /* bash, zsh, fish */
	WORD_FILE, /* left to the shell */
	WORD_ACTION, /* a command's own first word: command.actions */
};

struct option_row {
	const char *name; /* long, without dashes */
	char letter; /* 0: none */
	const char *arg; /* what help calls the value; NULL for flags */
	const char *help; /* a line, no capital, no full stop */
	enum option_kind kind;
	enum word complete; /* of the value */
	unsigned
		when; /* globals only: the command must have one of these needs; 0: every command */
	size_t offset;
};

struct option_table {
	const struct option_row *rows;
	size_t count;
	size_t size; /* of the struct that the offsets point into */
};

#define OPTION_TABLE(type, array)                                                 \
	{                                                                         \
		.rows = (array), .count = ARRAY_LEN(array), .size = sizeof(type), \
	}

/* The options that every command takes, or every command with such a need (option_row.when). */
struct global_options {
	const char *connect;
	bool json, quiet, timing, no_input, force, help, version;
};
extern const struct option_table option_globals;

/* One call of a command: its words, sorted. */
struct call {
	const char **
		args; /* the array is owned, its texts are lent from the command line; NULL-terminated */
	size_t count;
	bool dashes; /* there was a "--" */
	size_t before; /* how many of the arguments stood before it; count without one */
	void *options; /* owned; the command's own struct; NULL when it has no options */
	struct global_options global;
};
void call_done(struct call *call);

/* How to sort: the command's own table (may be NULL) and what it needs. */
struct option_rules {
	const struct option_table *own;
	unsigned needs; /* for option_row.when */
	/*
	 * When takes_rest, arguments after the first own_args are another program's words. Options of
	 * ours may not stand between them: they need "--" before them, and the error says so.
	 */
	bool takes_rest;
	size_t own_args;
};

/*
 * Sort count words (those after the command's name). --help and --version are seen before anything is
 * checked, unless "--" comes first. ERROR_USAGE names the word and, for an unknown option, the nearest.
 */
int options_parse(const struct option_rules *rules, const char *const *words, size_t count,
	struct call *ret, struct error *err) MUST_CHECK;

/* True when the global row is one of a command with these needs. */
bool option_applies(const struct option_row *row, unsigned needs);

#endif

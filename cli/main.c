/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The box program: find the command, sort its words, meet its needs, run it, tell how it ended. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/session.h"
#include "config.h"

/* --help and --version: on stdout, before any precondition. */
static int answer(const struct command *command, const struct call *call, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (!call->global.help)
		return output_line(err, "box %s", BOX_VERSION);
	help_command(command, &text);
	return output_str(&text, err);
}

static int run(const struct command *command, const struct call *call, char **argv)
{
	struct error err = { 0 };
	struct session s;
	int ret;

	session_init(&s, command, call, argv);
	ret = session_prepare(&s, call, &err);
	if (ret == 0)
		ret = command->run(&s, call, &err);
	session_done(&s);
	if (ret == 0)
		return s.status;
	ret = program_report(command, s.fault, &err);
	if (err.kind == ERROR_INTERRUPTED)
		interrupt_die();
	return ret;
}

static int dispatch(const struct command *command, int argc, char **argv)
{
	_cleanup_(call_done) struct call call = { 0 };
	struct option_rules rules = command_rules(command);
	struct error err = { 0 };
	int ret;

	ret = options_parse(&rules, (const char *const *)argv + 2, (size_t)argc - 2, &call, &err);
	if (ret == 0 && (call.global.help || call.global.version))
		ret = answer(command, &call, &err);
	else if (ret == 0 && (ret = command_check_args(command, &call, &err)) == 0)
		return run(command, &call, argv);
	return ret < 0 ? program_report(command, FAULT_NONE, &err) : 0;
}

/* The words that may stand in a command's place. */
static const char *command_word(int argc, char **argv)
{
	if (argc < 2 || str_equal(argv[1], "--help") || str_equal(argv[1], "-h"))
		return "help";
	if (str_equal(argv[1], "--version") || str_equal(argv[1], "-V"))
		return "version";
	return argv[1];
}

int main(int argc, char **argv)
{
	const char *word = command_word(argc, argv), *debug = getenv("BOX_DEBUG");
	char *bare[] = { argv[0], (char *)word, NULL };
	const struct command *command = NULL;
	struct error err = { 0 };

	program_begin();
	log_debug_enable(debug && *debug && !str_equal(debug, "0"));
	if (word[0] == '-')
		error_set(
			&err, ERROR_USAGE, "options come after the command: box COMMAND %s", word);
	else
		command = command_get(word, &err);
	if (!command)
		return program_report(NULL, FAULT_NONE, &err);
	return argc < 2 ? dispatch(command, 2, bare) : dispatch(command, argc, argv);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

/* A caller may have closed 0, 1 or 2: whatever is opened next must not be taken for one of them. */
static void open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

void program_begin(void)
{
	open_standard_descriptors();
	/* A daemon that goes away in the middle of a command is an error with a text (cli/output.c). */
	(void)signal(SIGPIPE, SIG_IGN);
}

static void print(const struct str *text)
{
	(void)!write(STDERR_FILENO, str_get(text), text->len);
}

/* Whoever filled it may have quoted words of the command line, or a reason from below, as they came. */
static void plain_line(const struct error *err, struct str *into)
{
	str_append(into, "box: ");
	str_append_escaped(into, err->text, strlen(err->text), true);
	str_append_char(into, '\n');
}

int program_report(const struct command *command, enum fault stage, const struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	enum fault fault = fault_of(stage, err);
	bool contract = command && (command->needs & RUN_CONTRACT);

	if (contract)
		fault_line(fault, err, &text);
	else
		plain_line(err, &text);
	if (err->kind == ERROR_USAGE)
		str_printf(&text, "box: try 'box help%s%s'\n", command ? " " : "",
			command ? command->name : "");
	print(&text);
	return contract ? fault_status(fault) : fault_status_plain(err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/help.h"

#include <string.h>

enum { COMMAND_WIDTH = 14, OPTION_WIDTH = 22 };

/* "name args", or "name, alias args" in the overview. */
static void overview_line(const struct command *command, struct str *into)
{
	str_printf(into, "  %-*s%s", COMMAND_WIDTH, command->name, command->summary);
	if (command->alias)
		str_printf(into, " (also: %s)", command->alias);
	str_append_char(into, '\n');
}

void help_overview(struct str *into)
{
	const char *group = NULL;

	str_append(into,
		"usage: box COMMAND [ARGUMENTS] [OPTIONS]\n"
		"Trust-less, network-isolated virtual machines with a coding agent inside.\n");
	for (size_t i = 0; i < command_count; i++) {
		if (commands[i].needs & HIDDEN)
			continue;
		if (!str_equal(group, commands[i].group))
			str_printf(into, "\n%s\n", commands[i].group);
		group = commands[i].group;
		overview_line(&commands[i], into);
	}
	str_append(
		into, "\nRun 'box help COMMAND' for one command; 'man box' explains the whole.\n");
}

static void option_line(const struct option_row *row, struct str *into)
{
	_cleanup_str_ struct str left = STR_INIT;

	if (row->letter)
		str_printf(&left, "-%c, ", row->letter);
	str_printf(&left, "--%s", row->name);
	if (row->arg)
		str_printf(&left, " %s", row->arg);
	if (left.len > OPTION_WIDTH - 2)
		str_printf(into, "  %s\n  %-*s%s\n", str_get(&left), OPTION_WIDTH, "", row->help);
	else
		str_printf(into, "  %-*s%s\n", OPTION_WIDTH, str_get(&left), row->help);
}

void help_command(const struct command *command, struct str *into)
{
	const struct option_table *own = command->options;

	str_printf(into, "usage: box %s [OPTIONS]%s%s\n", command->name, *command->args ? " " : "",
		command->args);
	str_printf(into, "%s\n", command->summary);
	if (command->alias)
		str_printf(into, "The same as: box %s\n", command->alias);
	if (own && own->count)
		str_append(into, "\nOptions\n");
	for (size_t i = 0; own && i < own->count; i++)
		option_line(&own->rows[i], into);
	str_append(into, "\nGeneral options\n");
	for (size_t i = 0; i < option_globals.count; i++)
		if (option_applies(&option_globals.rows[i], command->needs))
			option_line(&option_globals.rows[i], into);
	str_printf(into, "\nThe manual page is box-%s(1).\n", command->name);
}

static int add_option(json_t *list, const struct option_row *row, bool general, struct error *err)
{
	const char letter[2] = { row->letter, '\0' };
	json_t *object = json_object();

	if (json_add_new(list, object, err) < 0 || /* the list owns it from here on */
		json_set_text(object, "name", row->name, err) < 0 ||
		json_set_text(object, "letter", row->letter ? letter : NULL, err) < 0 ||
		json_set_text(object, "argument", row->arg, err) < 0 ||
		json_set_text(object, "help", row->help, err) < 0 ||
		json_set_bool(object, "general", general, err) < 0)
		return -1;
	return 0;
}

static int add_options(json_t *object, const struct command *command, struct error *err)
{
	const struct option_table *own = command->options;
	json_t *list = json_array();

	if (json_set_new(object, "options", list, err) < 0)
		return -1;
	for (size_t i = 0; own && i < own->count; i++)
		if (add_option(list, &own->rows[i], false, err) < 0)
			return -1;
	for (size_t i = 0; i < option_globals.count; i++)
		if (option_applies(&option_globals.rows[i], command->needs) &&
			add_option(list, &option_globals.rows[i], !option_globals.rows[i].when,
				err) < 0)
			return -1;
	return 0;
}

static int add_command(json_t *list, const struct command *command, struct error *err)
{
	json_t *object = json_object();

	if (json_add_new(list, object, err) < 0 ||
		json_set_text(object, "name", command->name, err) < 0 ||
		json_set_text(object, "alias", command->alias, err) < 0 ||
		json_set_text(object, "group", command->group, err) < 0 ||
		json_set_text(object, "arguments", command->args, err) < 0 ||
		json_set_text(object, "summary", command->summary, err) < 0)
		return -1;
	return add_options(object, command, err);
}

json_t *help_json(struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	if (!list)
		error_oom(err);
	for (size_t i = 0; list && i < command_count; i++)
		if (!(commands[i].needs & HIDDEN) && add_command(list, &commands[i], err) < 0)
			return NULL;
	return TAKE(list);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* What the line is completed with. */
struct line {
	const struct command *command;
	const char *prefix; /* what the candidate must begin with */
	const char
		*before; /* put before each candidate: "--template=" in shells that keep it whole */
	const char *first; /* the first argument; NULL */
	const struct complete_source *source;
	struct str *into;
};

static void offer_len(const struct line *line, const char *word, size_t len, const char *help)
{
	size_t prefix = strlen(line->prefix);

	if (len < prefix || strncmp(word, line->prefix, prefix) != 0)
		return;
	str_append(line->into, line->before);
	str_append_len(line->into, word, len);
	if (help)
		str_printf(line->into, "\t%s", help);
	str_append_char(line->into, '\n');
}

static void offer(const struct line *line, const char *word, const char *help)
{
	offer_len(line, word, strlen(word), help);
}

static void offer_list(const struct line *line, const char *const *words)
{
	for (; words && *words; words++)
		offer(line, *words, NULL);
}

static void offer_commands(const struct line *line)
{
	for (size_t i = 0; i < command_count; i++) {
		if (commands[i].needs & HIDDEN)
			continue;
		offer(line, commands[i].name, commands[i].summary);
		if (commands[i].alias)
			offer(line, commands[i].alias, commands[i].summary);
	}
}

/* Words that the host knows: boxes, labels, templates, images; behind each, after. */
static void offer_asked(const struct line *line, enum word kind, const char *after)
{
	_cleanup_str_ struct str words = STR_INIT;
	const char *at;

	if (!line->source)
		return;
	line->source->words(kind, line->first, &words, line->source->data);
	for (at = str_get(&words); *at;) {
		size_t len = strcspn(at, "\n");
		_cleanup_str_ struct str word = STR_INIT;

		str_append_len(&word, at, len);
		str_append(&word, after);
		offer(line, str_get(&word), NULL);
		at += len + (at[len] == '\n');
	}
}

static void offer_word(const struct line *line, enum word kind)
{
	static const char *const shells[] = { "bash", "zsh", "fish", NULL };

	switch (kind) {
	case WORD_NONE:
		break;
	case WORD_COMMAND:
		offer_commands(line);
		break;
	case WORD_SHELL:
		offer_list(line, shells);
		break;
	case WORD_ACTION:
		offer_list(line, line->command->actions);
		break;
	case WORD_FILE:
		str_append(line->into, ":file\n");
		break;
	case WORD_BOX_OR_ALL:
		offer(line, "all", "every box");
		offer_asked(line, WORD_BOX, "");
		break;
	case WORD_BOX_PATH:
		str_append(line->into, ":file\n");
		offer_asked(line, WORD_BOX, ":");
		break;
	case WORD_BOX:
	case WORD_BOX_OR_LABEL:
	case WORD_LABEL:
	case WORD_TEMPLATE:
	case WORD_IMAGE:
		offer_asked(line, kind, "");
		break;
	}
}

static void offer_row(const struct line *line, const struct option_row *row)
{
	char word[64];
	int len = snprintf(word, sizeof(word), "--%s", row->name);

	if (len > 0 && (size_t)len < sizeof(word))
		offer(line, word, row->help);
}

static void offer_options(const struct line *line)
{
	const struct option_table *own = line->command->options;

	for (size_t i = 0; own && i < own->count; i++)
		offer_row(line, &own->rows[i]);
	for (size_t i = 0; i < option_globals.count; i++)
		if (option_applies(&option_globals.rows[i], line->command->needs))
			offer_row(line, &option_globals.rows[i]);
}

static const struct option_row *table_find(
	const struct option_table *table, const char *name, size_t len)
{
	for (size_t i = 0; table && i < table->count; i++)
		if (strlen(table->rows[i].name) == len &&
			strncmp(table->rows[i].name, name, len) == 0)
			return &table->rows[i];
	return NULL;
}

/* The row that "--name" or "--name=..." means and that takes a value; NULL when none does. */
static const struct option_row *value_row(const struct command *command, const char *word)
{
	const struct option_row *row;
	size_t len;

	if (!str_starts(word, "--"))
		return NULL;
	len = strcspn(word + 2, "=");
	row = table_find(command->options, word + 2, len);
	if (!row)
		row = table_find(&option_globals, word + 2, len);
	return row && row->kind != OPTION_FLAG ? row : NULL;
}

static void offer_argument(const struct line *line, size_t index)
{
	const struct command *command = line->command;

	if (index >= command->max_args ||
		((command->needs & TAKES_REST) && index >= command->own_args))
		return;
	if (command->max_args == ARGS_ANY)
		while (index && (index >= COMMAND_WORDS_MAX || !command->complete[index]))
			index--;
	if (index < COMMAND_WORDS_MAX)
		offer_word(line, command->complete[index]);
}

/* "--name=val" in one word: candidates carry the option, as the shell replaces the whole word. */
static void offer_inline_value(struct line *line, const char *word, const struct option_row *row)
{
	_cleanup_str_ struct str before = STR_INIT;
	const char *equals = strchr(word, '=');

	str_append_len(&before, word, (size_t)(equals + 1 - word));
	line->before = str_get(&before);
	line->prefix = equals + 1;
	offer_word(line, row->complete);
}

static void complete_line(struct line *line, const char *const *words, size_t count)
{
	const char *last = words[count - 1];
	const struct option_row *pending = NULL, *row;
	bool dashes = false;
	size_t args = 0;

	for (size_t i = 1; i + 1 < count; i++) {
		if (pending && str_equal(words[i], "=")) /* bash takes "--name=val" apart */
			continue;
		if (str_equal(words[i], ":")) { /* and "box:path", of which it completes the path */
			if (++i + 1 >= count)
				return;
			continue;
		}
		if (pending) {
			pending = NULL;
		} else if (!dashes && str_equal(words[i], "--")) {
			dashes = true;
		} else if (dashes || words[i][0] != '-') {
			line->first = line->first ? line->first : words[i];
			args++;
		} else if (!strchr(words[i], '=')) {
			pending = value_row(line->command, words[i]);
		}
	}
	if (pending) {
		line->prefix = str_equal(last, "=") ? "" : last;
		offer_word(line, pending->complete);
	} else if (!dashes && last[0] == '-') {
		row = strchr(last, '=') ? value_row(line->command, last) : NULL;
		if (row)
			offer_inline_value(line, last, row);
		else
			offer_options(line);
	} else {
		offer_argument(line, args);
	}
}

void complete_words(const char *const *words, size_t count, const struct complete_source *source,
	struct str *into)
{
	struct line line = { .prefix = count ? words[count - 1] : "",
		.before = "",
		.source = source,
		.into = into };

	if (count <= 1) {
		offer_commands(&line);
		offer(&line, "--help", "list the commands");
		offer(&line, "--version", "print the version");
		return;
	}
	line.command = command_find(words[0]);
	if (line.command && !(line.command->needs & HIDDEN))
		complete_line(&line, words, count);
}

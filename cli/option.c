/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "cli/command.h"

enum { OPTIONS_MAX = 64 };

static const struct option_row global_rows[] = {
	{
		.name = "connect",
		.arg = "URI",
		.help = "the libvirt host to use, instead of $LIBVIRT_DEFAULT_URI or qemu:///system",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct global_options, connect),
	},
	{
		.name = "force",
		.letter = 'f',
		.help = "do not ask first",
		.kind = OPTION_FLAG,
		.when = CONFIRM | TAKES_FORCE,
		.offset = offsetof(struct global_options, force),
	},
	{
		.name = "json",
		.help = "print JSON for programs",
		.kind = OPTION_FLAG,
		.when = TAKES_JSON,
		.offset = offsetof(struct global_options, json),
	},
	{
		.name = "no-input",
		.help = "never ask: fail and print the command that would answer",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct global_options, no_input),
	},
	{
		.name = "quiet",
		.letter = 'q',
		.help = "show no progress",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct global_options, quiet),
	},
	{
		.name = "timing",
		.help = "print what each step took, in milliseconds",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct global_options, timing),
	},
	{
		.name = "help",
		.letter = 'h',
		.help = "print this and do nothing",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct global_options, help),
	},
	{
		.name = "version",
		.letter = 'V',
		.help = "print the version and do nothing",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct global_options, version),
	},
};

const struct option_table option_globals = OPTION_TABLE(struct global_options, global_rows);

bool option_applies(const struct option_row *row, unsigned needs)
{
	return !row->when || (row->when & needs);
}

void call_done(struct call *call)
{
	free(call->args);
	free(call->options);
	*call = (struct call){ 0 };
}

/* Where parsing is: the words left, and the call that is being filled. */
struct parser {
	const struct option_rules *rules;
	const char *const *words;
	size_t count, next;
	struct call *call;
};

/* An option word, taken apart. */
struct option_word {
	const char *text; /* as it was written */
	const char *name; /* without dashes and value */
	size_t name_len;
	const char *value; /* after "="; NULL */
	bool is_letter;
};

static struct option_word word_split(const char *text)
{
	struct option_word word = { .text = text, .is_letter = text[1] != '-' };
	const char *equals = strchr(text, '=');

	word.name = text + (word.is_letter ? 1 : 2);
	word.name_len = strlen(word.name);
	if (equals && !word.is_letter) {
		word.name_len = (size_t)(equals - word.name);
		word.value = equals + 1;
	}
	return word;
}

static bool row_matches(const struct option_row *row, const struct option_word *word)
{
	if (word->is_letter)
		return row->letter && word->name_len == 1 && word->name[0] == row->letter;
	return strlen(row->name) == word->name_len &&
	       strncmp(row->name, word->name, word->name_len) == 0;
}

/* The row for this word and the struct that its offset points into. */
static const struct option_row *row_find(
	struct parser *p, const struct option_word *word, void **ret_base)
{
	const struct option_table *own = p->rules->own;

	for (size_t i = 0; own && i < own->count; i++) {
		*ret_base = p->call->options;
		if (row_matches(&own->rows[i], word))
			return &own->rows[i];
	}
	for (size_t i = 0; i < option_globals.count; i++) {
		*ret_base = &p->call->global;
		if (row_matches(&global_rows[i], word) &&
			option_applies(&global_rows[i], p->rules->needs))
			return &global_rows[i];
	}
	return NULL;
}

static int unknown_option(struct parser *p, const struct option_word *word, struct error *err)
{
	const struct option_table *own = p->rules->own;
	_cleanup_str_ struct str shown = STR_INIT, name = STR_INIT;
	const char *names[OPTIONS_MAX];
	size_t count = 0;
	const char *near;

	for (size_t i = 0; own && i < own->count && count < OPTIONS_MAX; i++)
		names[count++] = own->rows[i].name;
	for (size_t i = 0; i < option_globals.count && count < OPTIONS_MAX; i++)
		if (option_applies(&global_rows[i], p->rules->needs))
			names[count++] = global_rows[i].name;
	str_append_escaped(&shown, word->text,
		word->value ? (size_t)(word->value - 1 - word->text) : strlen(word->text), false);
	str_append_len(&name, word->name, word->name_len);
	near = str_nearest(str_get(&name), names, count);
	error_set(err, ERROR_USAGE, "unknown option '%s'", str_get(&shown));
	return near ? error_hint(err, "; did you mean '--%s'?", near) : -1;
}

static int value_store(const struct option_row *row, void *at, const char *value, const char *what,
	struct error *err)
{
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_NUMBER:
		return parse_u64(value, 1, UINT32_MAX, what, at, err);
	case OPTION_SIZE:
		return parse_size(value, what, at, err);
	case OPTION_DURATION:
		return parse_duration(value, what, at, err);
	case OPTION_NAME:
		if (parse_box_name(value, err) < 0)
			return error_wrap(err, "%s", what);
		break;
	case OPTION_LABEL:
		if (parse_label(value, err) < 0)
			return error_wrap(err, "%s", what);
		break;
	case OPTION_TEXT:
		break;
	}
	*(const char **)at = value;
	return 0;
}

static int take_option(struct parser *p, struct error *err)
{
	struct option_word word = word_split(p->words[p->next++]);
	const struct option_row *row;
	const char *value = word.value;
	char what[64];
	void *base;

	row = row_find(p, &word, &base);
	if (!row)
		return unknown_option(p, &word, err);
	snprintf(what, sizeof(what), "--%s", row->name);
	if (row->kind == OPTION_FLAG && value)
		return error_set(err, ERROR_USAGE, "option '%s' takes no value", what);
	/* A value that looks like an option is a forgotten value far more often than a value. */
	if (row->kind != OPTION_FLAG && !value && p->next < p->count &&
		!str_starts(p->words[p->next], "--"))
		value = p->words[p->next++];
	if (row->kind != OPTION_FLAG && (!value || !*value))
		return error_set(
			err, ERROR_USAGE, "option '%s' needs a value: %s %s", what, what, row->arg);
	return value_store(row, (char *)base + row->offset, value, what, err);
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* --help and --version count wherever they stand, before anything else is looked at. */
static void find_help(struct parser *p)
{
	for (size_t i = 0; i < p->count && !str_equal(p->words[i], "--"); i++) {
		if (str_equal(p->words[i], "--help") || str_equal(p->words[i], "-h"))
			p->call->global.help = true;
		if (str_equal(p->words[i], "--version") || str_equal(p->words[i], "-V"))
			p->call->global.version = true;
	}
}

static int take_words(struct parser *p, struct error *err)
{
	const struct option_rules *rules = p->rules;
	struct call *call = p->call;

	while (p->next < p->count) {
		const char *word = p->words[p->next];

		if (!call->dashes && str_equal(word, "--")) {
			call->dashes = true;
			call->before = call->count;
			p->next++;
		} else if (call->dashes || !is_option(word)) {
			call->args[call->count++] = word;
			p->next++;
		} else if (rules->takes_rest && call->count > rules->own_args) {
			_cleanup_str_ struct str shown = STR_INIT;

			str_append_escaped(&shown, word, strlen(word), false);
			return error_set(err, ERROR_USAGE,
				"'%s' comes after the first word of the command to run; put '--' before "
				"that word, and box's own options before the '--'",
				str_get(&shown));
		} else if (take_option(p, err) < 0) {
			return -1;
		}
	}
	if (!call->dashes)
		call->before = call->count;
	return 0;
}

int options_parse(const struct option_rules *rules, const char *const *words, size_t count,
	struct call *ret, struct error *err)
{
	_cleanup_(call_done) struct call call = { 0 };
	struct parser p = { .rules = rules, .words = words, .count = count, .call = &call };

	call.args = calloc(count + 1, sizeof(*call.args));
	if (rules->own)
		call.options = calloc(1, MAX(rules->own->size, 1u));
	if (!call.args || (rules->own && !call.options))
		return error_oom(err);
	find_help(&p);
	if (!call.global.help && !call.global.version && take_words(&p, err) < 0)
		return -1;
	*ret = call;
	call = (struct call){ 0 };
	return 0;
}

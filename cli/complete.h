/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can follow on a command line. The shells' scripts (box completion SHELL) know nothing: they hand
 * the words to "box __complete" and offer the lines that come back.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "base/str.h"
#include "cli/option.h"

/* Asked for words that only the host knows; appends lines, and nothing when it cannot. */
struct complete_source {
	/* before: the first argument on the line, for WORD_LABEL; NULL when there is none. */
	void (*words)(enum word kind, const char *before, struct str *into, void *data);
	void *data;
};

/*
 * Append the candidates for the last of count words, a line each ("word" or "word<TAB>help"), those that
 * do not begin with it left out. words[0] is the command. A single line ":file" asks the shell for files.
 */
void complete_words(const char *const *words, size_t count, const struct complete_source *source,
	struct str *into);

#endif

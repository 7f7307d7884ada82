/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Standard output: what a command answers, and nothing else. A write that fails (a full disk, say) is
 * an error of the command, since half an answer is none.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/table.h"

int output_text(const char *text, struct error *err) MUST_CHECK;
int output_line(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3) MUST_CHECK;
int output_str(const struct str *text, struct error *err) MUST_CHECK;
int output_table(struct table *table, struct error *err) MUST_CHECK;

/*
 * The document that every listing prints with --json: {"schema": schema, "<key>": list}. The list is
 * given away, on failure too; NULL stands for "out of memory before".
 */
int output_listing(unsigned schema, const char *key, json_t *list, struct error *err) MUST_CHECK;

/* An object of the caller's own; it carries its "schema" itself. */
int output_json(const json_t *json, struct error *err) MUST_CHECK;

#endif

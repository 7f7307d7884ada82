/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns for people: a heading row, cells padded to the widest of their column, two spaces between,
 * nothing after the last. Cells may hold a stranger's bytes; they are escaped on the way in.
 *
 *	static const char *const headings[] = { "NAME", "STATE" };
 *	_cleanup_(table_done) struct table t = TABLE_INIT(headings);
 *	table_cell(&t, "web");
 *	table_cell(&t, "running");      row by row, left to right
 *	table_render(&t, &text, err);
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/str.h"

enum { TABLE_COLUMNS_MAX = 16 };

struct table {
	const char *const *headings; /* lent; NULL: rows only */
	size_t columns; /* 1 to TABLE_COLUMNS_MAX */
	char **cells; /* owned, as are the texts; row after row */
	size_t count, cap;
	bool failed; /* an allocation failed; sticky, told by table_render */
};

#define TABLE_INIT(names)                                         \
	{                                                         \
		.headings = (names), .columns = ARRAY_LEN(names), \
	}

void table_done(struct table *t);

/* The next cell; NULL or "" is shown as "-", so that every row has the same number of words. */
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Append all rows, each ended by a newline. A last row that is short is padded with "-". */
int table_render(struct table *t, struct str *into, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/table.h"

#include <stdint.h>
#include <string.h>

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	t->cells = NULL;
	t->count = t->cap = 0;
}

/* Columns on screen, taking each character as one wide: bytes that do not continue a UTF-8 one. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			width++;
	return width;
}

static int cells_grow(struct table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 32;
	char **cells = NULL;

	if (t->count < t->cap)
		return 0;
	if (cap < SIZE_MAX / sizeof(*cells))
		cells = realloc(t->cells, cap * sizeof(*cells));
	if (!cells)
		return -1;
	t->cells = cells;
	t->cap = cap;
	return 0;
}

void table_cell(struct table *t, const char *text)
{
	_cleanup_str_ struct str safe = STR_INIT;
	struct error ignored = { 0 };
	char *cell;

	if (!text || !*text)
		text = "-";
	str_append_escaped(&safe, text, strlen(text), false);
	cell = str_take(&safe, &ignored);
	if (!cell || t->failed || cells_grow(t) < 0) {
		free(cell);
		t->failed = true;
		return;
	}
	t->cells[t->count++] = cell;
}

void table_cellf(struct table *t, const char *fmt, ...)
{
	_cleanup_str_ struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	t->failed |= text.failed;
	table_cell(t, str_get(&text));
}

static void widths_take(size_t *widths, const char *const *row, size_t columns)
{
	for (size_t i = 0; i < columns; i++)
		widths[i] = MAX(widths[i], text_width(row[i]));
}

static void row_render(
	const char *const *row, const size_t *widths, size_t columns, struct str *into)
{
	for (size_t i = 0; i < columns; i++) {
		str_append(into, row[i]);
		if (i + 1 == columns)
			break;
		for (size_t pad = text_width(row[i]); pad < widths[i] + 2; pad++)
			str_append_char(into, ' ');
	}
	str_append_char(into, '\n');
}

int table_render(struct table *t, struct str *into, struct error *err)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	while (t->count % t->columns && !t->failed)
		table_cell(t, NULL);
	if (t->failed)
		return error_oom(err);
	if (t->headings)
		widths_take(widths, t->headings, t->columns);
	for (size_t i = 0; i < t->count; i += t->columns)
		widths_take(widths, (const char *const *)t->cells + i, t->columns);
	if (t->headings)
		row_render(t->headings, widths, t->columns, into);
	for (size_t i = 0; i < t->count; i += t->columns)
		row_render((const char *const *)t->cells + i, widths, t->columns, into);
	return str_ok(into, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of layers: part of vmm/layer-graph.h. */
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "vmm/layer-graph.h"

void layer_name_format(const char *uuid, uint64_t number, char *buf, size_t len)
{
	(void)snprintf(buf, len, "box-%s-%" PRIu64 ".qcow2", uuid, number);
}

/* Lower-case hexadecimal digits and dashes at 8, 13, 18, 23. */
static bool is_uuid(const char *text)
{
	for (size_t i = 0; i < LAYER_UUID_MAX - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');

		if (dash ? text[i] != '-' : !hex)
			return false;
	}
	return true;
}

/* "-<number>.qcow2": no leading zero, at most nine digits. */
static uint64_t parse_number(const char *text)
{
	uint64_t number = 0;
	size_t i = 1;

	if (text[0] != '-' || text[1] == '0')
		return 0;
	while (i <= 9 && text[i] >= '0' && text[i] <= '9')
		number = number * 10 + (uint64_t)(text[i++] - '0');
	return str_equal(text + i, ".qcow2") ? number : 0;
}

enum layer_kind layer_name_parse(const char *name, char uuid[LAYER_UUID_MAX], uint64_t *number)
{
	uint64_t n = 0;

	if (str_starts(name, "golden-"))
		return LAYER_GOLDEN;
	if (str_starts(name, "base-"))
		return LAYER_BASE;
	if (str_starts(name, "box-") && is_uuid(name + 4))
		n = parse_number(name + 4 + LAYER_UUID_MAX - 1);
	if (n == 0)
		return LAYER_OTHER;
	if (uuid)
		(void)snprintf(uuid, LAYER_UUID_MAX, "%.*s", LAYER_UUID_MAX - 1, name + 4);
	if (number)
		*number = n;
	return LAYER_BOX;
}

uint64_t layer_graph_next_number(const struct layer_graph *g, const char *uuid)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < g->len; i++)
		if (str_equal(g->layers[i].uuid, uuid) && g->layers[i].number > highest)
			highest = g->layers[i].number;
	return highest + 1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/box-text.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "cli/interrupt.h"
#include "vmm/pool.h"
#include "vmm/recover.h"

const char *box_address_text(uint32_t address, char buf[16])
{
	buf[0] = '\0';
	if (address)
		snprintf(buf, 16, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
			address >> 8 & 255, address & 255);
	return buf;
}

/* ---- starting ---- */

static void show_stage(const struct guest_stage *stage, void *data)
{
	struct session *s = data;

	if (stage->state == GUEST_RUNNING)
		progress_detail(&s->progress, stage->name);
}

/* BOX_READY_TIMEOUT, in milliseconds; 0: the default. */
static uint64_t ready_ms(struct session *s)
{
	const char *text = getenv("BOX_READY_TIMEOUT");
	struct error err = { 0 };
	uint64_t ms = 0;

	if (text && *text && parse_duration(text, "BOX_READY_TIMEOUT", &ms, &err) < 0)
		session_warn(s, "%s; it is not used", err.text);
	return ms;
}

struct start_watch session_start_watch(struct session *s)
{
	int fd = interrupt_fd();

	return (struct start_watch){
		.observer = &s->observer,
		.stage = show_stage,
		.data = s,
		.interrupt_fd = fd > 0 ? fd : 0,
		.ready_ms = ready_ms(s),
	};
}

void session_show_console(struct session *s, const struct str *tail)
{
	const char *line = str_get(tail);

	if (!*line)
		return;
	progress_message(&s->progress, "the last lines of its console:");
	while (*line) {
		size_t len = strcspn(line, "\n");

		progress_message(&s->progress, "  | %.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* ---- several boxes ---- */

void box_names_free(struct box_names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct box_names){ 0 };
}

static int add_name(struct box_names *names, const char *name, struct error *err)
{
	char *copy = str_dup(name, err);

	if (!copy)
		return -1;
	names->items[names->len++] = copy;
	return 0;
}

static int all_names(struct session *s, struct box_names *ret, struct error *err)
{
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;

	if (box_list(s->conn, &rows, err) < 0)
		return -1;
	ret->items = calloc(rows.len + 1, sizeof(*ret->items));
	if (!ret->items)
		return error_oom(err);
	vec_foreach(struct box_row, row, &rows) {
		if (add_name(ret, row->name, err) < 0)
			return -1;
	}
	return 0;
}

int box_names_of_call(
	struct session *s, const struct call *call, struct box_names *ret, struct error *err)
{
	_cleanup_box_names_ struct box_names names = { 0 };

	if (call->count == 1 && str_equal(call->args[0], "all")) {
		if (all_names(s, &names, err) < 0)
			return -1;
		if (names.len == 0)
			session_note(s, "no boxes yet");
	} else {
		names.items = calloc(call->count + 1, sizeof(*names.items));
		if (!names.items)
			return error_oom(err);
		for (size_t i = 0; i < call->count; i++) {
			if (str_equal(call->args[i], "all"))
				return error_set(err, ERROR_USAGE, "'all' stands alone: box %s all",
					s->command->name);
			if (add_name(&names, call->args[i], err) < 0)
				return -1;
		}
	}
	*ret = names;
	names = (struct box_names){ 0 };
	return 0;
}

int box_each(struct session *s, const struct box_names *names, box_act act, void *data,
	struct error *err)
{
	size_t failed = 0;

	for (size_t i = 0; i < names->len; i++) {
		if (act(s, names->items[i], data, err) == 0)
			continue;
		if (names->len == 1 || err->kind == ERROR_INTERRUPTED)
			return -1;
		progress_message(&s->progress, "%s", err->text);
		error_clear(err);
		failed++;
	}
	if (failed)
		return error_set(err, ERROR_FAILED, "%zu of %zu boxes failed", failed, names->len);
	return 0;
}

/* ---- before a change ---- */

static void tell(const char *text, void *data)
{
	session_note(data, "%s", text);
}

int session_change(struct session *s, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;

	if (interrupt_watch(err) < 0)
		return -1;
	virt_interrupt_flag(interrupt_flag());
	pool = pool_open(s->conn, err);
	if (!pool)
		return -1;
	recover_all(s->conn, pool, tell, s);
	return interrupt_check(err);
}

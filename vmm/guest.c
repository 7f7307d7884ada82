/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests other than commands: vmm/guest.h says what each does. */
#include "vmm/guest.h"

#include <string.h>

#include "base/fd.h"
#include "vmm/guest-session.h"
#include "vmm/virt.h"

enum { ITEMS_MAX = 1000, STAGES_MAX = 1000, STAGE_NAME_MAX = 96 };

void guest_items_free(struct guest_items *items)
{
	vec_foreach(struct guest_item, item, items) {
		free(item->name);
		free(item->value);
		free(item->error);
	}
	guest_items_done(items);
}

const char *guest_items_get(const struct guest_items *items, const char *name)
{
	vec_foreach(struct guest_item, item, items) {
		if (str_equal(item->name, name))
			return item->value;
	}
	return NULL;
}

/* Text of the guest, escaped, given. */
static char *escaped(const struct field *f, bool lines, struct error *err)
{
	struct str text = STR_INIT;

	str_append_escaped(&text, f->bytes, f->len, lines);
	return str_take(&text, err);
}

static int item_field(struct guest_items *items, const struct field *f, struct error *err)
{
	struct guest_item *last = items->len ? &items->items[items->len - 1] : NULL;
	char *text;

	if (f->tag == FIELD_NAME) {
		struct guest_item item = { 0 };

		if (items->len == ITEMS_MAX)
			return error_set(
				err, ERROR_INVALID, "the agent of the box sent too many items");
		item.name = escaped(f, false, err);
		if (!item.name)
			return -1;
		if (guest_items_push(items, item, err) < 0) {
			free(item.name);
			return -1;
		}
		return 0;
	}
	if ((f->tag != FIELD_VALUE && f->tag != FIELD_ERROR) || !last || last->value || last->error)
		return error_set(
			err, ERROR_INVALID, "the agent of the box sent a malformed answer");
	text = escaped(f, false, err);
	if (!text)
		return -1;
	if (f->tag == FIELD_VALUE)
		last->value = text;
	else
		last->error = text;
	return 0;
}

static int read_items(const struct frame *frame, struct guest_items *ret, struct error *err)
{
	struct field_reader reader = { frame->payload, frame->payload + frame->len };
	_cleanup_guest_items_ struct guest_items items = VEC_INIT;
	struct field f;
	int found;

	while ((found = field_next(&reader, &f, err)) > 0) {
		if (item_field(&items, &f, err) < 0)
			return -1;
	}
	if (found < 0)
		return error_wrap(err, "the agent of the box sent a malformed answer");
	*ret = items;
	items = (struct guest_items)VEC_INIT;
	return 0;
}

static int await_answer(
	struct guest *g, uint64_t deadline, struct guest_items *ret, struct error *err)
{
	struct frame frame;
	enum refuse_reason reason;
	int errnum;

	if (guest_await(g, deadline, &frame, err) < 0)
		return -1;
	if (frame.type == FRAME_REFUSED)
		return guest_refused(&frame, &reason, &errnum, err);
	if (frame.type != FRAME_ANSWER)
		return guest_unexpected(&frame, err);
	return read_items(&frame, ret, err);
}

/* A request and its answer. */
static int ask(struct guest *g, enum frame_type type, const struct str *fields,
	const struct guest_wait *wait, struct guest_items *ret, struct error *err)
{
	uint64_t deadline;
	int result = -1;

	if (guest_wait_begin(g, wait, &deadline, err) < 0)
		return -1;
	if (guest_send(g, type, fields, deadline, err) == 0)
		result = await_answer(g, deadline, ret, err);
	guest_wait_end(g);
	return result;
}

int guest_info(
	struct guest *g, const struct guest_wait *wait, struct guest_items *ret, struct error *err)
{
	const struct str none = STR_INIT;

	return ask(g, FRAME_INFO, &none, wait, ret, err);
}

/* The first item that failed becomes the error. */
static int check_items(const struct guest_items *items, const char *what, struct error *err)
{
	vec_foreach(struct guest_item, item, items) {
		if (item->error)
			return error_set(
				err, ERROR_FAILED, "%s: '%s': %s", what, item->name, item->error);
	}
	return 0;
}

int guest_identity(struct guest *g, const struct guest_identity *items, size_t count,
	const struct guest_wait *wait, struct guest_items *ret, struct error *err)
{
	_cleanup_str_ struct str fields = STR_INIT;
	struct guest_items answer = VEC_INIT;

	for (size_t i = 0; i < count; i++) {
		field_put_text(&fields, FIELD_NAME, items[i].name);
		field_put_text(&fields, FIELD_VALUE, items[i].value);
	}
	if (ask(g, FRAME_IDENTITY, &fields, wait, &answer, err) < 0)
		return -1;
	*ret = answer;
	if (check_items(&answer, "the box did not take its identity", err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!guest_items_get(&answer, items[i].name))
			return error_set(err, ERROR_INVALID,
				"the box did not say whether it took its new %s", items[i].name);
	}
	return 0;
}

int guest_freeze(
	struct guest *g, uint32_t freeze_ms, const struct guest_wait *wait, struct error *err)
{
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT;
	_cleanup_str_ struct str fields = STR_INIT;

	field_put_u32(&fields, FIELD_TIMEOUT, freeze_ms);
	if (ask(g, FRAME_FREEZE, &fields, wait, &answer, err) < 0)
		return -1;
	if (check_items(&answer, "the file systems of the box cannot be frozen", err) < 0)
		return -1;
	g->frozen = true;
	return 0;
}

/* Has the box thawed already, by its own time limit? Then that answer is there before we ask. */
static bool thawed_before(struct guest *g)
{
	struct error ignored = { 0 };
	struct frame frame;

	return guest_pump(g, &ignored) < 0 || guest_next(g, &frame, &ignored) != 0;
}

int guest_thaw(struct guest *g, const struct guest_wait *wait, struct error *err)
{
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT;
	const struct str none = STR_INIT;

	if (!g->frozen)
		return error_set(err, ERROR_USAGE, "the file systems of the box are not frozen");
	g->frozen = false;
	if (thawed_before(g))
		return error_set(err, ERROR_TIMEOUT,
			"the box thawed its file systems before the end: what was done meanwhile is not "
			"at rest");
	if (ask(g, FRAME_THAW, &none, wait, &answer, err) < 0)
		return -1;
	return check_items(&answer, "the file systems of the box cannot be thawed", err);
}

int guest_power(struct guest *g, bool reboot, const struct guest_wait *wait, struct error *err)
{
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT;
	_cleanup_str_ struct str fields = STR_INIT;

	field_put_text(&fields, FIELD_VALUE, reboot ? "reboot" : "poweroff");
	if (ask(g, FRAME_POWER, &fields, wait, &answer, err) < 0)
		return -1;
	return check_items(&answer, "the box cannot be shut down", err);
}

int guest_ping(struct guest *g, const struct guest_wait *wait, struct error *err)
{
	struct frame frame;
	uint64_t deadline;
	int result;

	if (guest_wait_begin(g, wait, &deadline, err) < 0)
		return -1;
	frame_put(&g->writer, FRAME_PING, 0, g->nonce, 8);
	result = guest_await(g, deadline, &frame, err);
	guest_wait_end(g);
	if (result < 0)
		return -1;
	if (frame.type != FRAME_PONG || frame.len != 8 || memcmp(frame.payload, g->nonce, 8) != 0)
		return guest_unexpected(&frame, err);
	return 0;
}

/* ---- first boot ---- */

struct stage_text {
	struct str name, text;
	uint32_t state, uptime;
};

static int read_stage(const struct frame *frame, struct stage_text *stage, struct error *err)
{
	struct field_reader reader = { frame->payload, frame->payload + frame->len };
	struct field f;
	int found, bad = 0;

	stage->state = STAGE_STATE_END;
	while (!bad && (found = field_next(&reader, &f, err)) > 0) {
		if (f.tag == FIELD_STATE)
			bad = field_u32(&f, &stage->state, err);
		else if (f.tag == FIELD_UPTIME)
			bad = field_u32(&f, &stage->uptime, err);
		else if (f.tag == FIELD_STAGE)
			str_append_escaped(
				&stage->name, f.bytes, MIN(f.len, (size_t)STAGE_NAME_MAX), false);
		else if (f.tag == FIELD_TEXT)
			str_append_escaped(&stage->text, f.bytes, MIN(f.len, (size_t)8192), true);
	}
	if (bad || found < 0)
		return error_wrap(err, "the agent of the box sent a malformed stage");
	if (stage->state >= STAGE_STATE_END)
		return error_set(err, ERROR_INVALID, "the agent of the box sent a malformed stage");
	return str_ok(&stage->name, err) < 0 ? -1 : str_ok(&stage->text, err);
}

/* 1: it is decided, usable; 0: go on waiting; -1. */
static int take_stage(
	const struct frame *frame, guest_stage_fn *callback, void *data, struct error *err)
{
	struct stage_text s = { .name = STR_INIT, .text = STR_INIT };
	int result = -1;

	if (frame->type != FRAME_STAGE)
		return guest_unexpected(frame, err);
	if (read_stage(frame, &s, err) == 0) {
		const struct guest_stage stage = { .state = (enum guest_state)s.state,
			.name = str_get(&s.name),
			.text = str_get(&s.text),
			.uptime_ms = s.uptime };

		if (callback)
			callback(&stage, data);
		result = s.state == STAGE_USABLE;
		if (s.state == STAGE_FAILED)
			result = error_set(err, ERROR_FAILED,
				"the first boot of the box failed: %s",
				*stage.text ? stage.text : "it gave no reason");
	}
	str_done(&s.name);
	str_done(&s.text);
	return result;
}

int guest_wait_ready(struct guest *g, const char *user, const struct guest_wait *wait,
	guest_stage_fn *stage, void *data, struct error *err)
{
	_cleanup_str_ struct str fields = STR_INIT;
	struct frame frame;
	uint64_t deadline;
	int decided = -1;

	if (user)
		field_put_text(&fields, FIELD_USER, user);
	if (guest_wait_begin(g, wait, &deadline, err) < 0)
		return -1;
	if (guest_send(g, FRAME_READY, &fields, deadline, err) == 0) {
		for (unsigned n = 0; n < STAGES_MAX; n++) {
			decided = guest_await(g, deadline, &frame, err);
			if (decided == 0)
				decided = take_stage(&frame, stage, data, err);
			if (decided)
				break;
		}
		if (!decided)
			decided = error_set(err, ERROR_INVALID,
				"the agent of the box reports stages without end");
	}
	guest_wait_end(g);
	return decided < 0 ? -1 : 0;
}

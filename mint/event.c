/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/event.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"

/* An object that could not be made says nothing: a mint does not fail for its progress. */
static void put(json_t *o, const char *event)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	if (json_set_text(o, "event", event, &err) < 0 || json_render(o, true, &text, &err) < 0)
		return;
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	(void)printf("%s\n", str_get(&text));
	(void)fflush(stdout);
}

static int name_step(json_t *o, const char *operation, const struct step *step, struct error *err)
{
	if (json_set_text(o, "operation", operation, err) < 0)
		return -1;
	return json_set_text(o, "name", step->name, err);
}

static void step_begin(const char *operation, const struct step *step, void *data)
{
	_cleanup_json_ json_t *o = json_object();
	struct error err = { 0 };

	(void)data;
	if (name_step(o, operation, step, &err) == 0 &&
		json_set_text(o, "doing", step->doing, &err) == 0)
		put(o, "step");
}

static void step_end(const char *operation, const struct step *step, uint64_t usec, void *data)
{
	_cleanup_json_ json_t *o = json_object();
	struct error err = { 0 };

	(void)data;
	if (name_step(o, operation, step, &err) == 0 && json_set_u64(o, "usec", usec, &err) == 0)
		put(o, "step-done");
}

const struct steps_observer event_steps = { .begin = step_begin, .end = step_end };

static void put_text(const char *event, const char *text)
{
	_cleanup_json_ json_t *o = json_object();
	struct error err = { 0 };

	if (json_set_text(o, "text", text, &err) == 0)
		put(o, event);
}

void event_detail(const char *text)
{
	put_text("detail", text);
}

void event_note(const char *text)
{
	put_text("note", text);
}

/* True at most ten times a second. */
static bool is_due(void)
{
	static uint64_t last;
	uint64_t now = clock_ms() / 100;

	if (now == last)
		return false;
	last = now;
	return true;
}

void event_progress(uint64_t done, uint64_t total)
{
	_cleanup_json_ json_t *o = NULL;
	struct error err = { 0 };

	if (!is_due() && done != total)
		return;
	o = json_object();
	if (json_set_u64(o, "done", done, &err) == 0 && json_set_u64(o, "total", total, &err) == 0)
		put(o, "progress");
}

int event_done(const char *template, json_t *volumes, struct error *err)
{
	_cleanup_json_ json_t *o = json_object();

	if (json_set_new(o, "volumes", volumes, err) < 0 ||
		json_set_text(o, "template", template, err) < 0)
		return -1;
	put(o, "done");
	return 0;
}

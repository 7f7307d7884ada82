/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mint.h"

#include <string.h>

#include "base/run.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "images/place.h"

void mint_outcome_done(struct mint_outcome *outcome)
{
	json_decref(outcome->done);
	free(outcome->files);
	*outcome = (struct mint_outcome){ 0 };
}

/* ---- events of our own ---- */

int mint_event(struct session *s, const char *event, json_t *object, struct error *err)
{
	_cleanup_json_ json_t *o = object;
	_cleanup_str_ struct str text = STR_INIT;

	if (!s->global.json)
		return 0;
	if (json_set_text(o, "event", event, err) < 0 || json_render(o, true, &text, err) < 0)
		return -1;
	return output_str(&text, err);
}

static void step_event(struct session *s, const char *event, const char *operation,
	const struct step *step, uint64_t usec)
{
	json_t *o = json_object();
	struct error ignored = { 0 };

	if (json_set_text(o, "operation", operation, &ignored) == 0 &&
		json_set_text(o, "name", step->name, &ignored) == 0 &&
		json_set_text(o, "doing", step->doing, &ignored) == 0 &&
		json_set_u64(o, "usec", usec, &ignored) == 0)
		(void)!mint_event(s, event, o, &ignored);
	else
		json_decref(o);
}

static void step_begin(const char *operation, const struct step *step, void *data)
{
	struct session *s = data;

	s->observer.begin(operation, step, s->observer.data);
	step_event(s, "step", operation, step, 0);
}

static void step_end(const char *operation, const struct step *step, uint64_t usec, void *data)
{
	struct session *s = data;

	s->observer.end(operation, step, usec, s->observer.data);
	step_event(s, "step-done", operation, step, usec);
}

struct steps_observer mint_observer(struct session *s)
{
	if (!s->global.json)
		return s->observer;
	return (struct steps_observer){ .begin = step_begin, .end = step_end, .data = s };
}

void mint_progress(uint64_t done, uint64_t total, void *session)
{
	struct session *s = session;

	progress_bytes(&s->progress, done, total);
}

/* ---- the mint's events ---- */

struct listener {
	struct session *s;
	struct mint_outcome *outcome;
	struct str words; /* the mint's last line on stderr: its error */
};

static uint64_t number_at(const json_t *o, const char *key)
{
	struct error ignored = { 0 };
	uint64_t value = 0;

	return json_get_u64(o, key, &value, &ignored) == 0 ? value : 0;
}

static const char *text_at(const json_t *o, const char *key)
{
	const char *text = json_peek_text(o, key);

	return text ? text : "";
}

static void on_step(struct listener *l, const json_t *o)
{
	progress_begin(&l->s->progress, text_at(o, "operation"), text_at(o, "name"),
		json_peek_text(o, "doing"));
}

static void on_step_done(struct listener *l, const json_t *o)
{
	(void)o;
	progress_end(&l->s->progress);
}

static void on_detail(struct listener *l, const json_t *o)
{
	progress_detail(&l->s->progress, text_at(o, "text"));
}

static void on_progress(struct listener *l, const json_t *o)
{
	progress_bytes(&l->s->progress, number_at(o, "done"), number_at(o, "total"));
}

static void on_note(struct listener *l, const json_t *o)
{
	session_note(l->s, "%s", text_at(o, "text"));
}

static void on_done(struct listener *l, const json_t *o)
{
	json_decref(l->outcome->done);
	l->outcome->done = json_deep_copy(o);
}

static const struct {
	const char *name;
	void (*take)(struct listener *l, const json_t *o);
	bool ours; /* not passed on with --json: it speaks of this machine's files */
} events[] = {
	{ "step", on_step, false },
	{ "step-done", on_step_done, false },
	{ "detail", on_detail, false },
	{ "progress", on_progress, false },
	{ "note", on_note, false },
	{ "done", on_done, true },
};

/* What is no event of a kind that we know is for a newer caller: it is left out. */
static void take_event(const char *bytes, size_t len, void *data)
{
	struct listener *l = data;
	struct error ignored = { 0 };
	_cleanup_json_ json_t *o = json_parse(bytes, len, "an event of the mint", &ignored);
	const char *name = o ? json_peek_text(o, "event") : NULL;

	for (size_t i = 0; name && i < ARRAY_LEN(events); i++) {
		if (!str_equal(name, events[i].name))
			continue;
		events[i].take(l, o);
		if (!events[i].ours)
			(void)!mint_event(l->s, name, json_incref(o), &ignored);
	}
}

static void take_words(const char *text, void *data)
{
	static const char prefix[] = "box-mint: ";
	struct listener *l = data;

	if (!*text)
		return;
	str_clear(&l->words);
	str_append(&l->words, str_starts(text, prefix) ? text + strlen(prefix) : text);
}

/* The list of files in the "done" event. */
static int take_files(struct mint_outcome *outcome, struct error *err)
{
	json_t *volumes = NULL;
	size_t count;

	if (!outcome->done)
		return error_set(err, ERROR_FAILED, "the mint ended without saying what it made");
	if (json_get_array(outcome->done, "volumes", &volumes, err) < 0)
		return -1;
	count = json_array_size(volumes);
	outcome->files = calloc(count + 1, sizeof(*outcome->files));
	if (!outcome->files)
		return error_oom(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *o = json_array_get(volumes, i);

		if (json_get_text(o, "file", &outcome->files[i].file, err) < 0 ||
			json_get_text(o, "name", &outcome->files[i].name, err) < 0)
			return -1;
	}
	outcome->count = count;
	return 0;
}

static int run_mint(struct listener *l, const struct mint_request *request, struct error *err)
{
	_cleanup_free_ char *program = place_libexec("box-mint", err);
	const char *argv[10];
	struct run run = {
		.argv = argv,
		.out_line = take_event,
		.line = take_words,
		.data = l,
		.interrupt_fd = MAX(interrupt_fd(), 0),
	};
	size_t n = 0;
	int status = 0;

	if (!program)
		return -1;
	argv[n++] = program;
	if (request->refresh) {
		argv[n++] = "--refresh";
		argv[n++] = "--build";
		argv[n++] = request->build;
	}
	if (request->offline)
		argv[n++] = "--offline";
	if (request->compress)
		argv[n++] = "--compress";
	argv[n++] = "--";
	argv[n++] = request->template;
	argv[n] = NULL;
	if (run_program(&run, &status, err) == 0)
		return 0;
	/* A mint that failed said why in one line; one that was killed or is missing did not. */
	if (err->kind == ERROR_FAILED && status > 0 && status < 128 && l->words.len)
		error_set(err, status == 2 ? ERROR_USAGE : ERROR_FAILED, "%s", str_get(&l->words));
	return error_wrap(err, "cannot mint '%s'", request->template);
}

int mint_template(struct session *s, const struct mint_request *request, struct mint_outcome *ret,
	struct error *err)
{
	_cleanup_mint_outcome_ struct mint_outcome outcome = { 0 };
	struct listener l = { .s = s, .outcome = &outcome, .words = STR_INIT };
	int result = run_mint(&l, request, err);

	str_done(&l.words);
	if (result < 0 || take_files(&outcome, err) < 0)
		return -1;
	*ret = outcome;
	outcome = (struct mint_outcome){ 0 };
	return 0;
}

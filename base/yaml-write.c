/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/yaml.h"

#include <string.h>
#include <yaml.h>

enum { OPEN_MAX = 64 };

struct yml_writer {
	yaml_emitter_t emitter;
	struct str text;
	bool map[OPEN_MAX]; /* what is open: a map, or a list */
	unsigned open;
	bool failed;
};

static int append(void *data, unsigned char *bytes, size_t len)
{
	struct yml_writer *w = data;

	str_append_len(&w->text, bytes, len);
	return !w->text.failed;
}

/* made is what the event's initialiser returned; libyaml's emit takes the event over either way. */
static void emit(struct yml_writer *w, yaml_event_t *event, int made)
{
	if (!made || w->failed || !yaml_emitter_emit(&w->emitter, event)) {
		if (made && w->failed)
			yaml_event_delete(event);
		w->failed = true;
	}
}

struct yml_writer *yml_writer_new(struct error *err)
{
	struct yml_writer *w = calloc(1, sizeof(*w));
	yaml_event_t event;

	if (!w || !yaml_emitter_initialize(&w->emitter)) {
		free(w);
		error_oom(err);
		return NULL;
	}
	yaml_emitter_set_output(&w->emitter, append, w);
	yaml_emitter_set_unicode(&w->emitter, 1);
	yaml_emitter_set_width(&w->emitter, -1); /* never fold: a long line is a long line */
	emit(w, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	emit(w, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	return w;
}

void yml_writer_free(struct yml_writer *w)
{
	if (!w)
		return;
	yaml_emitter_delete(&w->emitter);
	str_done(&w->text);
	free(w);
}

static void opened(struct yml_writer *w, bool map)
{
	if (w->open == OPEN_MAX)
		w->failed = true;
	else
		w->map[w->open++] = map;
}

void yml_open_map(struct yml_writer *w)
{
	yaml_event_t event;

	emit(w, &event,
		yaml_mapping_start_event_initialize(
			&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
	opened(w, true);
}

void yml_open_list(struct yml_writer *w)
{
	yaml_event_t event;

	emit(w, &event,
		yaml_sequence_start_event_initialize(
			&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
	opened(w, false);
}

void yml_close(struct yml_writer *w)
{
	yaml_event_t event;

	if (w->open == 0) {
		w->failed = true;
		return;
	}
	if (w->map[--w->open])
		emit(w, &event, yaml_mapping_end_event_initialize(&event));
	else
		emit(w, &event, yaml_sequence_end_event_initialize(&event));
}

static void put(struct yml_writer *w, const char *text, yaml_scalar_style_t style)
{
	bool plain = style == YAML_PLAIN_SCALAR_STYLE;
	yaml_event_t event;

	emit(w, &event,
		yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
			(int)strlen(text), plain, !plain, style));
}

/* True for a text that every reader takes for a string when it stands there without quotes. */
static bool plain_is_string(const char *text)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "null", "y",
		"n" };

	if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || *text == '/'))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	return text[strspn(text,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")] ==
	       '\0';
}

void yml_put(struct yml_writer *w, const char *text)
{
	put(w, text,
		plain_is_string(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

void yml_put_plain(struct yml_writer *w, const char *text)
{
	put(w, text, YAML_PLAIN_SCALAR_STYLE);
}

void yml_put_block(struct yml_writer *w, const char *text)
{
	put(w, text, YAML_LITERAL_SCALAR_STYLE);
}

void yml_pair(struct yml_writer *w, const char *key, const char *value)
{
	yml_put(w, key);
	yml_put(w, value);
}

void yml_put_node(struct yml_writer *w, struct yml_node node)
{
	const char *text = yml_scalar(node);

	switch (yml_kind(node)) {
	case YML_SCALAR:
		if (!text)
			w->failed = true;
		else if (yml_is_plain(node))
			yml_put_plain(w, text);
		else
			yml_put(w, text);
		return;
	case YML_LIST:
		yml_open_list(w);
		for (size_t i = 0; i < yml_len(node); i++)
			yml_put_node(w, yml_item(node, i));
		yml_close(w);
		return;
	case YML_MAP:
		yml_open_map(w);
		for (size_t i = 0; i < yml_len(node); i++) {
			yml_put_node(w, yml_key_at(node, i));
			yml_put_node(w, yml_value_at(node, i));
		}
		yml_close(w);
		return;
	case YML_NONE:
		yml_put_plain(w, "null");
		return;
	}
}

char *yml_finish(struct yml_writer *w, struct error *err)
{
	yaml_event_t event;

	if (w->open)
		w->failed = true;
	emit(w, &event, yaml_document_end_event_initialize(&event, 1));
	emit(w, &event, yaml_stream_end_event_initialize(&event));
	if (w->failed || w->text.failed) {
		error_set(err, ERROR_INVALID, "cannot write YAML: %s",
			w->emitter.problem ? w->emitter.problem : "a part is missing or not UTF-8");
		return NULL;
	}
	return str_take(&w->text, err);
}

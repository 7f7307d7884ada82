/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: libyaml's loader builds a document whose nodes are numbered from 1; an alias is the number of
 * its anchor's node, so shared subtrees cost nothing and nothing is expanded. One walk after loading
 * checks depth (which also finds cycles, since a cycle is infinitely deep) and repeated keys. The walk
 * itself is bounded by a budget of steps: aliases could make a small document a huge tree.
 */
#include "base/yaml.h"

#include <string.h>
#include <yaml.h>

struct yml {
	yaml_document_t document;
	char *name; /* owned */
	bool loaded; /* document must be deleted */
	unsigned steps; /* of the checking walk */
};

static yaml_node_t *raw(struct yml_node node)
{
	return node.doc ? yaml_document_get_node(&node.doc->document, node.index) : NULL;
}

void yml_free(struct yml *doc)
{
	if (!doc)
		return;
	if (doc->loaded)
		yaml_document_delete(&doc->document);
	free(doc->name);
	free(doc);
}

int yml_error(struct error *err, struct yml_node at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_setv(err, ERROR_INVALID, fmt, ap);
	va_end(ap);
	return yml_error_at(err, at);
}

int yml_error_at(struct error *err, struct yml_node at)
{
	err->kind = ERROR_INVALID;
	return error_wrap(err, "%s:%u", at.doc ? at.doc->name : "?", yml_line(at));
}

struct yml_node yml_root(struct yml *doc)
{
	/* libyaml's root of an empty document is no node at all; index 1 is then out of range. */
	return (struct yml_node){ doc, 1 };
}

enum yml_kind yml_kind(struct yml_node node)
{
	yaml_node_t *n = raw(node);

	if (!n)
		return YML_NONE;
	switch (n->type) {
	case YAML_SCALAR_NODE:
		return YML_SCALAR;
	case YAML_SEQUENCE_NODE:
		return YML_LIST;
	case YAML_MAPPING_NODE:
		return YML_MAP;
	default:
		return YML_NONE;
	}
}

unsigned yml_line(struct yml_node node)
{
	yaml_node_t *n = raw(node);

	return n ? (unsigned)n->start_mark.line + 1 : 1;
}

const char *yml_scalar(struct yml_node node)
{
	yaml_node_t *n = raw(node);

	if (!n || n->type != YAML_SCALAR_NODE)
		return NULL;
	if (strlen((const char *)n->data.scalar.value) != n->data.scalar.length)
		return NULL;
	return (const char *)n->data.scalar.value;
}

bool yml_is_plain(struct yml_node node)
{
	yaml_node_t *n = raw(node);

	return n && n->type == YAML_SCALAR_NODE && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

size_t yml_len(struct yml_node node)
{
	yaml_node_t *n = raw(node);

	if (n && n->type == YAML_SEQUENCE_NODE)
		return (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
	if (n && n->type == YAML_MAPPING_NODE)
		return (size_t)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
	return 0;
}

struct yml_node yml_item(struct yml_node list, size_t i)
{
	return (struct yml_node){ list.doc, raw(list)->data.sequence.items.start[i] };
}

struct yml_node yml_key_at(struct yml_node map, size_t i)
{
	return (struct yml_node){ map.doc, raw(map)->data.mapping.pairs.start[i].key };
}

struct yml_node yml_value_at(struct yml_node map, size_t i)
{
	return (struct yml_node){ map.doc, raw(map)->data.mapping.pairs.start[i].value };
}

struct yml_node yml_find(struct yml_node map, const char *key)
{
	for (size_t i = 0; yml_kind(map) == YML_MAP && i < yml_len(map); i++)
		if (str_equal(yml_scalar(yml_key_at(map, i)), key))
			return yml_value_at(map, i);
	return (struct yml_node){ NULL, 0 };
}

static int check_keys(struct yml_node map, struct error *err)
{
	for (size_t i = 0; i < yml_len(map); i++) {
		const char *key = yml_scalar(yml_key_at(map, i));

		for (size_t j = 0; key && j < i; j++) {
			if (++map.doc->steps > YAML_MAX_NODES * 16)
				return yml_error(err, map, "the document is too large");
			if (str_equal(key, yml_scalar(yml_key_at(map, j))))
				return yml_error(err, yml_key_at(map, i),
					"key '%.60s' is repeated; line %u has it already", key,
					yml_line(yml_key_at(map, j)));
		}
	}
	return 0;
}

static int check_node(struct yml_node node, unsigned depth, struct error *err)
{
	enum yml_kind kind = yml_kind(node);

	if (depth > YAML_MAX_DEPTH)
		return yml_error(err, node, "nested more than %d levels deep", YAML_MAX_DEPTH);
	if (++node.doc->steps > YAML_MAX_NODES)
		return yml_error(err, node, "the document is too large");
	if (kind == YML_MAP && check_keys(node, err) < 0)
		return -1;
	for (size_t i = 0; i < yml_len(node); i++) {
		if (kind == YML_LIST && check_node(yml_item(node, i), depth + 1, err) < 0)
			return -1;
		if (kind == YML_MAP &&
			(check_node(yml_key_at(node, i), depth + 1, err) < 0 ||
				check_node(yml_value_at(node, i), depth + 1, err) < 0))
			return -1;
	}
	return 0;
}

static int parser_error(yaml_parser_t *parser, const char *name, struct error *err)
{
	_cleanup_str_ struct str problem = STR_INIT;
	const char *text = parser->problem ? parser->problem : "this is not YAML";

	if (parser->error == YAML_MEMORY_ERROR)
		return error_oom(err);
	str_append_escaped(&problem, text, strlen(text), false);
	return error_set(err, ERROR_INVALID, "%s:%zu: %s", name, parser->problem_mark.line + 1,
		str_get(&problem));
}

/* The stream must end after one document. */
static int check_end(yaml_parser_t *parser, const char *name, struct error *err)
{
	yaml_document_t rest;
	bool more;

	if (!yaml_parser_load(parser, &rest))
		return parser_error(parser, name, err);
	more = yaml_document_get_root_node(&rest) != NULL;
	yaml_document_delete(&rest);
	if (more)
		return error_set(err, ERROR_INVALID,
			"%s: there is a second document; only one is read", name);
	return 0;
}

static int load(struct yml *doc, yaml_parser_t *parser, const char *name, struct error *err)
{
	if (!yaml_parser_load(parser, &doc->document))
		return parser_error(parser, name, err);
	doc->loaded = true;
	if (!yaml_document_get_root_node(&doc->document))
		return 0;
	if (check_end(parser, name, err) < 0)
		return -1;
	return check_node(yml_root(doc), 0, err);
}

struct yml *yml_parse(const char *text, size_t len, const char *name, struct error *err)
{
	_cleanup_(yml_free_p) struct yml *doc = NULL;
	yaml_parser_t parser;
	int ret;

	if (len > YAML_MAX_BYTES) {
		error_set(err, ERROR_INVALID, "%s is larger than %u bytes", name, YAML_MAX_BYTES);
		return NULL;
	}
	doc = calloc(1, sizeof(*doc));
	if (doc)
		doc->name = strdup(name);
	if (!doc || !doc->name || !yaml_parser_initialize(&parser)) {
		error_oom(err);
		return NULL;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	ret = load(doc, &parser, name, err);
	yaml_parser_delete(&parser);
	return ret < 0 ? NULL : TAKE(doc);
}

static const char *const kind_names[] = {
	[YML_NONE] = "nothing",
	[YML_SCALAR] = "a text",
	[YML_LIST] = "a list",
	[YML_MAP] = "a mapping",
};

static int unknown_key(
	struct yml_node key, const struct yml_key *keys, size_t count, struct error *err)
{
	const char *names[64];
	_cleanup_str_ struct str shown = STR_INIT;
	const char *text = yml_scalar(key), *near = NULL;

	if (!text)
		return yml_error(err, key, "a key must be a text");
	for (size_t i = 0; i < count && i < ARRAY_LEN(names); i++)
		names[i] = keys[i].name;
	near = str_nearest(text, names, MIN(count, ARRAY_LEN(names)));
	str_append_escaped(&shown, text, MIN(strlen(text), 60u), false);
	if (near)
		return yml_error(
			err, key, "unknown key '%s'; did you mean '%s'?", str_get(&shown), near);
	return yml_error(err, key, "unknown key '%s'", str_get(&shown));
}

static int read_pair(struct yml_node key, struct yml_node value, const struct yml_key *row,
	void *object, struct error *err)
{
	if (row->kind != YML_NONE && yml_kind(value) != row->kind)
		return yml_error(err, key, "'%s' must be %s, and is %s", row->name,
			kind_names[row->kind], kind_names[yml_kind(value)]);
	return row->read(value, object, err);
}

int yml_read(struct yml_node map, const struct yml_key *keys, size_t count, void *object,
	struct error *err)
{
	if (yml_kind(map) != YML_MAP)
		return yml_error(err, map, "a mapping was expected, and this is %s",
			kind_names[yml_kind(map)]);
	for (size_t i = 0; i < yml_len(map); i++) {
		struct yml_node key = yml_key_at(map, i);
		const struct yml_key *row = NULL;

		for (size_t k = 0; k < count; k++)
			if (str_equal(yml_scalar(key), keys[k].name))
				row = &keys[k];
		if (!row)
			return unknown_key(key, keys, count, err);
		if (read_pair(key, yml_value_at(map, i), row, object, err) < 0)
			return -1;
	}
	for (size_t k = 0; k < count; k++)
		if (keys[k].required && yml_kind(yml_find(map, keys[k].name)) == YML_NONE)
			return yml_error(err, map, "key '%s' is missing", keys[k].name);
	return 0;
}

char *yml_text(struct yml_node value, struct error *err)
{
	const char *text = yml_scalar(value);

	if (!text || !*text) {
		yml_error(err, value, "a text that is not empty was expected");
		return NULL;
	}
	return str_dup(text, err);
}

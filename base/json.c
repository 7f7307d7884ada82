/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <string.h>

json_t *json_parse(const char *bytes, size_t len, const char *what, struct error *err)
{
	_cleanup_str_ struct str reason = STR_INIT;
	json_error_t why;
	json_t *json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &why);

	if (json)
		return json;
	/* The reason may quote the document, which is a stranger's. */
	str_append_escaped(&reason, why.text, strlen(why.text), false);
	error_set(err, ERROR_INVALID, "cannot read %s as JSON: line %d: %s", what, why.line,
		str_get(&reason));
	return NULL;
}

static json_t *member(const json_t *object, const char *key, json_type type, const char *article,
	struct error *err)
{
	json_t *value = json_object_get(object, key);

	if (!value) {
		error_set(err, ERROR_INVALID, "key '%s' is missing", key);
		return NULL;
	}
	if (json_typeof(value) != type) {
		error_set(err, ERROR_INVALID, "key '%s' is not %s", key, article);
		return NULL;
	}
	return value;
}

int json_get_text(const json_t *object, const char *key, const char **ret, struct error *err)
{
	json_t *value = member(object, key, JSON_STRING, "a text", err);

	if (!value)
		return -1;
	*ret = json_string_value(value);
	return 0;
}

int json_get_u64(const json_t *object, const char *key, uint64_t *ret, struct error *err)
{
	json_t *value = member(object, key, JSON_INTEGER, "a whole number", err);

	if (!value)
		return -1;
	if (json_integer_value(value) < 0)
		return error_set(err, ERROR_INVALID, "key '%s' is negative", key);
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

int json_get_bool(const json_t *object, const char *key, bool *ret, struct error *err)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		return error_set(err, ERROR_INVALID, "key '%s' is missing", key);
	if (!json_is_boolean(value))
		return error_set(err, ERROR_INVALID, "key '%s' is neither true nor false", key);
	*ret = json_is_true(value);
	return 0;
}

int json_get_array(const json_t *object, const char *key, json_t **ret, struct error *err)
{
	json_t *value = member(object, key, JSON_ARRAY, "a list", err);

	if (!value)
		return -1;
	*ret = value;
	return 0;
}

int json_get_object(const json_t *object, const char *key, json_t **ret, struct error *err)
{
	json_t *value = member(object, key, JSON_OBJECT, "an object", err);

	if (!value)
		return -1;
	*ret = value;
	return 0;
}

const char *json_peek_text(const json_t *object, const char *key)
{
	struct error ignored = { 0 };
	const char *text = NULL;

	return json_get_text(object, key, &text, &ignored) == 0 ? text : NULL;
}

int json_set_text(json_t *object, const char *key, const char *text, struct error *err)
{
	_cleanup_str_ struct str safe = STR_INIT;

	if (!text)
		return json_set_new(object, key, json_null(), err);
	str_append_escaped(&safe, text, strlen(text), true);
	if (str_ok(&safe, err) < 0)
		return -1;
	return json_set_new(object, key, json_string(str_get(&safe)), err);
}

int json_set_u64(json_t *object, const char *key, uint64_t value, struct error *err)
{
	if (value > INT64_MAX)
		return error_set(err, ERROR_INVALID, "the number for key '%s' is too large", key);
	return json_set_new(object, key, json_integer((json_int_t)value), err);
}

int json_set_bool(json_t *object, const char *key, bool value, struct error *err)
{
	return json_set_new(object, key, json_boolean(value), err);
}

/* jansson takes the value even when it fails, and fails on a NULL value. */
int json_set_new(json_t *object, const char *key, json_t *value, struct error *err)
{
	return json_object_set_new(object, key, value) < 0 ? error_oom(err) : 0;
}

int json_add_new(json_t *array, json_t *value, struct error *err)
{
	return json_array_append_new(array, value) < 0 ? error_oom(err) : 0;
}

static int append_chunk(const char *bytes, size_t len, void *data)
{
	str_append_len(data, bytes, len);
	return 0;
}

int json_render(const json_t *json, bool compact, struct str *into, struct error *err)
{
	size_t flags = compact ? JSON_COMPACT : JSON_INDENT(2);

	if (json_dump_callback(json, append_chunk, into, flags) < 0)
		return error_oom(err);
	str_append_char(into, '\n');
	return str_ok(into, err);
}

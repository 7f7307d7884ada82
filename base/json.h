/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON, thinly over jansson: strict reading of other people's documents, typed look-ups with our
 * errors, and writing in the one spelling that this program uses. Everything else is jansson's own
 * (json_object, json_array_append_new, json_object_foreach ...).
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

DEFINE_CLEANUP(json_t *, json_decref);
#define _cleanup_json_ _cleanup_(json_decref_p)

/*
 * Read one document: an object or an array, UTF-8, no repeated key, no NUL in a text, nothing after
 * it, nested at most as deep as jansson allows (2048). what names it in errors (a path, "the manifest"). The result is
 * given (json_decref it). ERROR_INVALID with the line on failure.
 */
json_t *json_parse(const char *bytes, size_t len, const char *what, struct error *err) MUST_CHECK;

/*
 * Members of an object by key. The get_ functions demand it: a missing key, or a value of another
 * type, is ERROR_INVALID and names the key. Texts are lent from the object.
 */
int json_get_text(
	const json_t *object, const char *key, const char **ret, struct error *err) MUST_CHECK;
int json_get_u64(
	const json_t *object, const char *key, uint64_t *ret, struct error *err) MUST_CHECK;
int json_get_bool(const json_t *object, const char *key, bool *ret, struct error *err) MUST_CHECK;
int json_get_array(
	const json_t *object, const char *key, json_t **ret, struct error *err) MUST_CHECK;
int json_get_object(
	const json_t *object, const char *key, json_t **ret, struct error *err) MUST_CHECK;

/* The text at key; NULL when the key is missing or no text. For what is optional. */
const char *json_peek_text(const json_t *object, const char *key);

/*
 * Set a member. NULL text becomes null; bytes that are no UTF-8 or hold control characters are
 * escaped first (str_append_escaped), so that this cannot fail for a stranger's bytes. 0, or -1 when
 * out of memory.
 */
int json_set_text(json_t *object, const char *key, const char *text, struct error *err) MUST_CHECK;
int json_set_u64(json_t *object, const char *key, uint64_t value, struct error *err) MUST_CHECK;
int json_set_bool(json_t *object, const char *key, bool value, struct error *err) MUST_CHECK;

/* Hand value (may be NULL: out of memory before) over to the object or array; owned by it after. */
int json_set_new(json_t *object, const char *key, json_t *value, struct error *err) MUST_CHECK;
int json_add_new(json_t *array, json_t *value, struct error *err) MUST_CHECK;

/* Append the document's text: indented, keys in order of making; or on one line when compact. */
int json_render(const json_t *json, bool compact, struct str *into, struct error *err) MUST_CHECK;

#endif

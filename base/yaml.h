/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * YAML in, over libyaml, part of data_dep; and YAML out. Reading is by a key table: a mapping is read
 * into a struct, an unknown or repeated key is an error that names file, line and the nearest key there
 * is. Nothing is printed; there are no globals.
 *
 * Our names begin with yml_: libyaml exports functions called yaml_free and the like itself.
 *
 * Limits, since the text may be a stranger's: YAML_MAX_BYTES, YAML_MAX_DEPTH levels, YAML_MAX_NODES
 * nodes. An alias is shared, never copied, so it cannot blow up; a cycle through one is refused.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

#define YAML_MAX_BYTES \
	(1u << 20) /* cloud-init's own user-data is limited to far less by its sources */
#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES 100000

/* ---- reading ---- */

struct yml; /* one document */

/* A node, lent from its document. Zeroed stands for "there is none". */
struct yml_node {
	struct yml *doc;
	int index;
};

enum yml_kind { YML_NONE, YML_SCALAR, YML_LIST, YML_MAP };

/*
 * Parse one document. name is what errors call it ("template.yaml"). An empty text gives a document
 * whose root is YML_NONE. More than one document, a repeated key anywhere, and everything beyond the
 * limits is ERROR_INVALID with "NAME:LINE: reason".
 */
struct yml *yml_parse(const char *text, size_t len, const char *name, struct error *err) MUST_CHECK;
void yml_free(struct yml *doc); /* NULL is fine */
DEFINE_CLEANUP(struct yml *, yml_free);

struct yml_node yml_root(struct yml *doc);
enum yml_kind yml_kind(struct yml_node node);
unsigned yml_line(struct yml_node node); /* from 1 */
const char *yml_scalar(
	struct yml_node node); /* lent; NULL when it is no scalar or has a NUL byte */
bool yml_is_plain(
	struct yml_node node); /* a scalar without quotes: may be a number, a boolean, null */
size_t yml_len(struct yml_node node); /* items of a list, pairs of a map; else 0 */
struct yml_node yml_item(struct yml_node list, size_t i);
struct yml_node yml_key_at(struct yml_node map, size_t i);
struct yml_node yml_value_at(struct yml_node map, size_t i);
struct yml_node yml_find(struct yml_node map, const char *key); /* YML_NONE when there is none */

/* Fill err with "NAME:LINE: text" and ERROR_INVALID. Returns -1. */
int yml_error(struct error *err, struct yml_node at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put "NAME:LINE: " before what err says and make it ERROR_INVALID: for the strict readers of base/parse. */
int yml_error_at(struct error *err, struct yml_node at);

/* One key of a mapping. */
struct yml_key {
	const char *name;
	enum yml_kind kind; /* of its value; YML_NONE: any, and read looks */
	bool required;
	/* Read the value into object. Errors through yml_error or yml_error_at. */
	int (*read)(struct yml_node value, void *object, struct error *err);
};

/* Read a mapping by its table into object. Each key at most once; unknown and missing ones are errors. */
int yml_read(struct yml_node map, const struct yml_key *keys, size_t count, void *object,
	struct error *err) MUST_CHECK;

/* The text of a scalar that is not empty, given (free it). NULL with err. */
char *yml_text(struct yml_node value, struct error *err) MUST_CHECK;

/* ---- writing ---- */

/* A block-style YAML text under construction. Failure is sticky; check once in yml_finish. */
struct yml_writer;

struct yml_writer *yml_writer_new(struct error *err) MUST_CHECK;
void yml_writer_free(struct yml_writer *w); /* NULL is fine */
DEFINE_CLEANUP(struct yml_writer *, yml_writer_free);

void yml_open_map(struct yml_writer *w);
void yml_open_list(struct yml_writer *w);
void yml_close(struct yml_writer *w); /* the map or list opened last */

/* A scalar that is read back as this very string: quoted when plain would mean something else. */
void yml_put(struct yml_writer *w, const char *text);

/* A plain scalar: true, false, null or a number. */
void yml_put_plain(struct yml_writer *w, const char *text);

/* A scalar in literal block style (|), for files and scripts. */
void yml_put_block(struct yml_writer *w, const char *text);

/* yml_put of a key and of its value. */
void yml_pair(struct yml_writer *w, const char *key, const char *value);

/* The same node of a document that was read, with all below it. */
void yml_put_node(struct yml_writer *w, struct yml_node node);

/* The whole text, given (free it). NULL with err. w can only be freed afterwards. */
char *yml_finish(struct yml_writer *w, struct error *err) MUST_CHECK;

#endif

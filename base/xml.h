/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XML out and in, over libxml2, part of data_dep. No XML in this program is made by printf or read by
 * string search: the writer escapes and closes, the reader answers XPath questions.
 *
 * The writer has a sticky failure, as struct str has: build freely, check once in xml_finish. Text
 * that XML 1.0 cannot carry (control characters, bytes that are not UTF-8) is such a failure.
 *
 * The reader takes hostile text: at most XML_MAX_BYTES, no document type, so no entities of the
 * document's own, nothing loaded from anywhere, and libxml2's limits on depth and length.
 */
#ifndef BASE_XML_H
#define BASE_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define XML_MAX_BYTES (4u << 20) /* a domain with every device we know is about 12 kB */
#define XML_MAX_NODES 4096 /* rows of one answer to xml_nodes */

/* ---- writing ---- */

struct xml_writer;

/* A writer that indents by two spaces; give it back to xml_writer_free or xml_finish. */
struct xml_writer *xml_writer_new(struct error *err) MUST_CHECK;
void xml_writer_free(struct xml_writer *w); /* NULL is fine */
DEFINE_CLEANUP(struct xml_writer *, xml_writer_free);

/*
 * Open an element; attribute names and values follow in pairs, closed by NULL:
 *	xml_open(w, "disk", "type", "file", "device", "disk", NULL);
 * A namespace is written as what it is: xml_open(w, "box:box", "xmlns:box", "urn:box:domain", NULL).
 */
void xml_open(struct xml_writer *w, const char *name, ...) __attribute__((sentinel));

/* An attribute of the element just opened, before anything is put inside it. */
void xml_attr(struct xml_writer *w, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

void xml_text(struct xml_writer *w, const char *text);
void xml_textf(struct xml_writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
void xml_close(struct xml_writer *w);

/* An empty element: xml_open and xml_close. */
void xml_empty(struct xml_writer *w, const char *name, ...) __attribute__((sentinel));

/* <name>text</name>. */
void xml_leaf(struct xml_writer *w, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

/*
 * Close what is open and give the text (free it), without an XML declaration, with a newline at the
 * end. NULL when anything failed on the way. The writer is spent and still has to be freed.
 */
char *xml_finish(struct xml_writer *w, struct error *err) MUST_CHECK;

/* ---- reading ---- */

struct xml; /* a parsed document */
struct xml_node; /* an element or attribute in it; lent, lives as long as the document */

/*
 * Parse len bytes. what names the text in errors ("the domain's XML"); it is copied. Fails with
 * ERROR_INVALID and the line for text that is not well-formed, too long, or has a document type.
 */
struct xml *xml_parse(const char *text, size_t len, const char *what, struct error *err) MUST_CHECK;
void xml_free(struct xml *x); /* NULL is fine */
DEFINE_CLEANUP(struct xml *, xml_free);

/* Let XPath use this prefix for this namespace. */
int xml_namespace(struct xml *x, const char *prefix, const char *uri, struct error *err) MUST_CHECK;

/*
 * The readers. node is where a relative path starts; NULL stands for the document, so that paths
 * start with "/domain/...". They look at the first match only, and return 1 when there is one, 0 when
 * there is none (the output is untouched), -1 on error: ERROR_INVALID for a value that does not fit.
 * XPath expressions are constants of ours, never made from input.
 */

/* The text of the first match, given (free it); longer than max bytes is an error. */
int xml_str(struct xml *x, struct xml_node *node, const char *xpath, size_t max, char **ret,
	struct error *err) MUST_CHECK;

/* The text of the first match into buf, with its NUL; what does not fit is an error. */
int xml_copy(struct xml *x, struct xml_node *node, const char *xpath, char *buf, size_t size,
	struct error *err) MUST_CHECK;

/* A decimal number of digits only in [0, max]. */
int xml_u64(struct xml *x, struct xml_node *node, const char *xpath, uint64_t max, uint64_t *ret,
	struct error *err) MUST_CHECK;

/* 1 when something matches, 0 when nothing does, -1 on error. */
int xml_has(struct xml *x, struct xml_node *node, const char *xpath, struct error *err) MUST_CHECK;

/* All matches, in document order; more than XML_MAX_NODES is an error. */
struct xml_nodes {
	struct xml_node **items; /* owned; the nodes are lent by the document */
	size_t len;
};
void xml_nodes_done(struct xml_nodes *nodes);
#define _cleanup_xml_nodes_ _cleanup_(xml_nodes_done)

int xml_nodes(struct xml *x, struct xml_node *node, const char *xpath, struct xml_nodes *ret,
	struct error *err) MUST_CHECK;

/* xml_foreach(n, &nodes) { ... n is a struct xml_node * ... } */
#define xml_foreach(var, nodes)                                        \
	for (size_t var##_i_ = 0; var##_i_ < (nodes)->len; var##_i_++) \
		for (struct xml_node *var = (nodes)->items[var##_i_]; var; var = NULL)

/* ---- changing what was read: for redefining a domain without losing what others put in ---- */

/* Set the attribute of this element. */
int xml_set_attr(struct xml *x, struct xml_node *node, const char *name, const char *value,
	struct error *err) MUST_CHECK;

/* Replace all content of this element by text. */
int xml_set_text(
	struct xml *x, struct xml_node *node, const char *text, struct error *err) MUST_CHECK;

/* Take this element and all below it out of the document; node is gone afterwards. */
void xml_remove(struct xml *x, struct xml_node *node);

/* Put the one element that fragment holds (well-formed by itself) in as the last child of node. */
int xml_insert(
	struct xml *x, struct xml_node *node, const char *fragment, struct error *err) MUST_CHECK;

/* The document as text, given (free it). */
char *xml_dump(struct xml *x, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/xml.h"

#include <errno.h>
#include <inttypes.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlwriter.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* libxml2's strings are unsigned char; these two are the only casts between the worlds. */
static const xmlChar *to_xml(const char *text)
{
	return (const xmlChar *)text;
}

static const char *from_xml(const xmlChar *text)
{
	return (const char *)text;
}

static void free_xml_string_p(xmlChar **text)
{
	if (*text)
		xmlFree(*text);
}

/* ---- writing ---- */

struct xml_writer {
	xmlBufferPtr buffer;
	xmlTextWriterPtr writer;
	bool failed; /* libxml2 reported an error: out of memory or a wrong order of calls */
	bool illegal; /* a text that XML cannot carry */
};

void xml_writer_free(struct xml_writer *w)
{
	if (!w)
		return;
	xmlFreeTextWriter(w->writer);
	xmlBufferFree(w->buffer);
	free(w);
}

struct xml_writer *xml_writer_new(struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->buffer = xmlBufferCreate();
	if (w && w->buffer)
		w->writer = xmlNewTextWriterMemory(w->buffer, /* compression */ 0);
	if (!w || !w->writer || xmlTextWriterSetIndent(w->writer, 1) < 0 ||
		xmlTextWriterSetIndentString(w->writer, to_xml("  ")) < 0) {
		(void)error_oom(err);
		return NULL;
	}
	return TAKE(w);
}

/* XML 1.0 production 2: tab, newline, return, and U+0020 upwards without surrogates, FFFE, FFFF. */
static bool is_legal(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (!xmlCheckUTF8(p))
		return false;
	for (; *p; p++) {
		if (*p < 0x20 && *p != '\t' && *p != '\n' && *p != '\r')
			return false;
		if (p[0] == 0xEF && p[1] == 0xBF && (p[2] == 0xBE || p[2] == 0xBF))
			return false;
		if (p[0] == 0xED && p[1] >= 0xA0)
			return false;
	}
	return true;
}

static bool writer_takes(struct xml_writer *w, const char *text)
{
	if (!is_legal(text))
		w->illegal = true;
	return !w->failed && !w->illegal;
}

static void note(struct xml_writer *w, int ret)
{
	if (ret < 0)
		w->failed = true;
}

static void write_attr(struct xml_writer *w, const char *name, const char *value)
{
	if (writer_takes(w, value))
		note(w, xmlTextWriterWriteAttribute(w->writer, to_xml(name), to_xml(value)));
}

static void open_element(struct xml_writer *w, const char *name, va_list attrs)
{
	const char *attr;

	if (!writer_takes(w, name))
		return;
	note(w, xmlTextWriterStartElement(w->writer, to_xml(name)));
	while ((attr = va_arg(attrs, const char *)))
		write_attr(w, attr, va_arg(attrs, const char *));
}

void xml_open(struct xml_writer *w, const char *name, ...)
{
	va_list attrs;

	va_start(attrs, name);
	open_element(w, name, attrs);
	va_end(attrs);
}

void xml_empty(struct xml_writer *w, const char *name, ...)
{
	va_list attrs;

	va_start(attrs, name);
	open_element(w, name, attrs);
	va_end(attrs);
	xml_close(w);
}

void xml_attr(struct xml_writer *w, const char *name, const char *fmt, ...)
{
	_cleanup_str_ struct str value = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&value, fmt, ap);
	va_end(ap);
	w->failed = w->failed || value.failed;
	write_attr(w, name, str_get(&value));
}

void xml_text(struct xml_writer *w, const char *text)
{
	if (writer_takes(w, text))
		note(w, xmlTextWriterWriteString(w->writer, to_xml(text)));
}

PRINTF_LIKE(2, 0) static void write_textv(struct xml_writer *w, const char *fmt, va_list ap)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_vprintf(&text, fmt, ap);
	w->failed = w->failed || text.failed;
	xml_text(w, str_get(&text));
}

void xml_textf(struct xml_writer *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_textv(w, fmt, ap);
	va_end(ap);
}

void xml_close(struct xml_writer *w)
{
	if (!w->failed && !w->illegal)
		note(w, xmlTextWriterEndElement(w->writer));
}

void xml_leaf(struct xml_writer *w, const char *name, const char *fmt, ...)
{
	va_list ap;

	xml_open(w, name, NULL);
	va_start(ap, fmt);
	write_textv(w, fmt, ap);
	va_end(ap);
	xml_close(w);
}

char *xml_finish(struct xml_writer *w, struct error *err)
{
	if (!w->failed && !w->illegal)
		note(w, xmlTextWriterEndDocument(w->writer));
	if (w->illegal) {
		(void)error_set(err, ERROR_INVALID,
			"cannot write XML: a value holds a control character or is not UTF-8");
		return NULL;
	}
	if (w->failed) {
		(void)error_set(err, ERROR_FAILED,
			"cannot write XML: out of memory or unbalanced elements");
		return NULL;
	}
	return str_dup(from_xml(xmlBufferContent(w->buffer)), err);
}

/* ---- reading ---- */

struct xml {
	xmlDocPtr doc;
	xmlXPathContextPtr xpath;
	char what[96];
};

void xml_free(struct xml *x)
{
	if (!x)
		return;
	xmlXPathFreeContext(x->xpath);
	xmlFreeDoc(x->doc);
	free(x);
}

static void no_xpath_noise(void *data, xmlErrorPtr error)
{
	(void)data;
	(void)error;
}

/* A document type is the door to entities, external files and exponential growth: stop there. */
static void refuse_doctype(
	void *data, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
	xmlParserCtxtPtr ctxt = data;

	(void)name;
	(void)external;
	(void)system;
	ctxt->_private = ctxt;
	xmlStopParser(ctxt);
}

static int parse_failed(xmlParserCtxtPtr ctxt, const char *what, struct error *err)
{
	const xmlError *last = xmlCtxtGetLastError(ctxt);
	_cleanup_str_ struct str reason = STR_INIT;

	if (ctxt->_private)
		return error_set(
			err, ERROR_INVALID, "%s has a document type, which is refused", what);
	if (!last || !last->message)
		return error_set(err, ERROR_INVALID, "%s is not well-formed XML", what);
	/* libxml2's text ends in a newline and may quote the document. */
	str_append_escaped(&reason, last->message, strcspn(last->message, "\n"), false);
	return error_set(err, ERROR_INVALID, "%s is not well-formed XML: line %d: %s", what,
		last->line, str_get(&reason));
}

static xmlDocPtr parse_document(const char *text, size_t len, const char *what, struct error *err)
{
	const int flags = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
			  XML_PARSE_COMPACT;
	xmlParserCtxtPtr ctxt;
	xmlDocPtr doc;

	if (len > XML_MAX_BYTES) {
		(void)error_set(err, ERROR_INVALID, "%s is too long: %zu bytes, at most %u", what,
			len, XML_MAX_BYTES);
		return NULL;
	}
	ctxt = xmlNewParserCtxt();
	if (!ctxt) {
		(void)error_oom(err);
		return NULL;
	}
	ctxt->sax->internalSubset = refuse_doctype;
	doc = xmlCtxtReadMemory(ctxt, text, (int)len, NULL, "UTF-8", flags);
	if (!doc || !ctxt->wellFormed || ctxt->_private) {
		(void)parse_failed(ctxt, what, err);
		xmlFreeDoc(doc);
		doc = NULL;
	}
	xmlFreeParserCtxt(ctxt);
	return doc;
}

struct xml *xml_parse(const char *text, size_t len, const char *what, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = calloc(1, sizeof(*x));

	if (!x) {
		(void)error_oom(err);
		return NULL;
	}
	snprintf(x->what, sizeof(x->what), "%s", what);
	x->doc = parse_document(text, len, what, err);
	if (!x->doc)
		return NULL;
	x->xpath = xmlXPathNewContext(x->doc);
	if (!x->xpath) {
		(void)error_oom(err);
		return NULL;
	}
	x->xpath->error = no_xpath_noise;
	return TAKE(x);
}

int xml_namespace(struct xml *x, const char *prefix, const char *uri, struct error *err)
{
	if (xmlXPathRegisterNs(x->xpath, to_xml(prefix), to_xml(uri)) != 0)
		return error_oom(err);
	return 0;
}

static void free_xpath_object_p(xmlXPathObjectPtr *object)
{
	if (*object)
		xmlXPathFreeObject(*object);
}

/*
 * Expressions are constants, few, and asked again for every document: each is compiled once a thread.
 * One that finds no place any more is compiled each time.
 */
#define EXPRESSIONS_MAX 256

static _Thread_local struct {
	char *text;
	xmlXPathCompExprPtr compiled;
} expressions[EXPRESSIONS_MAX];

static size_t expression_hash(const char *text)
{
	size_t h = 5381;

	while (*text)
		h = h * 33 + (unsigned char)*text++;
	return h % EXPRESSIONS_MAX;
}

/* Lent; NULL when it is malformed or there is no place. The context is for silence about errors. */
static xmlXPathCompExprPtr compiled_expression(xmlXPathContextPtr context, const char *text)
{
	size_t at = expression_hash(text);

	for (size_t i = 0; i < EXPRESSIONS_MAX / 4; i++, at = (at + 1) % EXPRESSIONS_MAX) {
		if (!expressions[at].text) {
			expressions[at].compiled = xmlXPathCtxtCompile(context, to_xml(text));
			if (expressions[at].compiled)
				expressions[at].text = strdup(text);
			return expressions[at].compiled;
		}
		if (str_equal(expressions[at].text, text))
			return expressions[at].compiled;
	}
	return NULL;
}

/* A node set (maybe empty), or NULL with err. */
static xmlXPathObjectPtr evaluate(
	struct xml *x, struct xml_node *node, const char *xpath, struct error *err)
{
	_cleanup_(free_xpath_object_p) xmlXPathObjectPtr object = NULL;
	xmlXPathCompExprPtr compiled = compiled_expression(x->xpath, xpath);

	x->xpath->node = node ? (xmlNodePtr)(void *)node : (xmlNodePtr)x->doc;
	object = compiled ? xmlXPathCompiledEval(compiled, x->xpath)
			  : xmlXPathEvalExpression(to_xml(xpath), x->xpath);
	if (!object || object->type != XPATH_NODESET) {
		(void)error_set(err, ERROR_FAILED, "cannot look up '%s' in %s", xpath, x->what);
		return NULL;
	}
	return TAKE(object);
}

int xml_str(struct xml *x, struct xml_node *node, const char *xpath, size_t max, char **ret,
	struct error *err)
{
	_cleanup_(free_xpath_object_p) xmlXPathObjectPtr object = evaluate(x, node, xpath, err);
	_cleanup_(free_xml_string_p) xmlChar *content = NULL;
	char *copy;

	if (!object)
		return -1;
	if (xmlXPathNodeSetIsEmpty(object->nodesetval))
		return 0;
	content = xmlNodeGetContent(object->nodesetval->nodeTab[0]);
	if (!content)
		return error_oom(err);
	if (strlen(from_xml(content)) > max)
		return error_set(err, ERROR_INVALID, "'%s' in %s is longer than %zu bytes", xpath,
			x->what, max);
	copy = str_dup(from_xml(content), err);
	if (!copy)
		return -1;
	*ret = copy;
	return 1;
}

int xml_copy(struct xml *x, struct xml_node *node, const char *xpath, char *buf, size_t size,
	struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int ret = xml_str(x, node, xpath, size - 1, &text, err);

	if (ret == 1)
		memcpy(buf, text, strlen(text) + 1);
	return ret;
}

int xml_u64(struct xml *x, struct xml_node *node, const char *xpath, uint64_t max, uint64_t *ret,
	struct error *err)
{
	char text[24];
	unsigned long long value;
	int found = xml_copy(x, node, xpath, text, sizeof(text), err);

	if (found != 1)
		return found;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (!*text || text[strspn(text, "0123456789")] || errno || value > max)
		return error_set(err, ERROR_INVALID,
			"'%s' in %s is not a number of at most %" PRIu64, xpath, x->what, max);
	*ret = value;
	return 1;
}

int xml_has(struct xml *x, struct xml_node *node, const char *xpath, struct error *err)
{
	_cleanup_(free_xpath_object_p) xmlXPathObjectPtr object = evaluate(x, node, xpath, err);

	if (!object)
		return -1;
	return !xmlXPathNodeSetIsEmpty(object->nodesetval);
}

void xml_nodes_done(struct xml_nodes *nodes)
{
	free(nodes->items);
	*nodes = (struct xml_nodes){ 0 };
}

int xml_nodes(struct xml *x, struct xml_node *node, const char *xpath, struct xml_nodes *ret,
	struct error *err)
{
	_cleanup_(free_xpath_object_p) xmlXPathObjectPtr object = evaluate(x, node, xpath, err);
	struct xml_nodes nodes = { 0 };

	if (!object)
		return -1;
	if (object->nodesetval)
		nodes.len = (size_t)object->nodesetval->nodeNr;
	if (nodes.len > XML_MAX_NODES)
		return error_set(err, ERROR_INVALID, "%s has %zu rows of '%s', at most %u", x->what,
			nodes.len, xpath, (unsigned)XML_MAX_NODES);
	if (nodes.len) {
		nodes.items = calloc(nodes.len, sizeof(struct xml_node *));
		if (!nodes.items)
			return error_oom(err);
	}
	for (size_t i = 0; i < nodes.len; i++)
		nodes.items[i] = (struct xml_node *)(void *)object->nodesetval->nodeTab[i];
	*ret = nodes;
	return 0;
}

/* ---- changing ---- */

static int illegal_value(const struct xml *x, struct error *err)
{
	return error_set(err, ERROR_INVALID,
		"cannot change %s: a value holds a control character or is not UTF-8", x->what);
}

int xml_set_attr(struct xml *x, struct xml_node *node, const char *name, const char *value,
	struct error *err)
{
	if (!is_legal(value))
		return illegal_value(x, err);
	if (!xmlSetProp((xmlNodePtr)(void *)node, to_xml(name), to_xml(value)))
		return error_oom(err);
	return 0;
}

int xml_set_text(struct xml *x, struct xml_node *node, const char *text, struct error *err)
{
	xmlNodePtr element = (xmlNodePtr)(void *)node;
	xmlNodePtr content;

	if (!is_legal(text))
		return illegal_value(x, err);
	content = xmlNewDocText(x->doc, to_xml(text));
	if (!content)
		return error_oom(err);
	while (element->children) {
		xmlNodePtr child = element->children;

		xmlUnlinkNode(child);
		xmlFreeNode(child);
	}
	xmlAddChild(element, content);
	return 0;
}

void xml_remove(struct xml *x, struct xml_node *node)
{
	xmlNodePtr element = (xmlNodePtr)(void *)node;

	(void)x;
	xmlUnlinkNode(element);
	xmlFreeNode(element);
}

int xml_insert(struct xml *x, struct xml_node *node, const char *fragment, struct error *err)
{
	xmlDocPtr doc = parse_document(fragment, strlen(fragment), "the element to insert", err);
	xmlNodePtr copy;

	if (!doc)
		return -1;
	copy = xmlDocCopyNode(xmlDocGetRootElement(doc), x->doc, /* recursive */ 1);
	xmlFreeDoc(doc);
	if (!copy || !xmlAddChild((xmlNodePtr)(void *)node, copy)) {
		xmlFreeNode(copy);
		return error_oom(err);
	}
	return 0;
}

char *xml_dump(struct xml *x, struct error *err)
{
	_cleanup_(free_xml_string_p) xmlChar *text = NULL;
	int len = 0;

	xmlDocDumpMemoryEnc(x->doc, &text, &len, "UTF-8");
	if (!text) {
		(void)error_oom(err);
		return NULL;
	}
	return str_dup(from_xml(text), err);
}

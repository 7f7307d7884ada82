/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/metadata.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "base/str.h"

/* A child by its name alone: libvirt gives the element with its namespace or without. */
#define CHILD(name) "*[local-name()='" name "']"
#define ROOT_PATH \
	"/*[local-name()='box' and (namespace-uri()='' or namespace-uri()='" META_NAMESPACE "')]"
#define DOMAIN_PATH \
	"/domain/metadata/*[local-name()='box' and namespace-uri()='" META_NAMESPACE "']"

enum chars {
	CHARS_NAME, /* letters, digits, . _ -, first one a letter or digit: safe as a volume's name */
	CHARS_SOURCE, /* two such names round a slash */
	CHARS_PRINTABLE, /* printable ASCII: for people */
};

struct text_field {
	const char *path; /* for reading */
	const char *element; /* for writing; NULL: written by hand (an attribute) */
	size_t offset;
	size_t size;
	enum chars chars;
};

#define FIELD(p, e, member, c)                                                                     \
	{                                                                                          \
		p, e, offsetof(struct box_meta, member), sizeof(((struct box_meta *)0)->member), c \
	}

static const struct text_field fields[] = {
	FIELD(CHILD("template"), "template", template, CHARS_NAME),
	FIELD(CHILD("user"), "user", user, CHARS_NAME),
	FIELD(CHILD("agent"), "agent", agent, CHARS_PRINTABLE),
	FIELD(CHILD("tap"), "tap", tap, CHARS_NAME),
	FIELD(CHILD("image"), NULL, image, CHARS_NAME),
	FIELD(CHILD("image") "/@digest", NULL, digest, CHARS_NAME),
	FIELD(CHILD("origin") "/@source", NULL, source, CHARS_SOURCE),
	FIELD(CHILD("operation") "/@name", NULL, operation.name, CHARS_NAME),
	FIELD(CHILD("operation") "/@holder", NULL, operation.holder, CHARS_PRINTABLE),
	FIELD(CHILD("operation") "/@subject", NULL, operation.subject, CHARS_SOURCE),
	FIELD(CHILD("operation") "/@layer", NULL, operation.layer, CHARS_NAME),
	FIELD(CHILD("operation") "/@old", NULL, operation.old, CHARS_NAME),
};

static const char *const identity_names[] = {
	[META_IDENTITY_NONE] = "none",
	[META_IDENTITY_PENDING] = "pending",
	[META_IDENTITY_VERIFIED] = "verified",
};

void meta_done(struct box_meta *meta)
{
	meta_doors_done(&meta->doors);
	meta_snapshots_done(&meta->snapshots);
	*meta = (struct box_meta){ 0 };
}

int meta_copy(const struct box_meta *meta, struct box_meta *ret, struct error *err)
{
	_cleanup_meta_ struct box_meta copy = *meta;

	copy.doors = (struct meta_doors)VEC_INIT;
	copy.snapshots = (struct meta_snapshots)VEC_INIT;
	vec_foreach(struct meta_door, d, &meta->doors) {
		if (meta_doors_push(&copy.doors, *d, err) < 0)
			return -1;
	}
	vec_foreach(struct meta_snapshot, s, &meta->snapshots) {
		if (meta_snapshots_push(&copy.snapshots, *s, err) < 0)
			return -1;
	}
	*ret = copy;
	copy = (struct box_meta){ 0 };
	return 0;
}

struct meta_snapshot *meta_snapshot_find(const struct box_meta *meta, const char *label)
{
	vec_foreach(struct meta_snapshot, s, &meta->snapshots) {
		if (str_equal(s->label, label))
			return s;
	}
	return NULL;
}

const char *meta_time_format(int64_t when, char *buf)
{
	time_t t = (time_t)when;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, META_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, META_TIME_MAX, "?");
	return buf;
}

/* ---- writing ---- */

struct meta_writer {
	struct xml_writer *w;
	bool prefixed;
};

/* Element names are constants below; the prefix makes them at most this long. */
struct element_name {
	char text[32];
};

static struct element_name element(const struct meta_writer *m, const char *name)
{
	struct element_name e;

	snprintf(e.text, sizeof(e.text), "%s%s", m->prefixed ? META_PREFIX ":" : "", name);
	return e;
}

static void write_times(const struct meta_writer *m, const char *attr, int64_t when)
{
	char buf[META_TIME_MAX];

	xml_attr(m->w, attr, "%s", meta_time_format(when, buf));
}

static void write_lists(const struct meta_writer *m, const struct box_meta *meta)
{
	vec_foreach(struct meta_door, d, &meta->doors) {
		xml_open(m->w, element(m, "door").text, NULL);
		xml_attr(m->w, "port", "%u", (unsigned)d->port);
		xml_attr(m->w, "host", "%u", (unsigned)d->host);
		xml_close(m->w);
	}
	vec_foreach(struct meta_snapshot, s, &meta->snapshots) {
		xml_open(m->w, element(m, "snapshot").text, "label", s->label, "layer", s->layer,
			NULL);
		write_times(m, "created", s->created);
		xml_attr(m->w, "quiesced", "%s", s->quiesced ? "yes" : "no");
		if (*s->memory)
			xml_attr(m->w, "memory", "%s", s->memory);
		xml_close(m->w);
	}
}

static void write_operation(const struct meta_writer *m, const struct meta_operation *op)
{
	if (!*op->name)
		return;
	xml_open(m->w, element(m, "operation").text, "name", op->name, NULL);
	write_times(m, "since", op->since);
	xml_attr(m->w, "holder", "%s", op->holder);
	if (*op->subject)
		xml_attr(m->w, "subject", "%s", op->subject);
	if (*op->layer)
		xml_attr(m->w, "layer", "%s", op->layer);
	if (*op->old)
		xml_attr(m->w, "old", "%s", op->old);
	xml_close(m->w);
}

static void write_origin(const struct meta_writer *m, const struct box_meta *meta)
{
	char created[META_TIME_MAX];

	xml_open(m->w, element(m, "origin").text, NULL);
	if (meta->clone)
		xml_attr(m->w, "source", "%s", meta->source);
	xml_text(m->w, meta->clone ? "clone" : "mint");
	xml_close(m->w);
	xml_leaf(m->w, element(m, "created").text, "%s", meta_time_format(meta->created, created));
	if (*meta->image) {
		xml_open(m->w, element(m, "image").text, NULL);
		if (*meta->digest)
			xml_attr(m->w, "digest", "%s", meta->digest);
		xml_text(m->w, meta->image);
		xml_close(m->w);
	}
}

static void write_box(const struct meta_writer *m, const struct box_meta *meta)
{
	xml_open(m->w, element(m, "box").text, NULL);
	if (m->prefixed)
		xml_attr(m->w, "xmlns:" META_PREFIX, "%s", META_NAMESPACE);
	xml_attr(m->w, "schema", "%u", meta->schema);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *value = (const char *)meta + fields[i].offset;

		if (fields[i].element && *value)
			xml_leaf(m->w, element(m, fields[i].element).text, "%s", value);
	}
	write_origin(m, meta);
	if (meta->address)
		xml_leaf(m->w, element(m, "address").text, "%u.%u.%u.%u", meta->address >> 24,
			meta->address >> 16 & 255, meta->address >> 8 & 255, meta->address & 255);
	if (meta->identity)
		xml_leaf(m->w, element(m, "identity").text, "%s", identity_names[meta->identity]);
	write_lists(m, meta);
	write_operation(m, &meta->operation);
	xml_close(m->w);
}

void meta_write(const struct box_meta *meta, struct xml_writer *w)
{
	write_box(&(struct meta_writer){ .w = w, .prefixed = true }, meta);
}

char *meta_format(const struct box_meta *meta, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	write_box(&(struct meta_writer){ .w = w, .prefixed = false }, meta);
	return xml_finish(w, err);
}

/* ---- reading ---- */

static bool fits(const char *text, enum chars chars)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789._-";
	size_t len;

	if (chars == CHARS_PRINTABLE) {
		for (; *text; text++)
			if (*text < 0x20 || *text > 0x7e)
				return false;
		return true;
	}
	if (*text == '.' || *text == '-')
		return false;
	len = strspn(text, name_chars);
	if (chars == CHARS_SOURCE && len && text[len] == '/')
		return text[len + 1] && fits(text + len + 1, CHARS_NAME);
	return text[len] == '\0';
}

/* Where a reading is: the document, the box element, and into what. */
struct meta_reader {
	struct xml *x;
	struct xml_node *node;
	struct box_meta *meta;
	struct error *err;
};

static int read_text(
	struct meta_reader *r, struct xml_node *node, const struct text_field *f, void *base)
{
	char *into = (char *)base + f->offset;
	int ret = xml_copy(r->x, node, f->path, into, f->size, r->err);

	if (ret == 1 && !fits(into, f->chars)) {
		*into = '\0';
		return error_set(r->err, ERROR_INVALID,
			"'%s' of a box's metadata has characters that may not be there", f->path);
	}
	return ret;
}

static int read_time(struct meta_reader *r, struct xml_node *node, const char *path, int64_t *ret)
{
	char text[META_TIME_MAX];
	struct tm tm = { 0 };
	const char *end;
	int found = xml_copy(r->x, node, path, text, sizeof(text), r->err);

	if (found != 1)
		return found;
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!end || *end)
		return error_set(r->err, ERROR_INVALID,
			"'%s' of a box's metadata is not a time like 2026-01-02T03:04:05Z", path);
	*ret = (int64_t)timegm(&tm);
	return 1;
}

/* One of count words; their index into *ret. */
static int read_word(struct meta_reader *r, struct xml_node *node, const char *path,
	const char *const *words, size_t count)
{
	char text[16];
	int found = xml_copy(r->x, node, path, text, sizeof(text), r->err);

	if (found < 0)
		return -1;
	if (found == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (str_equal(text, words[i]))
			return (int)i;
	return error_set(r->err, ERROR_INVALID, "'%s' of a box's metadata is none of %s, %s", path,
		words[0], words[1]);
}

static int read_texts(struct meta_reader *r)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (read_text(r, r->node, &fields[i], r->meta) < 0)
			return -1;
	return 0;
}

static int read_times(struct meta_reader *r)
{
	if (read_time(r, r->node, CHILD("created"), &r->meta->created) < 0)
		return -1;
	if (read_time(r, r->node, CHILD("operation") "/@since", &r->meta->operation.since) < 0)
		return -1;
	return 0;
}

static int read_words(struct meta_reader *r)
{
	static const char *const origins[] = { "mint", "clone" };
	int origin = read_word(r, r->node, CHILD("origin"), origins, ARRAY_LEN(origins));
	int identity = read_word(
		r, r->node, CHILD("identity"), identity_names, ARRAY_LEN(identity_names));

	if (origin < 0 || identity < 0)
		return -1;
	r->meta->clone = origin == 1;
	r->meta->identity = (enum meta_identity)identity;
	return 0;
}

static int read_address(struct meta_reader *r)
{
	char text[16];
	int found = xml_copy(r->x, r->node, CHILD("address"), text, sizeof(text), r->err);

	if (found != 1)
		return found;
	if (parse_ipv4(text, "the address in a box's metadata", &r->meta->address, r->err) < 0) {
		r->err->kind = ERROR_INVALID;
		return -1;
	}
	return 0;
}

static int too_many(struct meta_reader *r, const char *what, size_t max)
{
	return error_set(
		r->err, ERROR_INVALID, "a box's metadata lists more than %zu %s", max, what);
}

static int read_doors(struct meta_reader *r)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(r->x, r->node, CHILD("door"), &nodes, r->err) < 0)
		return -1;
	if (nodes.len > META_DOORS_MAX)
		return too_many(r, "doors", META_DOORS_MAX);
	xml_foreach(n, &nodes) {
		uint64_t port = 0, host = 0;

		if (xml_u64(r->x, n, "@port", 65535, &port, r->err) < 0 ||
			xml_u64(r->x, n, "@host", 65535, &host, r->err) < 0)
			return -1;
		if (port == 0 || host == 0)
			return error_set(
				r->err, ERROR_INVALID, "a door in a box's metadata lacks a port");
		if (meta_doors_push(&r->meta->doors,
			    (struct meta_door){ (uint16_t)port, (uint16_t)host }, r->err) < 0)
			return -1;
	}
	return 0;
}

static int read_snapshot(struct meta_reader *r, struct xml_node *n)
{
	static const struct text_field label = { "@label", NULL,
		offsetof(struct meta_snapshot, label), sizeof(((struct meta_snapshot *)0)->label),
		CHARS_NAME };
	static const struct text_field layer = { "@layer", NULL,
		offsetof(struct meta_snapshot, layer), sizeof(((struct meta_snapshot *)0)->layer),
		CHARS_NAME };
	static const struct text_field memory = { "@memory", NULL,
		offsetof(struct meta_snapshot, memory), sizeof(((struct meta_snapshot *)0)->memory),
		CHARS_NAME };
	static const char *const yes_no[] = { "no", "yes" };
	struct meta_snapshot s = { 0 };
	int quiesced;

	if (read_text(r, n, &label, &s) < 0 || read_text(r, n, &layer, &s) < 0 ||
		read_text(r, n, &memory, &s) < 0 || read_time(r, n, "@created", &s.created) < 0)
		return -1;
	quiesced = read_word(r, n, "@quiesced", yes_no, ARRAY_LEN(yes_no));
	if (quiesced < 0)
		return -1;
	if (!*s.label || !*s.layer || meta_snapshot_find(r->meta, s.label))
		return error_set(r->err, ERROR_INVALID,
			"a snapshot in a box's metadata lacks its label or layer, or is listed twice");
	s.quiesced = quiesced == 1;
	return meta_snapshots_push(&r->meta->snapshots, s, r->err);
}

static int read_snapshots(struct meta_reader *r)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(r->x, r->node, CHILD("snapshot"), &nodes, r->err) < 0)
		return -1;
	if (nodes.len > META_SNAPSHOTS_MAX)
		return too_many(r, "snapshots", META_SNAPSHOTS_MAX);
	xml_foreach(n, &nodes) {
		if (read_snapshot(r, n) < 0)
			return -1;
	}
	return 0;
}

typedef int (*meta_part)(struct meta_reader *r);
static const meta_part parts[] = {
	read_texts,
	read_times,
	read_words,
	read_address,
	read_doors,
	read_snapshots,
};

/* 1 read, 0 no such element, -1. */
static int read_box(struct xml *x, const char *path, struct box_meta *ret, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };
	struct meta_reader r = { .x = x, .meta = &meta, .err = err };
	uint64_t schema = 0;

	if (xml_nodes(x, NULL, path, &nodes, err) < 0)
		return -1;
	if (!nodes.len)
		return 0;
	r.node = nodes.items[0];
	if (xml_u64(x, r.node, "@schema", UINT32_MAX, &schema, err) < 0)
		return -1;
	if (schema == 0)
		return error_set(err, ERROR_INVALID, "a box's metadata has no schema number");
	meta.schema = (uint32_t)schema;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i](&r) == 0)
			continue;
		if (meta.schema <= META_SCHEMA)
			return -1;
		error_clear(err); /* a newer schema: what is not understood is not shown */
	}
	*ret = meta;
	meta = (struct box_meta){ 0 };
	return 1;
}

int meta_parse(const char *text, struct box_meta *ret, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(
		text, strlen(text), "a box's metadata", err);
	int found;

	if (!x)
		return -1;
	found = read_box(x, ROOT_PATH, ret, err);
	if (found == 0)
		return error_set(err, ERROR_INVALID, "a box's metadata has no box element");
	return found < 0 ? -1 : 0;
}

int meta_parse_domain(struct xml *domain, struct box_meta *ret, struct error *err)
{
	return read_box(domain, DOMAIN_PATH, ret, err);
}

int meta_check_writable(const struct box_meta *meta, const char *name, struct error *err)
{
	if (meta->schema <= META_SCHEMA)
		return 0;
	return error_set(err, ERROR_INVALID,
		"cannot change box '%s': a newer version of box made it (schema %u, this one knows "
		"%u); update box",
		name, meta->schema, META_SCHEMA);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/warm-record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

enum { SCHEMA = 1, CPUS_MAX = 512, DATA_LEN_MAX = 16 << 20 };

/* The three names of this stem, of which len characters count. */
static void names_of_stem(const char *stem, size_t len, struct warm_names *ret)
{
	const struct {
		char *name;
		const char *suffix;
	} names[] = { { ret->layer, "qcow2" }, { ret->memory, "mem" }, { ret->record, "json" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)snprintf(
			names[i].name, VOLUME_NAME_MAX, "%.*s.%s", (int)len, stem, names[i].suffix);
}

void warm_names_make(
	const char *template, const char key[DIGEST_HEX], uint32_t number, struct warm_names *ret)
{
	char stem[VOLUME_NAME_MAX];

	(void)snprintf(stem, sizeof(stem), "warm-%.64s-%.16s-%08" PRIx32, template, key, number);
	names_of_stem(stem, strlen(stem), ret);
}

bool warm_names_of(const char *volume, struct warm_names *ret)
{
	size_t len = strcspn(volume, ".");

	if (!str_starts(volume, "warm-") || len > VOLUME_NAME_MAX - 8)
		return false;
	names_of_stem(volume, len, ret);
	return str_equal(volume, ret->layer) || str_equal(volume, ret->memory) ||
	       str_equal(volume, ret->record);
}

bool warm_names_fit(
	const struct warm_names *names, const char *template, const char key[DIGEST_HEX])
{
	char stem[VOLUME_NAME_MAX];
	size_t len;

	(void)snprintf(stem, sizeof(stem), "warm-%.64s-%.16s-", template, key);
	len = strlen(stem);
	return strncmp(names->record, stem, len) == 0 &&
	       strspn(names->record + len, "0123456789abcdef") == 8 &&
	       str_equal(names->record + len + 8, ".json");
}

void warm_record_done(struct warm_record *r)
{
	free(r->cookie);
	*r = (struct warm_record){ 0 };
}

/* ---- reading ---- */

struct text_slot {
	const char *key;
	size_t offset, size;
};

#define TEXT_SLOT(key, member)                                    \
	{                                                         \
		key, offsetof(struct warm_record, member),        \
			sizeof(((struct warm_record *)0)->member) \
	}

static const struct text_slot texts[] = {
	TEXT_SLOT("key", key),
	TEXT_SLOT("image", image),
	TEXT_SLOT("uuid", uuid),
	TEXT_SLOT("tool", tool),
	TEXT_SLOT("created", created),
};

static int read_texts(const json_t *root, struct warm_record *r, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *text;

		if (json_get_text(root, texts[i].key, &text, err) < 0)
			return -1;
		if (strlen(text) >= texts[i].size)
			return error_set(err, ERROR_INVALID, "'%s' is too long", texts[i].key);
		(void)strcpy((char *)r + texts[i].offset, text);
	}
	return 0;
}

static int read_number(
	const json_t *root, const char *key, uint64_t max, uint64_t *ret, struct error *err)
{
	uint64_t value = 0;

	if (json_get_u64(root, key, &value, err) < 0)
		return -1;
	if (value > max)
		return error_set(err, ERROR_INVALID, "'%s' is out of bounds", key);
	*ret = value;
	return 0;
}

static int read_numbers(const json_t *root, struct warm_record *r, struct error *err)
{
	uint64_t cpus = 0, data_len = 0, compressed = 0;

	if (read_number(root, "cpus", CPUS_MAX, &cpus, err) < 0 ||
		read_number(root, "memory", INT64_MAX, &r->memory, err) < 0 ||
		read_number(root, "disk", INT64_MAX, &r->disk, err) < 0 ||
		read_number(root, "bytes", INT64_MAX, &r->bytes, err) < 0 ||
		read_number(root, "data_length", DATA_LEN_MAX, &data_len, err) < 0 ||
		read_number(root, "compression", UINT32_MAX, &compressed, err) < 0)
		return -1;
	r->cpus = (unsigned)cpus;
	r->data_len = (uint32_t)data_len;
	r->compressed = (uint32_t)compressed;
	return 0;
}

static int read_cookie(const json_t *root, struct warm_record *r, struct error *err)
{
	const char *cookie = json_peek_text(root, "cookie");

	if (!cookie)
		return 0;
	if (strlen(cookie) > WARM_COOKIE_MAX)
		return error_set(err, ERROR_INVALID, "'cookie' is too long");
	r->cookie = str_dup(cookie, err);
	return r->cookie ? 0 : -1;
}

static const struct text_slot digests[] = {
	TEXT_SLOT("layer_sha256", layer_sha256),
	TEXT_SLOT("memory_sha256", memory_sha256),
};

static int read_digests(const json_t *root, struct warm_record *r, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
		const char *text = json_peek_text(root, digests[i].key);

		if (!text || !*text)
			continue;
		if (strlen(text) != DIGEST_HEX - 1 ||
			strspn(text, "0123456789abcdef") != DIGEST_HEX - 1)
			return error_set(err, ERROR_INVALID, "'%s' is no digest", digests[i].key);
		(void)strcpy((char *)r + digests[i].offset, text);
	}
	return 0;
}

/* Only names of golden volumes and digests: they name volumes. */
static int check(const struct warm_record *r, struct error *err)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";

	if (strlen(r->key) != DIGEST_HEX - 1 ||
		strspn(r->key, "0123456789abcdef") != DIGEST_HEX - 1)
		return error_set(err, ERROR_INVALID, "'key' is no digest");
	if (!str_starts(r->image, "golden-") || strspn(r->image, name_chars) != strlen(r->image))
		return error_set(err, ERROR_INVALID, "'image' names no golden image");
	if (!r->cpus || !r->memory || !r->disk || r->data_len < 2 || r->bytes <= r->data_len)
		return error_set(err, ERROR_INVALID, "a size is missing");
	return 0;
}

int warm_record_parse(
	const char *bytes, size_t len, const char *what, struct warm_record *ret, struct error *err)
{
	_cleanup_json_ json_t *root = json_parse(bytes, len, what, err);
	_cleanup_warm_record_ struct warm_record r = { 0 };
	uint64_t schema = 0;

	if (!root)
		return -1;
	if (json_get_u64(root, "schema", &schema, err) < 0)
		return error_wrap(err, "%s", what);
	if (schema != SCHEMA)
		return error_set(err, ERROR_INVALID,
			"%s: the warm image is of schema %" PRIu64 ", and only %d is known", what,
			schema, SCHEMA);
	if (read_texts(root, &r, err) < 0 || read_numbers(root, &r, err) < 0 ||
		read_cookie(root, &r, err) < 0 || read_digests(root, &r, err) < 0 ||
		check(&r, err) < 0)
		return error_wrap(err, "%s", what);
	*ret = r;
	r = (struct warm_record){ 0 };
	return 0;
}

int warm_record_render(const struct warm_record *r, struct str *into, struct error *err)
{
	_cleanup_json_ json_t *root = json_object();

	if (json_set_u64(root, "schema", SCHEMA, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (json_set_text(root, texts[i].key, (const char *)r + texts[i].offset, err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(digests); i++)
		if (json_set_text(root, digests[i].key, (const char *)r + digests[i].offset, err) <
			0)
			return -1;
	if (json_set_u64(root, "cpus", r->cpus, err) < 0 ||
		json_set_u64(root, "memory", r->memory, err) < 0 ||
		json_set_u64(root, "disk", r->disk, err) < 0 ||
		json_set_u64(root, "bytes", r->bytes, err) < 0 ||
		json_set_u64(root, "data_length", r->data_len, err) < 0 ||
		json_set_u64(root, "compression", r->compressed, err) < 0)
		return -1;
	/* not json_set_text, which would escape its newlines */
	if (r->cookie && json_set_new(root, "cookie", json_string(r->cookie), err) < 0)
		return -1;
	return json_render(root, false, into, err);
}

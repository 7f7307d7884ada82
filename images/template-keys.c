/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key tables of template.yaml, and the rules that look at more than one key. */
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/yaml.h"
#include "images/template.h"

/* "13" and its codename. The first is the default. */
static const struct {
	const char *number, *codename;
} releases[] = {
	{ "13", "trixie" },
	{ "12", "bookworm" },
};

const char *debian_release(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(releases); i++)
		if (str_equal(name, releases[i].number) || str_equal(name, releases[i].codename))
			return releases[i].codename;
	return NULL;
}

static bool all_of(const char *text, const char *set)
{
	return *text && strspn(text, set) == strlen(text);
}

/* Replace *slot by the scalar's text. */
static int take_text(struct yml_node value, char **slot, struct error *err)
{
	char *text = yml_text(value, err);

	if (!text)
		return -1;
	free(*slot);
	*slot = text;
	return 0;
}

/* A list of scalars, appended to v. */
static int take_list(struct yml_node list, struct text_vec *v, struct error *err)
{
	for (size_t i = 0; i < yml_len(list); i++) {
		_cleanup_free_ char *text = yml_text(yml_item(list, i), err);

		if (!text || text_vec_add(v, text, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- image ---- */

static int take_hex(struct yml_node value, size_t digits, char **slot, struct error *err)
{
	const char *text = yml_scalar(value);

	if (!text || strlen(text) != digits || !all_of(text, "0123456789abcdefABCDEF"))
		return yml_error(err, value, "this takes %zu hexadecimal digits", digits);
	if (take_text(value, slot, err) < 0)
		return -1;
	for (char *c = *slot; *c; c++)
		if (*c >= 'A' && *c <= 'F')
			*c = (char)(*c - 'A' + 'a');
	return 0;
}

static int key_url(struct yml_node value, void *object, struct error *err)
{
	struct source *s = object;
	const char *text = yml_scalar(value);

	if (!text || (!str_starts(text, "https://") && !str_starts(text, "http://")))
		return yml_error(err, value, "a URL begins with https:// or http://");
	s->kind = SOURCE_URL;
	return take_text(value, &s->location, err);
}

static int key_file(struct yml_node value, void *object, struct error *err)
{
	struct source *s = object;

	if (s->location)
		return yml_error(err, value, "an image is at a url or in a file, not both");
	s->kind = SOURCE_FILE;
	return take_text(value, &s->location, err);
}

static int key_sha256(struct yml_node value, void *object, struct error *err)
{
	return take_hex(value, 64, &((struct source *)object)->sha256, err);
}

static int key_sha512(struct yml_node value, void *object, struct error *err)
{
	return take_hex(value, 128, &((struct source *)object)->sha512, err);
}

static int key_signer(struct yml_node value, void *object, struct error *err)
{
	return take_hex(value, 40, &((struct source *)object)->key, err);
}

static int key_keyring(struct yml_node value, void *object, struct error *err)
{
	return take_text(value, &((struct source *)object)->keyring, err);
}

static int key_checksums(struct yml_node value, void *object, struct error *err)
{
	struct source *s = object;
	const char *text = yml_scalar(value);

	if (!text || (!str_starts(text, "https://") && !str_starts(text, "http://")))
		return yml_error(err, value, "a URL begins with https:// or http://");
	return take_text(value, &s->checksums, err);
}

static const struct yml_key source_keys[] = {
	{ "url", YML_SCALAR, false, key_url },
	{ "file", YML_SCALAR, false, key_file },
	{ "sha256", YML_SCALAR, false, key_sha256 },
	{ "sha512", YML_SCALAR, false, key_sha512 },
	{ "checksums", YML_SCALAR, false, key_checksums },
	{ "key", YML_SCALAR, false, key_signer },
	{ "keyring", YML_SCALAR, false, key_keyring },
};

static int take_debian(struct yml_node value, struct source *s, struct error *err)
{
	const char *text = yml_scalar(value), *release = NULL;

	if (text && str_starts(text, "debian:"))
		release = debian_release(text + strlen("debian:"));
	if (!release)
		return yml_error(err, value,
			"image: write debian:13, debian:12, or a mapping with url or file");
	s->kind = SOURCE_DEBIAN;
	s->release = str_dup(release, err);
	return s->release ? 0 : -1;
}

/* A download without a checksum would be whatever the network says it is. */
static int check_source(struct yml_node value, const struct source *s, struct error *err)
{
	if (!s->location)
		return yml_error(err, value, "image: needs url or file");
	if (s->kind == SOURCE_URL && !s->sha256 && !s->sha512 && !s->checksums)
		return yml_error(
			err, value, "image: a url needs sha256, sha512, or checksums with a key");
	if (s->checksums && (!s->key || !s->keyring))
		return yml_error(err, value,
			"image: checksums needs the signer's key (fingerprint) and a keyring");
	if (!s->checksums && (s->key || s->keyring))
		return yml_error(err, value, "image: key and keyring belong to checksums");
	return 0;
}

/* YML_NONE as kind in the table: a scalar or a mapping. */
static int key_image(struct yml_node value, void *object, struct error *err)
{
	struct source *s = &((struct template *)object)->source;

	if (yml_kind(value) == YML_SCALAR)
		return take_debian(value, s, err);
	if (yml_kind(value) != YML_MAP)
		return yml_error(err, value, "image: write debian:13, or a mapping");
	if (yml_read(value, source_keys, ARRAY_LEN(source_keys), s, err) < 0)
		return -1;
	return check_source(value, s, err);
}

/* ---- the template ---- */

static int key_description(struct yml_node value, void *object, struct error *err)
{
	return take_text(value, &((struct template *)object)->description, err);
}

static int key_shared(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;
	const char *text = yml_scalar(value);

	if (!yml_is_plain(value) || (!str_equal(text, "true") && !str_equal(text, "false")))
		return yml_error(err, value, "shared: write true or false");
	t->shared = str_equal(text, "true");
	return 0;
}

/* The name only: what it stands for is looked up afterwards. */
static int key_base(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;

	t->base = calloc(1, sizeof(*t->base));
	if (!t->base)
		return error_oom(err);
	if (!yml_scalar(value) || strlen(yml_scalar(value)) >= TEMPLATE_NAME_MAX)
		return yml_error(err, value, "base: the name of a shared template");
	(void)strcpy(t->base->name, yml_scalar(value));
	return 0;
}

static int key_user(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;
	const char *text = yml_scalar(value);

	if (!text || strlen(text) >= TEMPLATE_USER_MAX ||
		!all_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") || *text == '-' ||
		(*text >= '0' && *text <= '9'))
		return yml_error(err, value,
			"user: at most 32 of a-z, 0-9, '_' and '-', and a letter first");
	if (str_equal(text, "root"))
		return yml_error(err, value, "user: root is in every box already; name another");
	(void)strcpy(t->user, text);
	return 0;
}

static int take_number(
	struct yml_node value, uint64_t max, const char *what, uint64_t *ret, struct error *err)
{
	const char *text = yml_scalar(value);

	if (parse_u64(text ? text : "", 1, max, what, ret, err) < 0)
		return yml_error_at(err, value);
	return 0;
}

static int key_cpu(struct yml_node value, void *object, struct error *err)
{
	return take_number(value, 512, "cpu", &((struct template *)object)->cpu, err);
}

static int key_node(struct yml_node value, void *object, struct error *err)
{
	return take_number(value, 999, "node", &((struct template *)object)->node, err);
}

static int take_size(struct yml_node value, const char *what, uint64_t *ret, struct error *err)
{
	const char *text = yml_scalar(value);

	if (parse_size(text ? text : "", what, ret, err) < 0)
		return yml_error_at(err, value);
	return 0;
}

static int key_memory(struct yml_node value, void *object, struct error *err)
{
	return take_size(value, "memory", &((struct template *)object)->memory, err);
}

static int key_disk(struct yml_node value, void *object, struct error *err)
{
	return take_size(value, "disk", &((struct template *)object)->disk, err);
}

/* Debian's own rule for package names: nothing that apt could take for an option or a path. */
static int key_packages(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;

	for (size_t i = 0; i < yml_len(value); i++) {
		const char *name = yml_scalar(yml_item(value, i));

		if (!name || !all_of(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.") ||
			strchr("+-.", *name))
			return yml_error(err, yml_item(value, i), "packages: not a package's name");
	}
	return take_list(value, &t->packages, err);
}

static int key_bake(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;

	for (size_t i = 0; i < yml_len(value); i++) {
		struct yml_node step = yml_item(value, i);
		_cleanup_texts_ struct text_vec argv = VEC_INIT;

		if (yml_kind(step) != YML_LIST || !yml_len(step))
			return yml_error(
				err, step, "bake: each step is a list: [program, argument...]");
		if (take_list(step, &argv, err) < 0 || argv_vec_push(&t->bake, argv, err) < 0)
			return -1;
		argv = (struct text_vec)VEC_INIT;
	}
	return 0;
}

static int key_verify(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;

	if (!yml_len(value))
		return yml_error(err, value, "verify: a list: [program, argument...]");
	if (!yml_scalar(yml_item(value, 0)) || strchr(yml_scalar(yml_item(value, 0)), '/'))
		return yml_error(err, value, "verify: the program is found in PATH: no '/' in it");
	return take_list(value, &t->verify, err);
}

static int key_context_path(struct yml_node value, void *object, struct error *err)
{
	struct template *t = object;
	const char *text = yml_scalar(value);

	if (!text || !*text || *text == '/' || *text == '~' || strstr(text, ".."))
		return yml_error(
			err, value, "context: path is below the user's home: .claude/CLAUDE.md");
	return take_text(value, &t->context_path, err);
}

static int key_context_text(struct yml_node value, void *object, struct error *err)
{
	return take_text(value, &((struct template *)object)->context_text, err);
}

static const struct yml_key context_keys[] = {
	{ "path", YML_SCALAR, true, key_context_path },
	{ "text", YML_SCALAR, true, key_context_text },
};

static int key_context(struct yml_node value, void *object, struct error *err)
{
	return yml_read(value, context_keys, ARRAY_LEN(context_keys), object, err);
}

static const struct yml_key template_keys[] = {
	{ "description", YML_SCALAR, false, key_description },
	{ "image", YML_NONE, false, key_image },
	{ "base", YML_SCALAR, false, key_base },
	{ "shared", YML_SCALAR, false, key_shared },
	{ "user", YML_SCALAR, false, key_user },
	{ "cpu", YML_SCALAR, false, key_cpu },
	{ "memory", YML_SCALAR, false, key_memory },
	{ "disk", YML_SCALAR, false, key_disk },
	{ "node", YML_SCALAR, false, key_node },
	{ "packages", YML_LIST, false, key_packages },
	{ "bake", YML_LIST, false, key_bake },
	{ "verify", YML_LIST, false, key_verify },
	{ "context", YML_MAP, false, key_context },
};

/* What belongs to a box, and so not to a template of which no box is made; and the other way round. */
static int check_template(struct yml_node root, const struct template *t, struct error *err)
{
	static const char *const of_boxes[] = { "user", "cpu", "memory", "disk", "verify",
		"context", "base" };

	for (size_t i = 0; t->shared && i < ARRAY_LEN(of_boxes); i++)
		if (yml_kind(yml_find(root, of_boxes[i])) != YML_NONE)
			return yml_error(err, yml_find(root, of_boxes[i]),
				"a shared template has no '%s': no box is made of it", of_boxes[i]);
	if (!t->shared && !*t->user)
		return yml_error(err, root, "the key 'user' is missing");
	if (t->base && yml_kind(yml_find(root, "image")) != YML_NONE)
		return yml_error(
			err, yml_find(root, "image"), "image is the base's, not this one's");
	if (!t->shared && yml_kind(yml_find(root, "node")) != YML_NONE)
		return yml_error(err, yml_find(root, "node"),
			"node belongs to a shared template; stand on one: base: agent");
	return 0;
}

static int set_defaults(struct template *t, struct error *err)
{
	if (!t->description)
		t->description = str_dup("", err);
	if (!t->base && !t->source.location && !t->source.release)
		t->source.release = str_dup(releases[0].codename, err);
	return t->description && (t->base || t->source.location || t->source.release) ? 0 : -1;
}

int template_parse(const char *name, const char *path, const char *text, size_t len,
	struct template *ret, struct error *err)
{
	_cleanup_(yml_free_p) struct yml *doc = yml_parse(text, len, path, err);
	_cleanup_template_ struct template t = { 0 };

	if (!doc)
		return -1;
	if (yml_kind(yml_root(doc)) != YML_MAP)
		return yml_error(err, yml_root(doc), "a template is a mapping of keys");
	(void)strncpy(t.name, name, sizeof(t.name) - 1);
	t.path = str_dup(path, err);
	if (!t.path ||
		yml_read(yml_root(doc), template_keys, ARRAY_LEN(template_keys), &t, err) < 0 ||
		check_template(yml_root(doc), &t, err) < 0 || set_defaults(&t, err) < 0)
		return -1;
	*ret = t;
	memset(&t, 0, sizeof(t));
	return 0;
}

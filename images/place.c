/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/place.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "config.h"

void text_vec_free(struct text_vec *v)
{
	vec_foreach(char *, text, v)
		free(*text);
	text_vec_done(v);
}

int text_vec_add(struct text_vec *v, const char *text, struct error *err)
{
	char *copy = str_dup(text, err);

	if (!copy)
		return -1;
	if (text_vec_push(v, copy, err) < 0) {
		free(copy);
		return -1;
	}
	return 0;
}

static char *below_env(
	const char *variable, const char *fallback, const char *name, struct error *err)
{
	const char *folder = getenv(variable);

	return str_format(err, "%s/%s", folder && *folder ? folder : fallback, name);
}

char *place_data(const char *below, struct error *err)
{
	return below_env("BOX_DATA", BOX_DATADIR, below, err);
}

char *place_libexec(const char *name, struct error *err)
{
	return below_env("BOX_LIBEXEC", BOX_LIBEXECDIR, name, err);
}

/* $variable/box, or ~/fallback/box. A relative value is ignored, as the XDG specification demands. */
static char *user_folder(const char *variable, const char *fallback, struct error *err)
{
	const char *folder = getenv(variable), *home = getenv("HOME");
	const struct passwd *pw;

	if (folder && *folder == '/')
		return str_format(err, "%s/box", folder);
	if (!home || *home != '/') {
		pw = getpwuid(getuid());
		home = pw ? pw->pw_dir : "/";
	}
	return str_format(err, "%s/%s/box", home, fallback);
}

char *place_cache(struct error *err)
{
	return user_folder("XDG_CACHE_HOME", ".cache", err);
}

/* Takes text, which may be NULL (then err says why). */
static int push_new(struct text_vec *v, char *text, struct error *err)
{
	if (!text)
		return -1;
	if (text_vec_push(v, text, err) < 0) {
		free(text);
		return -1;
	}
	return 0;
}

int place_templates(struct text_vec *ret, struct error *err)
{
	_cleanup_texts_ struct text_vec v = VEC_INIT;
	_cleanup_free_ char *own = user_folder("XDG_CONFIG_HOME", ".config", err);

	if (!own || push_new(&v, str_format(err, "%s/templates", own), err) < 0 ||
		text_vec_add(&v, "/etc/box/templates", err) < 0 ||
		push_new(&v, place_data("templates", err), err) < 0)
		return -1;
	*ret = v;
	v = (struct text_vec)VEC_INIT;
	return 0;
}

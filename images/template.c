/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

static void source_done(struct source *s)
{
	free(s->release);
	free(s->location);
	free(s->sha256);
	free(s->sha512);
	free(s->checksums);
	free(s->key);
	free(s->keyring);
}

void template_done(struct template *t)
{
	free(t->path);
	free(t->description);
	source_done(&t->source);
	if (t->base)
		template_done(t->base);
	free(t->base);
	text_vec_free(&t->packages);
	vec_foreach(struct text_vec, argv, &t->bake)
		text_vec_free(argv);
	argv_vec_done(&t->bake);
	text_vec_free(&t->verify);
	free(t->context_path);
	free(t->context_text);
	free(t->user_data);
	memset(t, 0, sizeof(*t));
}

static bool name_is_good(const char *name)
{
	return *name >= 'a' && *name <= 'z' && strlen(name) < TEMPLATE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

/* ---- finding ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Add the templates of one folder that are not there yet. */
static int add_folder(const char *folder, struct text_vec *v, struct error *err)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int ret = 0;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_errno(err, errno, "cannot read '%s'", folder);
	while (ret == 0 && (entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;
		bool known = false;

		if (!name_is_good(entry->d_name))
			continue;
		vec_foreach(char *, text, v)
			known |= str_equal(*text, entry->d_name);
		path = str_format(err, "%s/%s/template.yaml", folder, entry->d_name);
		if (!path)
			ret = -1;
		else if (!known && access(path, F_OK) == 0)
			ret = text_vec_add(v, entry->d_name, err);
	}
	(void)closedir(dir);
	return ret;
}

int template_names(struct text_vec *ret, struct error *err)
{
	_cleanup_texts_ struct text_vec folders = VEC_INIT, v = VEC_INIT;

	if (place_templates(&folders, err) < 0)
		return -1;
	vec_foreach(char *, folder, &folders)
		if (add_folder(*folder, &v, err) < 0)
			return -1;
	if (v.len)
		qsort(v.items, v.len, sizeof(*v.items), compare_texts);
	*ret = v;
	v = (struct text_vec)VEC_INIT;
	return 0;
}

static int no_such_template(const char *name, struct error *err)
{
	_cleanup_texts_ struct text_vec names = VEC_INIT;
	const char *near;

	error_set(err, ERROR_NOT_FOUND, "no such template: '%s'", name);
	if (template_names(&names, &(struct error){ 0 }) < 0)
		return -1;
	near = str_nearest(name, (const char *const *)names.items, names.len);
	if (near)
		return error_hint(err, "; did you mean '%s'?", near);
	return error_hint(err, "; see 'box templates'");
}

/* ---- reading ---- */

/* The file below the folder, appended to into. 1 it is there, 0 it is not, -1 error. */
static int read_below(const char *folder, const char *name, struct str *into, struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/%s", folder, name);
	struct error failed = { 0 };

	if (!path)
		return -1;
	if (file_read(AT_FDCWD, path, TEMPLATE_BYTES_MAX, into, &failed) == 0)
		return 1;
	if (failed.kind == ERROR_NOT_FOUND)
		return 0;
	*err = failed;
	return -1;
}

/* A path that a template names is relative to the template. */
static int make_absolute(const char *folder, char **path, struct error *err)
{
	char *absolute;

	if (!*path || **path == '/')
		return 0;
	absolute = str_format(err, "%s/%s", folder, *path);
	if (!absolute)
		return -1;
	free(*path);
	*path = absolute;
	return 0;
}

/* 1 read, 0 not in this folder, -1 error. */
static int load_from(const char *folders, const char *name, struct template *ret, struct error *err)
{
	_cleanup_free_ char *folder = str_format(err, "%s/%s", folders, name);
	_cleanup_free_ char *path = NULL;
	_cleanup_str_ struct str text = STR_INIT, user_data = STR_INIT;
	_cleanup_template_ struct template t = { 0 };
	int found;

	if (!folder || !(path = str_format(err, "%s/template.yaml", folder)))
		return -1;
	found = read_below(folder, "template.yaml", &text, err);
	if (found <= 0)
		return found;
	if (template_parse(name, path, str_get(&text), text.len, &t, err) < 0)
		return -1;
	if ((t.source.kind == SOURCE_FILE && make_absolute(folder, &t.source.location, err) < 0) ||
		make_absolute(folder, &t.source.keyring, err) < 0)
		return -1;
	found = read_below(folder, "user-data.yaml", &user_data, err);
	if (found < 0 || (found && !(t.user_data = str_take(&user_data, err))))
		return -1;
	*ret = t;
	memset(&t, 0, sizeof(t));
	return 1;
}

static int load_by_name(const char *name, struct template *ret, struct error *err)
{
	_cleanup_texts_ struct text_vec folders = VEC_INIT;

	if (!name_is_good(name))
		return error_set(err, ERROR_USAGE,
			"'%s' is not the name of a template: a-z, 0-9 and '-', a letter first",
			name);
	if (place_templates(&folders, err) < 0)
		return -1;
	vec_foreach(char *, folder, &folders) {
		int found = load_from(*folder, name, ret, err);

		if (found)
			return found < 0 ? -1 : 0;
	}
	return no_such_template(name, err);
}

/* Read what t stands on. A shared template stands on nothing, so this goes one step deep. */
static int load_base(struct template *t, struct error *err)
{
	_cleanup_template_ struct template base = { 0 };

	if (!t->base)
		return 0;
	if (load_by_name(t->base->name, &base, err) < 0)
		return error_wrap(err, "%s: base", t->path);
	if (!base.shared)
		return error_set(err, ERROR_INVALID,
			"%s: base: '%s' is not a shared template; add 'shared: true' to it",
			t->path, base.name);
	*t->base = base;
	memset(&base, 0, sizeof(base));
	return 0;
}

int template_load(const char *name, struct template *ret, struct error *err)
{
	_cleanup_template_ struct template t = { 0 };

	if (load_by_name(name, &t, err) < 0 || load_base(&t, err) < 0)
		return -1;
	*ret = t;
	memset(&t, 0, sizeof(t));
	return 0;
}

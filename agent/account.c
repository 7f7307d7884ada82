/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/account.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"

enum { FILE_MAX = 1048576, GROUPS_MAX = 1000 };

/* Below root, the whole file, or an empty string if it cannot be read. Given. */
static char *file_text(const char *root, const char *path, struct error *err)
{
	_cleanup_str_ struct str name = STR_INIT, text = STR_INIT;
	struct error ignored = { 0 };

	str_printf(&name, "%s%s", root, path);
	if (str_ok(&name, err) < 0)
		return NULL;
	if (file_read(AT_FDCWD, str_get(&name), FILE_MAX, &text, &ignored) < 0)
		str_clear(&text);
	str_append(&text, "");
	return str_take(&text, err);
}

/* Split a line at ':' in place; returns how many parts there are, at most max. */
static size_t split(char *line, char **parts, size_t max)
{
	size_t n = 0;

	while (n < max) {
		parts[n++] = line;
		line = strchr(line, ':');
		if (!line)
			break;
		*line++ = 0;
	}
	return n;
}

static bool number(const char *text, unsigned *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || value > 0xfffffffe)
		return false;
	*ret = (unsigned)value;
	return true;
}

static int account_fill(struct account *a, char **part, struct error *err)
{
	a->name = str_dup(part[0], err);
	if (!a->name)
		return -1;
	a->home = str_dup(*part[5] ? part[5] : "/", err);
	if (!a->home)
		return -1;
	a->shell = str_dup(*part[6] ? part[6] : "/bin/sh", err);
	return a->shell ? 0 : -1;
}

/* member in the comma-separated list */
static bool is_member(char *list, const char *name)
{
	char *save = NULL;

	for (char *m = strtok_r(list, ",", &save); m; m = strtok_r(NULL, ",", &save)) {
		if (str_equal(m, name))
			return true;
	}
	return false;
}

static int read_groups(const char *root, struct account *a, struct error *err)
{
	_cleanup_free_ char *text = file_text(root, "/etc/group", err);
	char *save = NULL;

	if (!text || gid_vec_push(&a->groups, a->gid, err) < 0)
		return -1;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *part[4];
		unsigned gid;

		if (split(line, part, 4) < 4 || !number(part[2], &gid) || gid == a->gid)
			continue;
		if (is_member(part[3], a->name) && a->groups.len < GROUPS_MAX &&
			gid_vec_push(&a->groups, gid, err) < 0)
			return -1;
	}
	return 0;
}

int account_find(const char *root, const char *name, struct account *ret, struct error *err)
{
	_cleanup_free_ char *text = file_text(root, "/etc/passwd", err);
	_cleanup_(account_done) struct account a = { 0 };
	char *save = NULL;

	if (!text)
		return -1;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *part[7];

		if (split(line, part, 7) < 7 || !str_equal(part[0], name))
			continue;
		if (!number(part[2], &a.uid) || !number(part[3], &a.gid))
			continue;
		if (account_fill(&a, part, err) < 0 || read_groups(root, &a, err) < 0)
			return -1;
		*ret = a;
		a = (struct account){ 0 };
		return 0;
	}
	return error_set(err, ERROR_NOT_FOUND, "there is no user '%s' in the box", name);
}

void account_done(struct account *a)
{
	free(a->name);
	free(a->home);
	free(a->shell);
	gid_vec_done(&a->groups);
	*a = (struct account){ 0 };
}

gid_t account_group(const char *root, const char *name, gid_t fallback)
{
	struct error ignored = { 0 };
	_cleanup_free_ char *text = file_text(root, "/etc/group", &ignored);
	char *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		char *part[4];
		unsigned gid;

		if (split(line, part, 4) >= 3 && str_equal(part[0], name) && number(part[2], &gid))
			return gid;
	}
	return fallback;
}

/* The length of NAME in NAME=value or in NAME. */
static size_t name_len(const char *assignment)
{
	return strcspn(assignment, "=");
}

static char **environment_slot(const struct text_vec *env, const char *name)
{
	size_t len = name_len(name);

	vec_foreach(char *, entry, env) {
		if (name_len(*entry) == len && memcmp(*entry, name, len) == 0)
			return entry;
	}
	return NULL;
}

int environment_set(struct text_vec *env, const char *assignment, struct error *err)
{
	char **slot = environment_slot(env, assignment);
	char *copy = str_dup(assignment, err);

	if (!copy)
		return -1;
	if (slot) {
		free(*slot);
		*slot = copy;
		return 0;
	}
	if (text_vec_push(env, copy, err) < 0) {
		free(copy);
		return -1;
	}
	return 0;
}

const char *environment_get(const struct text_vec *env, const char *name)
{
	char **slot = environment_slot(env, name);

	return slot && (*slot)[name_len(*slot)] ? *slot + name_len(*slot) + 1 : NULL;
}

void environment_unset(struct text_vec *env, const char *name)
{
	char **slot = environment_slot(env, name);

	if (!slot)
		return;
	free(*slot);
	*slot = env->items[--env->len];
}

void environment_done(struct text_vec *env)
{
	vec_foreach(char *, entry, env)
		free(*entry);
	text_vec_done(env);
}

/* Cut blanks at both ends, in place. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = 0;
	return text;
}

/* NAME=value, NAME="value", export NAME=value: the form that pam_env reads. */
static int add_assignments(struct text_vec *env, char *text, struct error *err)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		_cleanup_str_ struct str entry = STR_INIT;
		char *value;
		size_t len;

		line = trim(line);
		if (str_starts(line, "export "))
			line = trim(line + 7);
		value = strchr(line, '=');
		if (*line == '#' || !value || value == line)
			continue;
		*value++ = 0;
		len = strlen(value);
		if (len >= 2 && strchr("'\"", value[0]) && value[len - 1] == value[0]) {
			value[len - 1] = 0;
			value++;
		}
		str_printf(&entry, "%s=%s", line, value);
		if (str_ok(&entry, err) < 0 || environment_set(env, str_get(&entry), err) < 0)
			return -1;
	}
	return 0;
}

/* ENV_PATH and ENV_SUPATH of /etc/login.defs: "ENV_PATH	PATH=/usr/local/bin:..." */
static int add_login_path(struct text_vec *env, char *text, bool super, struct error *err)
{
	const char *key = super ? "ENV_SUPATH" : "ENV_PATH";
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len = strlen(key);

		line = trim(line);
		if (strncmp(line, key, len) == 0 && strchr(" \t", line[len])) {
			line = trim(line + len);
			if (str_starts(line, "PATH=") && environment_set(env, line, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int add_account(const struct account *a, struct text_vec *env, struct error *err)
{
	const char *const names[][2] = { { "HOME", a->home }, { "USER", a->name },
		{ "LOGNAME", a->name }, { "SHELL", a->shell },
		{ "PATH",
			a->uid ? "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
			       : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_free_ char *entry = str_format(err, "%s=%s", names[i][0], names[i][1]);
		if (!entry || environment_set(env, entry, err) < 0)
			return -1;
	}
	return 0;
}

/* Where logind made a runtime folder for the user (lingering), programs look for it. */
static int add_runtime_dir(
	const char *root, const struct account *a, struct text_vec *env, struct error *err)
{
	_cleanup_free_ char *entry = str_format(err, "XDG_RUNTIME_DIR=/run/user/%u", a->uid);
	_cleanup_free_ char *path = str_format(err, "%s/run/user/%u", root, a->uid);

	if (!entry || !path)
		return -1;
	return access(path, F_OK) == 0 ? environment_set(env, entry, err) : 0;
}

int account_environment(
	const char *root, const struct account *a, struct text_vec *ret, struct error *err)
{
	_cleanup_(environment_done) struct text_vec env = VEC_INIT;
	_cleanup_free_ char *defs = file_text(root, "/etc/login.defs", err);
	_cleanup_free_ char *locale = file_text(root, "/etc/default/locale", err);
	_cleanup_free_ char *global = file_text(root, "/etc/environment", err);

	if (!defs || !locale || !global)
		return -1;
	if (add_account(a, &env, err) < 0 || add_login_path(&env, defs, a->uid == 0, err) < 0 ||
		add_assignments(&env, locale, err) < 0 || add_runtime_dir(root, a, &env, err) < 0 ||
		add_assignments(&env, global, err) < 0)
		return -1;
	*ret = env;
	env = (struct text_vec)VEC_INIT;
	return 0;
}

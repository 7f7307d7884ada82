/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/login-memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/source.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

enum {
	SLOTS = 4, /* accounts, with a terminal and without */
	FORGET_MS = 60000,
	FILE_LEAST = 5, /* below it are the child's own: see agent/spawn.c */
	ENVIRON_MAX = 1048576,
};

struct memory {
	struct str key;
	uint64_t until;
	int file; /* sealed when it is complete */
};

static struct memory memories[SLOTS] = { { STR_INIT, 0, -1 }, { STR_INIT, 0, -1 },
	{ STR_INIT, 0, -1 }, { STR_INIT, 0, -1 } };

/*
 * What shells read, where usual profiles look whether to add to PATH, and who the guest is: a guest that
 * starts from memory remembers what another one made, and is another one.
 */
static const char *const in_etc[] = { "/etc/hostname", "/etc/machine-id", "/etc/profile",
	"/etc/bash.bashrc", "/etc/environment", "/etc/zsh/zshenv", "/etc/zsh/zprofile",
	"/etc/fish/config.fish" };
static const char *const in_home[] = { ".profile", ".bash_profile", ".bash_login", ".bashrc",
	".zshenv", ".zprofile", ".zlogin", ".config/fish/config.fish", ".cargo/env", "bin",
	".local/bin" };

static void describe(struct str *key, const char *root, const char *folder, const char *name)
{
	_cleanup_str_ struct str path = STR_INIT;
	struct stat st;

	str_printf(&path, "%s%s%s%s", root, folder, *folder ? "/" : "", name);
	if (path.failed || stat(path.data, &st) < 0)
		str_append(key, "none\n");
	else
		str_printf(key, "%ju %ju %jd.%09ld %jd.%09ld %jd\n", (uintmax_t)st.st_dev,
			(uintmax_t)st.st_ino, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
			(intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec, (intmax_t)st.st_size);
}

static void describe_folder(struct str *key, const char *root, const char *folder)
{
	_cleanup_str_ struct str path = STR_INIT;
	DIR *dir;

	str_printf(&path, "%s%s", root, folder);
	dir = path.failed ? NULL : opendir(path.data);
	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		if (d->d_name[0] != '.')
			describe(key, root, folder, d->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

static void make_key(struct str *key, const char *root, const struct account *a,
	const struct text_vec *request, const struct text_vec *env)
{
	str_printf(key, "%s\n%ju\n%s\n", a->name, (uintmax_t)a->uid, a->shell);
	vec_foreach(char *, entry, env)
		str_printf(key, "%zu %s\n", strlen(*entry), *entry);
	vec_foreach(char *, entry, request)
		str_printf(key, "+%zu %s\n", strlen(*entry), *entry);
	for (size_t i = 0; i < ARRAY_LEN(in_etc); i++)
		describe(key, root, "", in_etc[i]);
	for (size_t i = 0; i < ARRAY_LEN(in_home); i++)
		describe(key, root, a->home, in_home[i]);
	describe_folder(key, root, "/etc/profile.d");
}

static void forget(struct memory *m)
{
	str_done(&m->key);
	cleanup_close_p(&m->file);
	m->until = 0;
}

void login_complete(int file)
{
	(void)fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

static bool is_complete(int file)
{
	int seals = fcntl(file, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_WRITE;
}

bool login_read(int file, struct text_vec *ret)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_(environment_done) struct text_vec fresh = VEC_INIT;
	struct error ignored = { 0 };

	if (lseek(file, 0, SEEK_SET) < 0 ||
		fd_read_all(file, ENVIRON_MAX, &text, "environment", &ignored) < 0 || !text.len)
		return false;
	for (char *at = text.data; at < text.data + text.len; at += strlen(at) + 1) {
		if (strchr(at, '=') && environment_set(&fresh, at, &ignored) < 0)
			return false;
	}
	/* What the shell says of itself. */
	environment_unset(&fresh, "_");
	environment_unset(&fresh, "SHLVL");
	environment_unset(&fresh, "OLDPWD");
	if (!environment_get(&fresh, "PATH"))
		return false;
	environment_done(ret);
	*ret = fresh;
	fresh = (struct text_vec)VEC_INIT;
	return true;
}

/* A place to remember in, taking the oldest one's; its file is new. False when there is none. */
static bool begin(struct memory *m, struct str *key, uint64_t now)
{
	_cleanup_close_ int file = memfd_create("environment", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	forget(m);
	if (file < 0 || key->failed)
		return false;
	m->file = fcntl(file, F_DUPFD_CLOEXEC, FILE_LEAST);
	if (m->file < 0)
		return false;
	m->key = *key;
	*key = (struct str)STR_INIT;
	m->until = now + FORGET_MS;
	return true;
}

bool login_recall(const char *root, const struct account *a, const struct text_vec *request,
	struct text_vec *env, int *ret_file)
{
	_cleanup_str_ struct str key = STR_INIT;
	struct memory *oldest = &memories[0];
	uint64_t now = clock_ms();

	*ret_file = -1;
	make_key(&key, root, a, request, env);
	for (struct memory *m = memories; m < memories + SLOTS; m++) {
		if (m->until < oldest->until)
			oldest = m;
		if (m->file < 0 || key.failed || !str_equal(m->key.data, key.data))
			continue;
		if (m->until > now && is_complete(m->file))
			return login_read(m->file, env);
		/* One that another command is still making is left to it: not two into one file. */
		if (m->until > now)
			return false;
		oldest = m;
		break;
	}
	if (begin(oldest, &key, now))
		*ret_file = oldest->file;
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/run.h"
#include "base/str.h"
#include "mint/event.h"
#include "mint/userns.h"

void cache_done(struct cache *c)
{
	free(c->images);
	free(c->sources);
	free(c->work);
	free(c->locks);
	memset(c, 0, sizeof(*c));
}

static char *make_folder(const char *root, const char *name, struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/%s", root, name);

	if (!path || file_mkdirs(path, 0755, err) < 0)
		return NULL;
	return TAKE(path);
}

static int sweep(const struct cache *c, void (*tell)(const char *text), struct error *err);

int cache_open(const char *root, struct cache *ret, struct error *err)
{
	_cleanup_cache_ struct cache c = { 0 };
	_cleanup_free_ char *absolute = NULL;

	if (file_mkdirs(root, 0755, err) < 0)
		return error_wrap(err, "the cache of images");
	absolute = realpath(root, NULL);
	if (!absolute)
		return error_errno(err, errno, "cannot resolve '%s'", root);
	if (!(c.images = make_folder(absolute, "images", err)) ||
		!(c.sources = make_folder(absolute, "sources", err)) ||
		!(c.work = make_folder(absolute, "work", err)) ||
		!(c.locks = make_folder(absolute, "locks", err)) || sweep(&c, event_note, err) < 0)
		return -1;
	*ret = c;
	memset(&c, 0, sizeof(c));
	return 0;
}

/* An exclusive lock: 1 taken (*ret_fd), 0 somebody has it, -1 error. */
static int lock_file(const char *path, bool wait, int *ret_fd, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	int ret;

	if (fd < 0)
		return error_errno(err, errno, "cannot open the lock '%s'", path);
	do {
		ret = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
	} while (ret < 0 && errno == EINTR && wait);
	if (ret < 0 && errno == EWOULDBLOCK)
		return 0;
	if (ret < 0)
		return error_errno(err, errno, "cannot lock '%s'", path);
	*ret_fd = fd_take(&fd);
	return 1;
}

/* The tree in a work folder may have files of owners that only its user namespace knows. */
static int remove_work(const char *path, struct error *err)
{
	size_t count;
	const char *const *prefix = userns_words(&count);
	const char *argv[16] = { NULL };
	struct run run = { .argv = argv };

	if (file_remove_tree(path, err) == 0)
		return 0;
	if (count == 0)
		return -1;
	error_clear(err);
	memcpy(argv, prefix, count * sizeof(*argv));
	argv[count] = "rm";
	argv[count + 1] = "-rf";
	argv[count + 2] = "--one-file-system";
	argv[count + 3] = path;
	return run_program(&run, NULL, err);
}

/* Held while a work folder comes, goes, or is asked about: then one without a lock is nobody's. */
static int hold_work(const struct cache *c, int *ret_fd, struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/work.lock", c->locks);

	int got = path ? lock_file(path, false, ret_fd, err) : -1;

	if (got == 0) {
		event_note("waiting for another mint that cleans up");
		got = lock_file(path, true, ret_fd, err);
	}
	return got == 1 ? 0 : -1;
}

/* ---- the sweep ---- */

struct sweep {
	const struct cache *cache; /* lent */
	void (*tell)(const char *text); /* what stays, and why */
};

/* One whose lock cannot be asked may be in use. */
static void leave(const struct sweep *s, const char *path, const struct error *why)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };

	str_printf(&text, "'%s' stays, since a mint may be using it: %s", path, why->text);
	if (str_ok(&text, &ignored) == 0)
		s->tell(str_get(&text));
}

static int sweep_work(const struct sweep *s, const char *name, struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/%s", s->cache->work, name);
	_cleanup_free_ char *lock = str_format(err, "%s/%s/lock", s->cache->work, name);
	_cleanup_close_ int fd = -1;
	struct error why = { 0 };
	int got;

	if (!path || !lock)
		return -1;
	got = lock_file(lock, false, &fd, &why);
	if (got < 0)
		leave(s, path, &why);
	if (got != 1)
		return 0;
	log_debug("removing what a mint left: %s", path);
	return remove_work(path, err);
}

/* A volume, or a base's tree, whose manifest is missing and whose lock is free: its mint was killed. */
static int sweep_image(const struct sweep *s, const char *name, struct error *err)
{
	const struct cache *c = s->cache;
	size_t stem = strcspn(name, ".");
	_cleanup_free_ char *manifest = str_format(err, "%s/%.*s.json", c->images, (int)stem, name);
	_cleanup_free_ char *lock = str_format(
		err, "%s/%.*s.qcow2.lock", c->locks, (int)stem, name);
	_cleanup_free_ char *path = cache_image(c, name, err);
	_cleanup_close_ int fd = -1;
	struct error why = { 0 };
	int got;

	if (!manifest || !lock || !path)
		return -1;
	if (access(manifest, F_OK) == 0)
		return 0;
	got = lock_file(lock, false, &fd, &why);
	if (got < 0)
		leave(s, path, &why);
	if (got != 1 || access(manifest, F_OK) == 0)
		return 0;
	log_debug("removing what a mint left: %s", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return error_errno(err, errno, "cannot remove '%s'", path);
	return 0;
}

/* What is there in the folder under one of these prefixes (NULL-terminated). */
static int sweep_folder(const struct sweep *s, const char *folder, const char *const *prefixes,
	int (*one)(const struct sweep *s, const char *name, struct error *err), struct error *err)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int ret = 0;

	if (!dir)
		return error_errno(err, errno, "cannot read '%s'", folder);
	while (ret == 0 && (entry = readdir(dir)))
		for (const char *const *p = prefixes; ret == 0 && *p; p++)
			if (str_starts(entry->d_name, *p))
				ret = one(s, entry->d_name, err);
	(void)closedir(dir);
	return ret;
}

static int sweep(const struct cache *c, void (*tell)(const char *text), struct error *err)
{
	/* "new-": as older versions called a folder that had no lock yet */
	static const char *const works[] = { "mint-", "new-", NULL };
	static const char *const images[] = { "base-", "golden-", NULL };
	const struct sweep s = { c, tell };
	_cleanup_close_ int held = -1;

	if (hold_work(c, &held, err) < 0 || sweep_folder(&s, c->work, works, sweep_work, err) < 0)
		return -1;
	return sweep_folder(&s, c->images, images, sweep_image, err);
}

static void tell_debug(const char *text)
{
	log_debug("%s", text);
}

int cache_sweep(const struct cache *c, struct error *err)
{
	return sweep(c, tell_debug, err);
}

/* ---- work folders ---- */

int cache_work_open(const struct cache *c, struct cache_work *ret, struct error *err)
{
	_cleanup_free_ char *path = NULL, *lock = NULL;
	_cleanup_close_ int held = -1, fd = -1;
	unsigned random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	path = str_format(err, "%s/mint-%08x", c->work, random);
	lock = str_format(err, "%s/mint-%08x/lock", c->work, random);
	if (!path || !lock || hold_work(c, &held, err) < 0)
		return -1;
	if (mkdir(path, 0755) < 0)
		return error_errno(err, errno, "cannot make '%s'", path);
	/* nobody but us can have it; without it the folder is the next sweep's */
	if (lock_file(lock, true, &fd, err) < 0)
		return -1;
	/* what we start holds the lock too: a folder in use by it is no leftover, even when we are dead */
	(void)fcntl(fd, F_SETFD, 0);
	ret->path = TAKE(path);
	ret->lock = fd_take(&fd);
	ret->cache = c;
	return 0;
}

void cache_work_done(struct cache_work *w)
{
	_cleanup_close_ int held = -1;
	struct error err = { 0 };

	if (w->path && (hold_work(w->cache, &held, &err) < 0 || remove_work(w->path, &err) < 0))
		log_debug("%s", err.text);
	free(w->path);
	cleanup_close_p(&w->lock);
	*w = (struct cache_work)CACHE_WORK_NONE;
}

int cache_lock(const struct cache *c, const char *volume, void (*wait)(const char *volume),
	struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/%s.lock", c->locks, volume);
	int fd = -1, got;

	if (!path)
		return -1;
	got = lock_file(path, false, &fd, err);
	if (got == 0) {
		if (wait)
			wait(volume);
		got = lock_file(path, true, &fd, err);
	}
	return got == 1 ? fd : -1;
}

char *cache_image(const struct cache *c, const char *name, struct error *err)
{
	return str_format(err, "%s/%s", c->images, name);
}

int cache_publish(const struct cache *c, const char *work_path, const char *name, struct error *err)
{
	_cleanup_free_ char *path = cache_image(c, name, err);

	if (!path)
		return -1;
	if (rename(work_path, path) < 0)
		return error_errno(err, errno, "cannot move '%s' to '%s'", work_path, path);
	return 0;
}

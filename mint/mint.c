/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/mint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "config.h"
#include "mint/event.h"

void mint_done(struct mint *m)
{
	manifest_done(&m->base);
	manifest_done(&m->golden);
	cache_work_done(&m->work);
	str_done(&m->seed);
	free(m->sample);
}

char *mint_work_path(const struct mint *m, const char *name, struct error *err)
{
	return str_format(err, "%s/%s", m->work.path, name);
}

static bool in_cache(const struct mint *m, const char *name)
{
	struct error err = { 0 };
	_cleanup_free_ char *path = cache_image(m->cache, name, &err);

	return path && access(path, R_OK) == 0;
}

int mint_look_up(const struct mint *m, const char *volume, struct manifest *ret, struct error *err)
{
	_cleanup_manifest_ struct manifest found = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_free_ char *path = NULL;
	struct error failed = { 0 };
	char name[VOLUME_NAME_MAX];

	recipe_manifest_name(volume, name);
	path = cache_image(m->cache, name, err);
	if (!path)
		return -1;
	/* what is damaged is made anew */
	if (file_read(AT_FDCWD, path, MANIFEST_BYTES_MAX, &text, &failed) < 0 ||
		manifest_parse(str_get(&text), text.len, path, &found, &failed) < 0)
		return 0;
	if (!str_equal(found.volume, volume) || !in_cache(m, found.volume) ||
		(*found.seed && !in_cache(m, found.seed)) ||
		(*found.backing && !in_cache(m, found.backing)))
		return 0;
	*ret = found;
	memset(&found, 0, sizeof(found));
	return 1;
}

/* "golden-x-<16 hex>.json" with that prefix: the volume's name in ret. */
static bool manifest_of(const char *file, const char *prefix, char ret[VOLUME_NAME_MAX])
{
	size_t head = strlen(prefix);

	if (strlen(file) != head + 16 + 5 || !str_starts(file, prefix) ||
		strspn(file + head, "0123456789abcdef") != 16 ||
		!str_equal(file + head + 16, ".json"))
		return false;
	(void)snprintf(ret, VOLUME_NAME_MAX, "%.*s.qcow2", (int)(head + 16), file);
	return true;
}

int mint_find(const struct mint *m, const char *prefix, const char *recipe, struct manifest *ret,
	struct error *err)
{
	_cleanup_manifest_ struct manifest best = { 0 };
	DIR *dir = opendir(m->cache->images);
	const struct dirent *entry;
	char volume[VOLUME_NAME_MAX];
	int found = 0;

	if (!dir)
		return error_errno(err, errno, "cannot read '%s'", m->cache->images);
	while (found >= 0 && (entry = readdir(dir))) {
		_cleanup_manifest_ struct manifest one = { 0 };
		int there;

		if (!manifest_of(entry->d_name, prefix, volume))
			continue;
		there = mint_look_up(m, volume, &one, err);
		if (there < 0)
			found = -1;
		/* times of RFC 3339 in UTC sort as text */
		if (there != 1 || !str_equal(one.recipe, recipe) ||
			strcmp(one.created, best.created) <= 0)
			continue;
		manifest_done(&best);
		best = one;
		memset(&one, 0, sizeof(one));
		found = 1;
	}
	(void)closedir(dir);
	if (found == 1) {
		*ret = best;
		memset(&best, 0, sizeof(best));
	}
	return found;
}

static void tell_bytes(uint64_t done, void *data)
{
	event_progress(done, *(uint64_t *)data);
}

static int digest_volume(const char *path, struct manifest *manifest, struct error *err)
{
	_cleanup_close_ int fd = file_open(AT_FDCWD, path, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot look at '%s'", path);
	manifest->bytes = (uint64_t)st.st_size;
	if (digest_fd(fd, path, tell_bytes, &manifest->bytes, manifest->sha256, err) < 0)
		return -1;
	/* the manifest says that this is there: so it must be on the disk first */
	if (fchmod(fd, 0444) < 0 || fsync(fd) < 0)
		return error_errno(err, errno, "cannot write '%s' to disk", path);
	return 0;
}

int mint_commit(struct mint *m, const char *work_name, struct manifest *manifest, struct error *err)
{
	_cleanup_free_ char *from = mint_work_path(m, work_name, err);
	_cleanup_free_ char *path = NULL;
	_cleanup_str_ struct str text = STR_INIT;
	char name[VOLUME_NAME_MAX];
	time_t now = time(NULL);
	struct tm tm;

	if (!from || digest_volume(from, manifest, err) < 0)
		return -1;
	(void)snprintf(manifest->tool, sizeof(manifest->tool), "%s", BOX_VERSION);
	(void)strftime(manifest->created, sizeof(manifest->created), "%Y-%m-%dT%H:%M:%SZ",
		gmtime_r(&now, &tm));
	recipe_manifest_name(manifest->volume, name);
	path = cache_image(m->cache, name, err);
	/* a manifest of a former content must not speak of the new one */
	if (!path || (unlink(path) < 0 && errno != ENOENT))
		return path ? error_errno(err, errno, "cannot remove '%s'", path) : -1;
	if (cache_publish(m->cache, from, manifest->volume, err) < 0 ||
		manifest_render(manifest, &text, err) < 0)
		return -1;
	return file_replace(AT_FDCWD, path, str_get(&text), text.len, 0444, err);
}

int mint_read_packages(const struct mint *m, struct package_vec *ret, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, "packages", err);
	_cleanup_str_ struct str text = STR_INIT;
	char *line, *rest;

	if (!path || file_read(AT_FDCWD, path, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	for (line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest)) {
		char *tab = strchr(line, '\t');

		if (!tab)
			continue;
		*tab = '\0';
		if (package_vec_add(ret, line, tab + 1, "debian", err) < 0)
			return -1;
	}
	if (!ret->len)
		return error_set(err, ERROR_FAILED, "the list of packages is empty");
	return 0;
}

/* ---- the result ---- */

struct volume {
	const char *name, *format, *backing;
};

static int add_volume(const struct mint *m, json_t *list, const struct volume *v, struct error *err)
{
	_cleanup_free_ char *path = cache_image(m->cache, v->name, err);
	json_t *o = json_object();

	if (json_add_new(list, o, err) < 0 || !path || json_set_text(o, "file", path, err) < 0 ||
		json_set_text(o, "name", v->name, err) < 0 ||
		json_set_text(o, "format", v->format, err) < 0)
		return -1;
	return json_set_text(o, "backing", v->backing, err);
}

/* In the order of uploading: what others stand on first, and a manifest after what it speaks of. */
static int tell_done(const struct mint *m, struct error *err)
{
	char base_manifest[VOLUME_NAME_MAX], manifest[VOLUME_NAME_MAX];
	const struct volume volumes[] = {
		{ m->base.volume, "qcow2", NULL },
		{ base_manifest, "raw", NULL },
		{ m->golden.seed, "raw", NULL },
		{ m->golden.volume, "qcow2", m->base.volume },
		{ manifest, "raw", NULL },
	};
	json_t *list = json_array();

	recipe_manifest_name(m->base.volume, base_manifest);
	recipe_manifest_name(m->golden.volume, manifest);
	for (size_t i = 0; i < ARRAY_LEN(volumes); i++)
		if (add_volume(m, list, &volumes[i], err) < 0) {
			json_decref(list);
			return -1;
		}
	return event_done(m->template->name, list, err);
}

/* Names that no other build has. Templates of one build share its bases. */
static int salt_names(struct mint *m, struct error *err)
{
	unsigned long long random = 0;
	char salt[32];

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	(void)snprintf(salt, sizeof(salt), "%016llx", random);
	recipe_rebuild(&m->recipe, recipe_release(m->template), m->template->name,
		m->build ? m->build : salt);
	return 0;
}

/* The image is there: then so is the base that it stands on, of whichever build. */
static int find_whole(struct mint *m, struct error *err)
{
	int found = mint_golden_find(m, err);

	if (found != 1)
		return found;
	found = mint_look_up(m, m->golden.backing, &m->base, err);
	if (found != 1)
		manifest_done(&m->golden);
	return found;
}

int mint_run(struct mint *m, struct error *err)
{
	int found;

	if (recipe_of(m->template, &m->recipe, err) < 0 || (m->refresh && salt_names(m, err) < 0))
		return -1;
	found = m->refresh ? 0 : find_whole(m, err);
	if (found < 0)
		return -1;
	if (found == 0 && (mint_base(m, err) < 0 || mint_golden(m, err) < 0))
		return -1;
	return tell_done(m, err);
}

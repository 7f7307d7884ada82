/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { FIXED_TIME = 1577836800, FILE_BYTES_MAX = 512 * 1024 * 1024, DEPTH_MAX = 32 };

struct tree_writer {
	struct archive *archive; /* owned */
	char *path; /* owned */
};

DEFINE_CLEANUP(struct archive_entry *, archive_entry_free);

static void read_done(struct archive *a)
{
	(void)archive_read_free(a);
}
DEFINE_CLEANUP(struct archive *, read_done);

static int error_archive(struct error *err, struct archive *a, const char *path)
{
	const char *text = archive_error_string(a);
	_cleanup_str_ struct str safe = STR_INIT;

	str_append_escaped(
		&safe, text ? text : "unknown error", strlen(text ? text : "unknown error"), false);
	if (archive_errno(a) == ENOSPC)
		return error_errno(err, ENOSPC, "cannot write '%s'", path);
	return error_set(err, ERROR_FAILED, "archive '%s': %s", path, str_get(&safe));
}

struct tree_writer *tree_open(const char *path, struct error *err)
{
	_cleanup_(tree_free_p) struct tree_writer *w = calloc(1, sizeof(*w));

	if (!w || !(w->archive = archive_write_new())) {
		error_oom(err);
		return NULL;
	}
	w->path = str_dup(path, err);
	if (!w->path)
		return NULL;
	if (archive_write_set_format_pax_restricted(w->archive) != ARCHIVE_OK ||
		archive_write_open_filename(w->archive, path) != ARCHIVE_OK) {
		error_archive(err, w->archive, path);
		return NULL;
	}
	return TAKE(w);
}

void tree_free(struct tree_writer *w)
{
	if (!w)
		return;
	if (w->archive)
		(void)archive_write_free(w->archive);
	free(w->path);
	free(w);
}

int tree_close(struct tree_writer *w, struct error *err)
{
	return archive_write_close(w->archive) == ARCHIVE_OK
		       ? 0
		       : error_archive(err, w->archive, w->path);
}

int tree_put(struct tree_writer *w, const struct tree_entry *entry, struct error *err)
{
	_cleanup_(archive_entry_free_p) struct archive_entry *e = archive_entry_new();

	if (!e)
		return error_oom(err);
	archive_entry_set_pathname(e, entry->name);
	archive_entry_set_mode(e, entry->mode);
	archive_entry_set_uid(e, entry->uid);
	archive_entry_set_gid(e, entry->gid);
	archive_entry_set_mtime(e, FIXED_TIME, 0);
	archive_entry_set_size(e, S_ISREG(entry->mode) ? (la_int64_t)entry->len : 0);
	if (S_ISLNK(entry->mode))
		archive_entry_set_symlink(e, entry->target);
	if (archive_write_header(w->archive, e) != ARCHIVE_OK)
		return error_archive(err, w->archive, w->path);
	if (S_ISREG(entry->mode) && entry->len &&
		archive_write_data(w->archive, entry->bytes, entry->len) != (la_ssize_t)entry->len)
		return error_archive(err, w->archive, w->path);
	return 0;
}

int tree_put_file(
	struct tree_writer *w, const char *name, const char *from, mode_t mode, struct error *err)
{
	_cleanup_str_ struct str bytes = STR_INIT;
	struct tree_entry entry = { .name = name, .mode = S_IFREG | mode };

	if (file_read(AT_FDCWD, from, FILE_BYTES_MAX, &bytes, err) < 0)
		return -1;
	entry.bytes = str_get(&bytes);
	entry.len = bytes.len;
	return tree_put(w, &entry, err);
}

/* ---- folders ---- */

static int put_below(
	struct tree_writer *w, const char *from, const char *name, int depth, struct error *err);

static int put_entry(
	struct tree_writer *w, const char *path, const char *name, int depth, struct error *err)
{
	struct tree_entry entry = { .name = name };
	char target[4096];
	struct stat st;
	ssize_t len;

	if (lstat(path, &st) < 0)
		return error_errno(err, errno, "cannot look at '%s'", path);
	if (S_ISDIR(st.st_mode)) {
		entry.mode = S_IFDIR | 0755;
		if (tree_put(w, &entry, err) < 0)
			return -1;
		return put_below(w, path, name, depth + 1, err);
	}
	if (S_ISREG(st.st_mode))
		return tree_put_file(w, name, path, st.st_mode & 0100 ? 0755 : 0644, err);
	if (!S_ISLNK(st.st_mode))
		return error_set(err, ERROR_INVALID, "'%s' is no file, folder or link", path);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return error_errno(err, errno, "cannot read the link '%s'", path);
	target[len] = '\0';
	entry.mode = S_IFLNK | 0777;
	entry.target = target;
	return tree_put(w, &entry, err);
}

static int is_real(const struct dirent *entry)
{
	return !str_equal(entry->d_name, ".") && !str_equal(entry->d_name, "..");
}

static int put_below(
	struct tree_writer *w, const char *from, const char *name, int depth, struct error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(from, &entries, is_real, alphasort), ret = 0;

	if (count < 0)
		return error_errno(err, errno, "cannot read '%s'", from);
	if (depth > DEPTH_MAX)
		ret = error_set(err, ERROR_INVALID, "'%s' is nested too deeply", from);
	for (int i = 0; i < count; i++) {
		_cleanup_free_ char *path = NULL, *inner = NULL;

		if (ret == 0) {
			path = str_format(err, "%s/%s", from, entries[i]->d_name);
			inner = str_format(
				err, "%s%s%s", name, *name ? "/" : "", entries[i]->d_name);
			ret = path && inner ? put_entry(w, path, inner, depth, err) : -1;
		}
		free(entries[i]);
	}
	free(entries);
	return ret;
}

int tree_put_folder(struct tree_writer *w, const char *from, struct error *err)
{
	return put_below(w, from, "", 0, err);
}

/* ---- other archives ---- */

static struct archive *open_read(const char *path, struct error *err)
{
	_cleanup_(read_done_p) struct archive *a = archive_read_new();

	if (!a) {
		error_oom(err);
		return NULL;
	}
	(void)archive_read_support_filter_all(a);
	(void)archive_read_support_format_tar(a);
	if (archive_read_open_filename(a, path, 256 * 1024) != ARCHIVE_OK) {
		error_archive(err, a, path);
		return NULL;
	}
	return TAKE(a);
}

/* The next entry: 1, 0 at the end, -1. */
static int next_entry(
	struct archive *a, struct archive_entry **entry, const char *path, struct error *err)
{
	int ret = archive_read_next_header(a, entry);

	if (ret == ARCHIVE_EOF)
		return 0;
	if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN)
		return error_archive(err, a, path);
	return 1;
}

static bool leads_out(const char *name)
{
	return *name == '/' || str_equal(name, "..") || str_starts(name, "../") ||
	       strstr(name, "/../") ||
	       (strlen(name) > 2 && str_equal(name + strlen(name) - 3, "/.."));
}

static int copy_data(
	struct tree_writer *w, struct archive *from, const char *path, struct error *err)
{
	char buf[65536];

	for (;;) {
		la_ssize_t n = archive_read_data(from, buf, sizeof(buf));

		if (n < 0)
			return error_archive(err, from, path);
		if (n == 0)
			return 0;
		if (archive_write_data(w->archive, buf, (size_t)n) != n)
			return error_archive(err, w->archive, w->path);
	}
}

static int copy_entry(struct tree_writer *w, struct archive *from, struct archive_entry *e,
	const char *name, struct error *err)
{
	_cleanup_(archive_entry_free_p) struct archive_entry *out = archive_entry_new();
	bool program = archive_entry_perm(e) & 0100;

	if (!out)
		return error_oom(err);
	archive_entry_set_pathname(out, name);
	archive_entry_set_filetype(out, AE_IFREG);
	archive_entry_set_perm(out, program ? 0755 : 0644);
	archive_entry_set_size(out, archive_entry_size(e));
	archive_entry_set_mtime(out, FIXED_TIME, 0);
	if (archive_write_header(w->archive, out) != ARCHIVE_OK)
		return error_archive(err, w->archive, w->path);
	return copy_data(w, from, name, err);
}

int tree_put_archive(struct tree_writer *w, const char *archive, const char *strip,
	const char *prefix, struct error *err)
{
	_cleanup_(read_done_p) struct archive *a = open_read(archive, err);
	struct archive_entry *e;
	int more;

	if (!a)
		return -1;
	while ((more = next_entry(a, &e, archive, err)) == 1) {
		const char *name = archive_entry_pathname(e);
		_cleanup_free_ char *inner = NULL;

		/* npm packages hold files alone */
		if (!name || archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e) ||
			!str_starts(name, strip))
			continue;
		if (leads_out(name + strlen(strip)))
			return error_set(err, ERROR_INVALID, "archive '%s' leads out of its folder",
				archive);
		inner = str_format(err, "%s%s", prefix, name + strlen(strip));
		if (!inner || copy_entry(w, a, e, inner, err) < 0)
			return -1;
	}
	return more;
}

static int show(struct archive *a, struct archive_entry *e,
	int (*see)(const struct tree_seen *, void *, struct error *), void *data, char *buf,
	struct error *err)
{
	const char *name = archive_entry_pathname(e);
	struct tree_seen seen = {
		.mode = archive_entry_mode(e),
		.size = (uint64_t)archive_entry_size(e),
		.target = archive_entry_symlink(e),
		.hardlink = archive_entry_hardlink(e) != NULL,
		.bytes = buf,
	};

	while (name && str_starts(name, "./"))
		name += 2;
	if (!name || !*name)
		return 0;
	seen.name = name;
	if (!S_ISREG(seen.mode))
		return see(&seen, data, err);
	do {
		size_t kept = seen.again ? TREE_OVERLAP : 0;
		la_ssize_t n;

		if (kept)
			memmove(buf, buf + TREE_LOOK - kept, kept);
		n = archive_read_data(a, buf + kept, TREE_LOOK - kept);
		if (n < 0)
			return error_archive(err, a, name);
		if (seen.again && n == 0)
			return 0;
		seen.len = kept + (size_t)n;
		if (see(&seen, data, err) < 0)
			return -1;
		seen.again = true;
	} while (seen.len == TREE_LOOK);
	return 0;
}

int tree_read(const char *path,
	int (*see)(const struct tree_seen *seen, void *data, struct error *err), void *data,
	struct error *err)
{
	_cleanup_(read_done_p) struct archive *a = open_read(path, err);
	_cleanup_free_ char *buf = malloc(TREE_LOOK);
	struct archive_entry *e;
	int more;

	if (!a)
		return -1;
	if (!buf)
		return error_oom(err);
	while ((more = next_entry(a, &e, path, err)) == 1)
		if (show(a, e, see, data, buf, err) < 0)
			return -1;
	return more;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: libarchive parses, and libarchive writes; in between each entry is judged and made anew from
 * the few things that may pass: path, type, nine permission bits, size, time, link. So what the writer
 * gets was written by us, and a kind of metadata that nobody thought of has no way through.
 *
 *  1. Every path has been made plain by copy_name_below, and is below COPY_CONTENT in a fresh folder.
 *  2. No path leads through a link: the writer checks each part (ARCHIVE_EXTRACT_SECURE_SYMLINKS), and
 *     folders come before what is in them (ARCHIVE_EXTRACT_NO_AUTODIR), so a part is a folder that we made.
 *  3. No path comes twice, folders excepted: nothing that is there is written again.
 *  4. A symbolic link stays in the tree (copy_link_stays); a hard link is to a file that was unpacked.
 *  5. The sizes that headers claim are counted before anything is written, so a claim costs nothing.
 *
 * Each rule is enough against its attack alone in libarchive's writer as well, and the whole runs where
 * the kernel lets it reach nothing else.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "vmm/copy-archive.h"
#include "vmm/copy-name.h"

DEFINE_CLEANUP(struct archive_entry *, archive_entry_free);

enum {
	READ_BYTES = 65536,
	TRAILER_MAX = 1048576, /* behind the end of the archive: padding to a block */
	PROGRESS_MS = 100,
};

struct unpack {
	const struct copy_unpack *request;
	const struct copy_observer *observer;
	struct archive *in, *out; /* owned */
	char buffer[READ_BYTES];
	struct error *input; /* why reading failed; filled by the callback */
	uint64_t entries, claimed, done, shown_at;
	bool tree, begun;
};

static void unpack_done(struct unpack *u)
{
	if (u->in)
		(void)archive_read_free(u->in);
	if (u->out)
		(void)archive_write_free(u->out);
}

/* ---- input ---- */

static ssize_t read_some(const struct copy_unpack *r, void *into, size_t len, struct error *err)
{
	struct pollfd fd = { .fd = r->fd, .events = POLLIN };
	ssize_t n;
	int ready;

	do
		ready = poll(&fd, 1, (int)MIN(r->stall_ms, (uint64_t)INT32_MAX));
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return error_set(err, ERROR_TIMEOUT, "nothing came for %u s",
			(unsigned)(r->stall_ms / 1000));
	do
		n = read(r->fd, into, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? error_errno(err, errno, "cannot read the archive") : n;
}

static la_ssize_t on_read(struct archive *a, void *data, const void **ret)
{
	struct unpack *u = data;
	ssize_t n = read_some(u->request, u->buffer, sizeof(u->buffer), u->input);

	*ret = u->buffer;
	if (n >= 0)
		return n;
	archive_set_error(a, EIO, "%s", "read");
	return ARCHIVE_FATAL;
}

/* What libarchive says may quote the archive. */
static int archive_failed(struct archive *a, const char *what, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	const char *words = archive_error_string(a);
	int errnum = archive_errno(a);

	if (words)
		str_append_escaped(&text, words, strnlen(words, 300), false);
	else
		str_append(&text, "unknown reason");
	return error_set(err,
		errnum == ENOSPC || errnum == EDQUOT ? ERROR_NO_SPACE
		: errnum > 0 && errnum < 4096        ? ERROR_FAILED
						     : ERROR_INVALID,
		"%s: %s", what, str_get(&text));
}

static int read_failed(struct unpack *u, struct error *err)
{
	if (u->input->kind != ERROR_NONE)
		return -1; /* err is u->input */
	(void)archive_failed(u->in, "the archive is damaged", err);
	err->kind = ERROR_INVALID;
	return -1;
}

static int unpack_open(struct unpack *u, struct error *err)
{
	u->in = archive_read_new();
	u->out = archive_write_disk_new();
	if (!u->in || !u->out)
		return error_oom(err);
	if (archive_read_support_filter_none(u->in) != ARCHIVE_OK ||
		archive_read_support_format_tar(u->in) != ARCHIVE_OK ||
		archive_read_support_format_empty(u->in) != ARCHIVE_OK ||
		archive_write_disk_set_options(u->out,
			ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SPARSE |
				ARCHIVE_EXTRACT_NO_OVERWRITE | ARCHIVE_EXTRACT_NO_AUTODIR |
				ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
				ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS) != ARCHIVE_OK)
		return error_set(err, ERROR_FAILED, "libarchive cannot unpack on this machine");
	if (archive_read_open(u->in, u, NULL, on_read, NULL) != ARCHIVE_OK)
		return read_failed(u, err);
	return 0;
}

/* ---- judging ---- */

/* 0: leave it out; -1: refuse all. Always with a text. */
static int unsafe(const struct unpack *u, const char *name, const char *why, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_append_char(&text, '\'');
	str_append_escaped(&text, name, strnlen(name, 200), false);
	str_printf(&text, "' %s", why);
	if (!u->request->skip_unsafe)
		return error_set(err, ERROR_INVALID, "%s; to leave such things out: --skip-unsafe",
			str_get(&text));
	if (u->observer->left_out)
		u->observer->left_out(str_get(&text), u->observer->data);
	return 0;
}

static int judge_symlink(const struct unpack *u, const char *path, unsigned depth,
	struct archive_entry *from, struct archive_entry *to, struct error *err)
{
	const char *target = archive_entry_symlink(from);

	if (!target || strlen(target) > COPY_NAME_MAX)
		return error_set(
			err, ERROR_INVALID, "a link without a target, or with too long a one");
	if (copy_name_controls(target))
		return unsafe(u, path, "is a link to a name with control characters", err);
	if (!copy_link_stays(target, depth))
		return unsafe(u, path, "is a link that leads out of what is copied", err);
	archive_entry_set_filetype(to, AE_IFLNK);
	archive_entry_copy_symlink(to, target);
	return 1;
}

static int judge_hardlink(const struct unpack *u, const char *path, struct archive_entry *from,
	struct archive_entry *to, struct error *err)
{
	_cleanup_str_ struct str target = STR_INIT;
	struct stat st;
	unsigned depth;

	str_append(&target, COPY_CONTENT "/");
	if (copy_name_below(archive_entry_hardlink(from), &target, &depth, err) < 0)
		return error_wrap(err, "a hard link");
	if (lstat(str_get(&target), &st) < 0 || !S_ISREG(st.st_mode))
		return unsafe(u, path, "is a hard link to what is no file that came before", err);
	archive_entry_set_filetype(to, AE_IFREG);
	archive_entry_copy_hardlink(to, str_get(&target));
	return 1;
}

static int judge_size(struct unpack *u, struct archive_entry *from, struct error *err)
{
	int64_t size = archive_entry_size(from);

	if (size < 0 || (uint64_t)size > u->request->max_bytes - u->claimed)
		return error_set(err, ERROR_INVALID,
			"more than %llu MiB of content; the limit is --max-size",
			(unsigned long long)(u->request->max_bytes >> 20));
	u->claimed += (uint64_t)size;
	return 0;
}

static int judge_type(struct unpack *u, const char *path, unsigned depth,
	struct archive_entry *from, struct archive_entry *to, struct error *err)
{
	if (archive_entry_hardlink(from))
		return judge_hardlink(u, path, from, to, err);
	switch (archive_entry_filetype(from)) {
	case AE_IFDIR:
		archive_entry_set_filetype(to, AE_IFDIR);
		return 1;
	case AE_IFREG:
		if (judge_size(u, from, err) < 0)
			return -1;
		archive_entry_set_filetype(to, AE_IFREG);
		archive_entry_set_size(to, archive_entry_size(from));
		return 1;
	case AE_IFLNK:
		return judge_symlink(u, path, depth, from, to, err);
	default:
		return unsafe(u, path, "is neither file, folder nor link", err);
	}
}

/* Rule 3. What is there once more as a folder is no harm. */
static int judge_place(const char *place, struct archive_entry *to, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;
	struct stat st;

	if (lstat(place, &st) < 0 ||
		(S_ISDIR(st.st_mode) && archive_entry_filetype(to) == AE_IFDIR))
		return 1;
	str_append_escaped(&shown, place, strlen(place), false);
	return error_set(err, ERROR_INVALID, "'%s' comes twice", str_get(&shown));
}

/* The first entry says what is coming: a folder ".", or one file, whatever it is called. */
static int judge_first(
	struct unpack *u, const char *path, struct archive_entry *from, struct error *err)
{
	if (u->begun && !u->tree)
		return error_set(err, ERROR_INVALID, "more came than the one file");
	if (u->begun)
		return *path || archive_entry_filetype(from) == AE_IFDIR
			       ? 0
			       : error_set(err, ERROR_INVALID, "the folder is none");
	u->begun = true;
	u->tree = !*path && archive_entry_filetype(from) == AE_IFDIR;
	if (u->tree || (archive_entry_filetype(from) == AE_IFREG && !archive_entry_hardlink(from)))
		return 0;
	return error_set(err, ERROR_INVALID, "it begins neither with a folder nor with a file");
}

/* 1: to is what may be written; 0: leave it out; -1: refuse all. */
static int judge(
	struct unpack *u, struct archive_entry *from, struct archive_entry *to, struct error *err)
{
	_cleanup_str_ struct str place = STR_INIT;
	const char *raw = archive_entry_pathname(from), *path;
	unsigned depth = 0;
	int verdict;

	if (++u->entries > u->request->max_entries)
		return error_set(err, ERROR_INVALID,
			"more than %llu entries; the limit is --max-entries",
			(unsigned long long)u->request->max_entries);
	if (!raw)
		return error_set(err, ERROR_INVALID, "an entry without a name");
	str_append(&place, COPY_CONTENT "/");
	if (copy_name_below(raw, &place, &depth, err) < 0)
		return -1;
	path = str_get(&place) + strlen(COPY_CONTENT "/");
	if (judge_first(u, path, from, err) < 0)
		return -1;
	if (u->tree && copy_name_controls(path))
		return unsafe(u, path, "has control characters in its name", err);
	verdict = judge_type(u, path, depth, from, to, err);
	if (verdict <= 0)
		return verdict;
	archive_entry_copy_pathname(to, u->tree && *path ? str_get(&place) : COPY_CONTENT);
	archive_entry_set_perm(to, archive_entry_perm(from) & 0777);
	if (archive_entry_mtime_is_set(from))
		archive_entry_set_mtime(
			to, archive_entry_mtime(from), archive_entry_mtime_nsec(from));
	return judge_place(archive_entry_pathname(to), to, err);
}

/* ---- writing ---- */

static void show(struct unpack *u)
{
	uint64_t now = clock_ms();

	if (!u->observer->progress || now < u->shown_at + PROGRESS_MS)
		return;
	u->shown_at = now;
	u->observer->progress(u->done, u->tree ? 0 : u->claimed, u->observer->data);
}

static int write_failed(struct unpack *u, struct archive_entry *to, struct error *err)
{
	_cleanup_str_ struct str what = STR_INIT;
	const char *path = archive_entry_pathname(to);

	str_append(&what, "cannot write '");
	str_append_escaped(&what, path, strnlen(path, 200), false);
	str_append_char(&what, '\'');
	return archive_failed(u->out, str_get(&what), err);
}

static int write_data(struct unpack *u, struct archive_entry *to, struct error *err)
{
	const void *block;
	size_t len;
	la_int64_t offset;
	int ret;

	while ((ret = archive_read_data_block(u->in, &block, &len, &offset)) == ARCHIVE_OK ||
		ret == ARCHIVE_WARN) {
		if (archive_write_data_block(u->out, block, len, offset) < ARCHIVE_WARN)
			return write_failed(u, to, err);
		u->done += len;
		show(u);
	}
	return ret == ARCHIVE_EOF ? 0 : read_failed(u, err);
}

static int write_entry(struct unpack *u, struct archive_entry *to, struct error *err)
{
	if (archive_write_header(u->out, to) < ARCHIVE_WARN)
		return write_failed(u, to, err);
	if (archive_entry_size_is_set(to) && archive_entry_size(to) > 0 &&
		write_data(u, to, err) < 0)
		return -1;
	if (archive_write_finish_entry(u->out) < ARCHIVE_WARN)
		return write_failed(u, to, err);
	show(u);
	return 0;
}

static int take_entry(struct unpack *u, struct archive_entry *from, struct error *err)
{
	_cleanup_(archive_entry_free_p) struct archive_entry *to = archive_entry_new();
	int verdict;

	if (!to)
		return error_oom(err);
	verdict = judge(u, from, to, err);
	return verdict <= 0 ? verdict : write_entry(u, to, err);
}

/* A writer that is not read to its end would take that for a failure of ours. */
static int drain(struct unpack *u, struct error *err)
{
	size_t total = 0;
	ssize_t n;

	while ((n = read_some(u->request, u->buffer, sizeof(u->buffer), err)) > 0) {
		total += (size_t)n;
		if (total > TRAILER_MAX)
			return error_set(err, ERROR_INVALID, "bytes behind the end of the archive");
	}
	return (int)n;
}

static int unpack_all(struct unpack *u, struct error *err)
{
	struct archive_entry *entry;
	int ret;

	while ((ret = archive_read_next_header(u->in, &entry)) == ARCHIVE_OK || ret == ARCHIVE_WARN)
		if (take_entry(u, entry, err) < 0)
			return -1;
	if (ret != ARCHIVE_EOF)
		return read_failed(u, err);
	if (drain(u, err) < 0)
		return -1;
	if (!u->begun)
		return error_set(err, ERROR_NOT_FOUND, "nothing came");
	/* Modes and times of folders are set now. */
	if (archive_write_close(u->out) < ARCHIVE_WARN)
		return archive_failed(u->out, "cannot finish", err);
	u->shown_at = 0;
	show(u);
	return 0;
}

int copy_unpack(
	const struct copy_unpack *request, const struct copy_observer *observer, struct error *err)
{
	static const struct copy_observer nobody = { 0 };
	struct unpack *u = calloc(1, sizeof(*u));
	int ret;

	if (!u)
		return error_oom(err);
	u->request = request;
	u->observer = observer ? observer : &nobody;
	u->input = err;
	ret = unpack_open(u, err) < 0 ? -1 : unpack_all(u, err);
	unpack_done(u);
	free(u);
	return ret;
}

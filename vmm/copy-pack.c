/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: libarchive walks the tree and never follows a link below its root. Each entry is made anew from
 * what is to be told: nothing of owners, attributes, access and change times leaves this machine. Hard
 * links are found by libarchive's resolver. The last member says that nothing is missing: a tar stream
 * that is cut off between two members looks whole to its reader.
 *
 * libarchive tells a folder long before what is in it. GNU tar puts off modes and times; other readers must
 * not be shut out of a folder that they have yet to fill, so for them it stays open to its owner.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "vmm/copy-archive.h"
#include "vmm/copy-name.h"

DEFINE_CLEANUP(struct archive *, archive_free);
DEFINE_CLEANUP(struct archive_entry *, archive_entry_free);
DEFINE_CLEANUP(struct archive_entry_linkresolver *, archive_entry_linkresolver_free);

enum { BLOCK_BYTES = 65536, PROGRESS_MS = 100 };

struct pack {
	const struct copy_pack *request;
	const struct copy_observer *observer;
	struct archive *disk, *out; /* owned */
	struct archive_entry_linkresolver *links; /* owned */
	uint64_t done, total, shown_at;
};

static const char zeros[BLOCK_BYTES];

static void pack_done(struct pack *p)
{
	archive_free_p(&p->disk);
	archive_free_p(&p->out);
	archive_entry_linkresolver_free_p(&p->links);
}

static int failed(struct archive *a, const char *verb, const char *path, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	const char *words = archive_error_string(a);

	str_printf(&text, "cannot %s '", verb);
	str_append_escaped(&text, path, strnlen(path, 300), false);
	str_append(&text, "': ");
	if (archive_errno(a) > 0)
		str_append(&text, strerror(archive_errno(a)));
	else
		str_append(&text, words ? words : "unknown reason");
	return error_set(err, archive_errno(a) == ENOENT ? ERROR_NOT_FOUND : ERROR_FAILED, "%s",
		str_get(&text));
}

static int open_disk(struct pack *p, struct error *err)
{
	p->disk = archive_read_disk_new();
	if (!p->disk)
		return error_oom(err);
	(void)archive_read_disk_set_behavior(p->disk,
		ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_FFLAGS);
	/* A link that was named is followed, one that is met is not. */
	(void)archive_read_disk_set_symlink_hybrid(p->disk);
	if (archive_read_disk_open(p->disk, p->request->path) != ARCHIVE_OK)
		return failed(p->disk, "read", p->request->path, err);
	return 0;
}

static int open_out(struct pack *p, struct error *err)
{
	p->out = archive_write_new();
	p->links = archive_entry_linkresolver_new();
	if (!p->out || !p->links)
		return error_oom(err);
	if ((p->request->plain ? archive_write_set_format_gnutar(p->out)
			       : archive_write_set_format_pax(p->out)) != ARCHIVE_OK ||
		archive_write_set_bytes_per_block(p->out, BLOCK_BYTES) != ARCHIVE_OK ||
		archive_write_set_bytes_in_last_block(p->out, 512) != ARCHIVE_OK ||
		archive_write_open_fd(p->out, p->request->fd) != ARCHIVE_OK)
		return failed(p->out, "begin", "archive", err);
	archive_entry_linkresolver_set_strategy(p->links, archive_format(p->out));
	return 0;
}

/* "c" and what is below the root in the path that libarchive made of it. */
static int set_name(struct pack *p, struct archive_entry *to, const char *path, struct error *err)
{
	_cleanup_str_ struct str name = STR_INIT;
	/* libarchive drops a slash at the end, so its path may be the shorter one. */
	const char *below = path + MIN(strlen(path), strlen(p->request->path));
	unsigned depth;

	str_append(&name, "c");
	while (*below == '/')
		below++;
	if (*below)
		str_append_char(&name, '/');
	if (copy_name_below(below, &name, &depth, err) < 0)
		return -1;
	archive_entry_copy_pathname(to, str_get(&name));
	return 0;
}

static void copy_sparse(struct pack *p, struct archive_entry *from, struct archive_entry *to)
{
	la_int64_t offset, len;

	if (p->request->plain)
		return;
	(void)archive_entry_sparse_reset(from);
	while (archive_entry_sparse_next(from, &offset, &len) == ARCHIVE_OK)
		archive_entry_sparse_add_entry(to, offset, len);
}

/* 1: to may be written; 0: it is left out; -1. */
static int describe(
	struct pack *p, struct archive_entry *from, struct archive_entry *to, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;
	const char *path = archive_entry_pathname(from);
	mode_t type = archive_entry_filetype(from);

	if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) {
		str_append_char(&shown, '\'');
		str_append_escaped(&shown, path, strlen(path), false);
		str_append(&shown, "' is neither file, folder nor link");
		if (p->observer->left_out)
			p->observer->left_out(str_get(&shown), p->observer->data);
		return 0;
	}
	if (set_name(p, to, path, err) < 0)
		return -1;
	archive_entry_set_filetype(to, type);
	archive_entry_set_perm(to, archive_entry_perm(from) & 0777);
	archive_entry_set_mtime(to, archive_entry_mtime(from), archive_entry_mtime_nsec(from));
	archive_entry_set_size(to, type == AE_IFREG ? archive_entry_size(from) : 0);
	if (type == AE_IFLNK)
		archive_entry_copy_symlink(to, archive_entry_symlink(from));
	if (type == AE_IFREG)
		copy_sparse(p, from, to);
	/* For the resolver of hard links alone; tar has no place for them. */
	archive_entry_set_dev(to, archive_entry_dev(from));
	archive_entry_set_ino64(to, archive_entry_ino64(from));
	archive_entry_set_nlink(to, archive_entry_nlink(from));
	return 1;
}

static void show(struct pack *p, bool always)
{
	uint64_t now = clock_ms();

	if (!p->observer->progress || (!always && now < p->shown_at + PROGRESS_MS))
		return;
	p->shown_at = now;
	p->observer->progress(p->done, p->total, p->observer->data);
}

static int put(struct pack *p, const void *bytes, size_t len, struct error *err)
{
	while (len) {
		la_ssize_t n = archive_write_data(p->out, bytes, len);

		if (n <= 0)
			return failed(p->out, "write", "archive", err);
		bytes = (const char *)bytes + n;
		len -= (size_t)n;
		p->done += (uint64_t)n;
		show(p, false);
	}
	return 0;
}

/* Holes are given as zeros: the writer knows from the entry where they are, and drops them. */
static int put_zeros(struct pack *p, int64_t len, struct error *err)
{
	while (len > 0) {
		size_t n = (size_t)MIN(len, (int64_t)sizeof(zeros));

		if (put(p, zeros, n, err) < 0)
			return -1;
		len -= (int64_t)n;
	}
	return 0;
}

static int write_data(struct pack *p, const char *path, int64_t size, struct error *err)
{
	int64_t at = 0;
	const void *block;
	la_int64_t offset;
	size_t len;
	int ret;

	while ((ret = archive_read_data_block(p->disk, &block, &len, &offset)) == ARCHIVE_OK) {
		if (offset > at && put_zeros(p, MIN(offset, size) - at, err) < 0)
			return -1;
		at = MAX(at, MIN(offset, size));
		/* It grew after its size was told: what it was then is copied. */
		len = (size_t)MIN((int64_t)len, size - at);
		if (put(p, block, len, err) < 0)
			return -1;
		at += (int64_t)len;
	}
	if (ret != ARCHIVE_EOF)
		return failed(p->disk, "read", path, err);
	return 0;
}

/* A hole at the end is a hole; an end that is missing is not. */
static int check_whole(struct archive_entry *from, const char *path, struct error *err)
{
	struct stat st;

	if (stat(archive_entry_sourcepath(from), &st) < 0 || st.st_size >= archive_entry_size(from))
		return 0;
	return error_set(err, ERROR_FAILED, "'%s' became shorter while it was read", path);
}

static int write_content(
	struct pack *p, struct archive_entry *from, struct archive_entry *to, struct error *err)
{
	const char *path = archive_entry_pathname(to);
	int64_t size = archive_entry_size(to);
	uint64_t before = p->done;

	if (archive_entry_hardlink(to) || archive_entry_filetype(to) != AE_IFREG || !size)
		return 0;
	if (write_data(p, path, size, err) < 0 ||
		put_zeros(p, size - (int64_t)(p->done - before), err) < 0)
		return -1;
	return check_whole(from, path, err);
}

static int pack_entry(struct pack *p, struct archive_entry *from, struct error *err)
{
	_cleanup_(archive_entry_free_p) struct archive_entry *to = archive_entry_new();
	struct archive_entry *spare = NULL;
	int verdict;

	if (!to)
		return error_oom(err);
	verdict = describe(p, from, to, err);
	if (verdict <= 0)
		return verdict;
	if (p->request->plain && archive_entry_filetype(to) == AE_IFDIR)
		archive_entry_set_perm(to, archive_entry_perm(to) | 0700);
	archive_entry_linkify(p->links, &to, &spare);
	if (archive_write_header(p->out, to) < ARCHIVE_WARN)
		return failed(p->out, "pack", archive_entry_pathname(from), err);
	return write_content(p, from, to, err);
}

static int pack_tree(struct pack *p, struct error *err)
{
	for (;;) {
		_cleanup_(archive_entry_free_p) struct archive_entry *from = archive_entry_new();
		int ret;

		if (!from)
			return error_oom(err);
		ret = archive_read_next_header2(p->disk, from);
		if (ret == ARCHIVE_EOF)
			return 0;
		if (ret != ARCHIVE_OK)
			return failed(p->disk, "read",
				archive_entry_pathname(from) ? archive_entry_pathname(from)
							     : p->request->path,
				err);
		if (pack_entry(p, from, err) < 0)
			return -1;
		if (archive_read_disk_can_descend(p->disk) &&
			archive_read_disk_descend(p->disk) != ARCHIVE_OK)
			return failed(p->disk, "read", archive_entry_pathname(from), err);
	}
}

static int pack_end(struct pack *p, struct error *err)
{
	_cleanup_(archive_entry_free_p) struct archive_entry *last = archive_entry_new();

	if (!last)
		return error_oom(err);
	archive_entry_copy_pathname(last, "done");
	archive_entry_set_filetype(last, AE_IFREG);
	archive_entry_set_perm(last, 0600);
	archive_entry_set_size(last, 0);
	if (archive_write_header(p->out, last) < ARCHIVE_WARN ||
		archive_write_close(p->out) != ARCHIVE_OK)
		return failed(p->out, "finish", "archive", err);
	show(p, true);
	return 0;
}

int copy_pack(
	const struct copy_pack *request, const struct copy_observer *observer, struct error *err)
{
	static const struct copy_observer nobody = { 0 };
	_cleanup_(pack_done) struct pack p = {
		.request = request,
		.observer = observer ? observer : &nobody,
	};
	struct stat st;

	if (stat(request->path, &st) < 0)
		return error_errno(err, errno, "cannot read '%s'", request->path);
	if (S_ISREG(st.st_mode))
		p.total = (uint64_t)st.st_size;
	if (open_disk(&p, err) < 0 || open_out(&p, err) < 0 || pack_tree(&p, err) < 0)
		return -1;
	return pack_end(&p, err);
}

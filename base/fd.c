/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/macro.h"

int fd_write_all(int fd, const void *bytes, size_t len, const char *what, struct error *err)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "cannot write %s", what);
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, size_t max, struct str *into, const char *what, struct error *err)
{
	size_t total = 0;
	char buf[16384];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "cannot read %s", what);
		if (n == 0)
			return str_ok(into, err);
		total += (size_t)n;
		if (total > max)
			return error_set(
				err, ERROR_INVALID, "%s is larger than %zu bytes", what, max);
		str_append_len(into, buf, (size_t)n);
	}
}

int fd_set_nonblock(int fd, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_errno(err, errno, "cannot make descriptor %d non-blocking", fd);
	return 0;
}

int fd_wait(int fd, short events, uint64_t deadline_ms, struct error *err)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		uint64_t now = clock_ms();
		int n = poll(&p, 1,
			now >= deadline_ms ? 0 : (int)MIN(deadline_ms - now, (uint64_t)INT32_MAX));

		if (n >= 0)
			return n;
		if (errno != EINTR)
			return error_errno(err, errno, "cannot wait for descriptor %d", fd);
	}
}

static int check_regular(const struct stat *st, const char *path, struct error *err)
{
	const char *kind = S_ISDIR(st->st_mode)    ? "folder"
			   : S_ISFIFO(st->st_mode) ? "pipe"
			   : S_ISSOCK(st->st_mode) ? "socket"
						   : "device";

	return S_ISREG(st->st_mode) ? 0
				    : error_set(err, ERROR_INVALID,
					      "'%s' is a %s; it has to be a file", path, kind);
}

/* Looked at before, since some devices take the opening for a command; and after, since it may have changed. */
int file_open(int dirfd, const char *path, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (fstatat(dirfd, path, &st, 0) < 0)
		return error_errno(err, errno, "cannot open '%s'", path);
	if (check_regular(&st, path, err) < 0)
		return -1;
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot open '%s'", path);
	return check_regular(&st, path, err) < 0 ? -1 : fd_take(&fd);
}

int file_read(int dirfd, const char *path, size_t max, struct str *into, struct error *err)
{
	_cleanup_close_ int fd = file_open(dirfd, path, err);

	return fd < 0 ? -1 : fd_read_all(fd, max, into, path, err);
}

/* A pipe without a writer ends at once; one that has a writer is waited for. */
static int read_pipe(const char *path, size_t max, struct str *into, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	char first;

	if (fd < 0)
		return error_errno(err, errno, "cannot open '%s'", path);
	n = read(fd, &first, 1);
	if (n == 0)
		return error_set(err, ERROR_INVALID,
			"'%s' is a pipe into which nobody writes; give a file", path);
	if ((n < 0 && errno != EAGAIN) || fcntl(fd, F_SETFL, 0) < 0)
		return error_errno(err, errno, "cannot read '%s'", path);
	if (n > 0)
		str_append_char(into, first);
	return fd_read_all(fd, max - (n > 0), into, path, err);
}

int file_read_argument(const char *path, size_t max, struct str *into, struct error *err)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode)
		       ? read_pipe(path, max, into, err)
		       : file_read(AT_FDCWD, path, max, into, err);
}

static int write_file(int fd, const void *bytes, size_t len, mode_t mode, bool sync,
	const char *path, struct error *err)
{
	if (fchmod(fd, mode) < 0)
		return error_errno(err, errno, "cannot set the mode of '%s'", path);
	if (fd_write_all(fd, bytes, len, path, err) < 0)
		return -1;
	if (sync && fsync(fd) < 0)
		return error_errno(err, errno, "cannot write '%s' to disk", path);
	return 0;
}

static int replace(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode,
	bool sync, struct error *err)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *temporary = NULL;
	unsigned random = 0;
	struct stat st;

	/* a name of a device, such as /dev/null, would be the file's from then on */
	if (fstatat(dirfd, path, &st, 0) == 0 && check_regular(&st, path, err) < 0)
		return -1;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	temporary = str_format(err, "%s.%08x.tmp", path, random);
	if (!temporary)
		return -1;
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, errno, "cannot create '%s'", temporary);
	if (write_file(fd, bytes, len, mode, sync, path, err) < 0) {
		(void)unlinkat(dirfd, temporary, 0);
		return -1;
	}
	if (renameat(dirfd, temporary, dirfd, path) < 0) {
		error_errno(err, errno, "cannot replace '%s'", path);
		(void)unlinkat(dirfd, temporary, 0);
		return -1;
	}
	return 0;
}

int file_replace(
	int dirfd, const char *path, const void *bytes, size_t len, mode_t mode, struct error *err)
{
	return replace(dirfd, path, bytes, len, mode, true, err);
}

int file_replace_unsynced(
	int dirfd, const char *path, const void *bytes, size_t len, mode_t mode, struct error *err)
{
	return replace(dirfd, path, bytes, len, mode, false, err);
}

int file_mkdirs(const char *path, mode_t mode, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(path, err);

	if (!copy)
		return -1;
	for (char *p = copy + 1;; p++) {
		char held = *p;

		if (held != '/' && held != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return error_errno(err, errno, "cannot create folder '%s'", copy);
		*p = held;
		if (held == '\0')
			return 0;
	}
}

static int remove_below(int dirfd, const char *name, struct error *err);

static int remove_entries(DIR *dir, const char *name, struct error *err)
{
	struct dirent *entry;

	while ((errno = 0, entry = readdir(dir))) {
		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
			continue;
		if (remove_below(dirfd(dir), entry->d_name, err) < 0)
			return -1;
	}
	return errno ? error_errno(err, errno, "cannot read folder '%s'", name) : 0;
}

static int remove_below(int at, const char *name, struct error *err)
{
	int fd, ret;
	DIR *dir;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return error_errno(err, errno, "cannot remove '%s'", name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "cannot open folder '%s'", name);
	dir = fdopendir(fd);
	if (!dir) {
		error_errno(err, errno, "cannot open folder '%s'", name);
		(void)close(fd);
		return -1;
	}
	ret = remove_entries(dir, name, err);
	(void)closedir(dir);
	if (ret == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_errno(err, errno, "cannot remove folder '%s'", name);
	return ret;
}

int file_remove_tree(const char *path, struct error *err)
{
	return remove_below(AT_FDCWD, path, err);
}

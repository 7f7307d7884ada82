/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File descriptors: scope-bound close, whole reads and writes, whole files. "None" is -1. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

static inline void cleanup_close_p(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
#define _cleanup_close_ _cleanup_(cleanup_close_p)

/* TAKE for descriptors: yields the value, leaves -1 behind. */
static inline int fd_take(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

/* Write all of it, through EINTR and short writes (blocking fd). what names it in the error. */
int fd_write_all(
	int fd, const void *bytes, size_t len, const char *what, struct error *err) MUST_CHECK;

/* Read until end of file; more than max bytes is an error (kind ERROR_INVALID). Appends to into. */
int fd_read_all(
	int fd, size_t max, struct str *into, const char *what, struct error *err) MUST_CHECK;

/*
 * Wait for events of poll(2) until a deadline of clock_ms: 1 they are there, 0 time is over. Looks once
 * even when the deadline is past.
 */
int fd_wait(int fd, short events, uint64_t deadline_ms, struct error *err) MUST_CHECK;

int fd_set_nonblock(int fd, struct error *err) MUST_CHECK;

/*
 * Open for reading, whoever gave the path: a folder, pipe, socket or device is an error (kind ERROR_INVALID)
 * and is never waited for. dirfd may be AT_FDCWD.
 */
int file_open(int dirfd, const char *path, struct error *err) MUST_CHECK;

/* The whole file at path, at most max bytes, appended to into; opened as file_open does. */
int file_read(
	int dirfd, const char *path, size_t max, struct str *into, struct error *err) MUST_CHECK;

/* The same for a path of the command line: it may also be a pipe that somebody writes to, as <(...) is. */
int file_read_argument(
	const char *path, size_t max, struct str *into, struct error *err) MUST_CHECK;

/*
 * Replace the file at path with these bytes, so that a reader sees all of the old or all of the new
 * (temporary file beside it, fsync, rename). mode is exact, the umask does not apply. What is there and is
 * no file, such as /dev/null, is not replaced (kind ERROR_INVALID).
 */
int file_replace(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode,
	struct error *err) MUST_CHECK;

/* The same without waiting for the disk: for one of many, whose caller waits for all of them at the end. */
int file_replace_unsynced(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode,
	struct error *err) MUST_CHECK;

/* mkdir -p with this mode for what is missing. */
int file_mkdirs(const char *path, mode_t mode, struct error *err) MUST_CHECK;

/* Remove a folder and all below it, following no link; a missing one is a success. */
int file_remove_tree(const char *path, struct error *err) MUST_CHECK;

#endif

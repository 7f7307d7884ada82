/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives for tests, made by libarchive from a table: also such as no honest tar makes. */
#ifndef TESTS_UNIT_VMM_ARCHIVE_MAKER_H
#define TESTS_UNIT_VMM_ARCHIVE_MAKER_H

#include <stddef.h>
#include <stdint.h>

struct member {
	char type; /* "d" folder, "f" file, "l" symbolic link, "h" hard link, "c" device, "p" fifo */
	const char *path;
	const char *text; /* content of a file, target of a link */
	unsigned mode; /* 0: 0644, folders 0755 */
	long long sparse; /* size of a file that has its text at the end and nothing before it */
	long long mtime, nsec;
};

/* M('d', "./a", NULL, .mode = 0700) */
#define M(t, p, x, ...)                                            \
	{                                                          \
		.type = (t), .path = (p), .text = (x), __VA_ARGS__ \
	}

/* A descriptor of the archive (pax), at its beginning; close it. */
int archive_make(const struct member *members, size_t count);

/* Cut it to len bytes; whole blocks are 512 bytes. */
int archive_cut(int fd, size_t len);

#endif

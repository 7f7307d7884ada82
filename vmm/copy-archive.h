/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two ends of a copy on this side: an archive into the present folder, and files into an archive.
 * They are run by a program of their own (box-copy), which knows nothing of libvirt and, when it unpacks,
 * is shut up in the folder it unpacks into (vmm/copy-confine.h).
 *
 * ARCHIVES TO BE UNPACKED ARE HOSTILE. Whatever is in them, nothing outside the present folder is read,
 * written or linked to; nothing in it is a device, a fifo or a socket, or has set-user-id, set-group-id or
 * the sticky bit; owners, access lists and attributes are never taken from the archive; entries, bytes and
 * silence are bounded.
 *
 * libarchive turns names between character sets by the locale: the caller has set LC_CTYPE to a UTF-8 one.
 */
#ifndef VMM_COPY_ARCHIVE_H
#define VMM_COPY_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* What unpacking makes in the present folder: a file, or a folder with the tree. */
#define COPY_CONTENT "content"

/* Who is told. All members may be NULL. Texts are fit for a terminal. */
struct copy_observer {
	/* Bytes of content so far; total 0: not known. At most some ten times a second. */
	void (*progress)(uint64_t done, uint64_t total, void *data);
	void (*left_out)(const char *text, void *data);
	void *data;
};

struct copy_unpack {
	int fd; /* lent; the archive (tar: ustar, pax or GNU), to its end of file */
	uint64_t max_entries;
	uint64_t max_bytes; /* of content, holes of sparse files counted */
	uint64_t stall_ms; /* without a byte */
	/* Leave out what is not safe (special files, links that lead out, control characters in names)
	 * and say so, instead of refusing all. */
	bool skip_unsafe;
};

/*
 * Unpack into the present folder as COPY_CONTENT, which must not exist. The archive holds a folder "." and
 * what is below it, or one regular file, whose name does not matter. ERROR_NOT_FOUND: the archive is empty;
 * ERROR_INVALID: it is refused; ERROR_NO_SPACE, ERROR_TIMEOUT. What was unpacked before a failure stays.
 */
int copy_unpack(const struct copy_unpack *request, const struct copy_observer *observer,
	struct error *err) MUST_CHECK;

struct copy_pack {
	const char
		*path; /* a regular file or a folder; a link is followed here, and nowhere below */
	/* For readers that know neither pax headers, sparse files nor how to put off modes of folders. */
	bool plain;
	int fd; /* lent; where the archive goes */
};

/*
 * Pack a file as member "c", or a folder as "c" and what is below it, and an empty member "done" at the
 * end, from which the reader knows that nothing is missing. Owners are 0. Devices, fifos and sockets are
 * left out.
 */
int copy_pack(const struct copy_pack *request, const struct copy_observer *observer,
	struct error *err) MUST_CHECK;

#endif

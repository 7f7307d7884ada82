/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operating systems that are not bootstrapped but taken from a file: an image of a disk (qcow2, raw) or an
 * archive of a root file system, fetched or local, verified before anything looks into it.
 */
#ifndef MINT_SOURCE_H
#define MINT_SOURCE_H

#include "mint/mint.h"

enum source_format { FORMAT_QCOW2, FORMAT_RAW, FORMAT_TAR };

struct source_file {
	char *path; /* owned; in the cache, or the local file */
	enum source_format format;
	char sha256[DIGEST_HEX];
	char signer[41]; /* fingerprint; "" when no signature was asked for */
};

void source_file_done(struct source_file *f); /* safe on a zeroed one */

/*
 * Get the source's file and verify it: its digest, and the signature of the list that gives it. Needs the work
 * folder. ERROR_INVALID for a file that is not what was asked for, or that names other files as its parts.
 */
int source_get(const struct mint *m, const struct source *s, struct source_file *ret,
	struct error *err) MUST_CHECK;

/* What the first bytes of a file say that it is. */
enum source_format source_format(const unsigned char *head, size_t len);

/*
 * Write the root file system of the file as an uncompressed archive (mint/unpack.c). A disk is inspected by
 * libguestfs: ERROR_INVALID unless it holds one Linux for this processor whose packages are Debian's.
 */
int source_unpack(const struct source_file *f, const char *tar, struct error *err) MUST_CHECK;

#endif

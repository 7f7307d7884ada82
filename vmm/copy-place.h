/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a copy from a box ends up on this side: it is unpacked into a folder of its own beside that place
 * and moved there when all of it has arrived, so that a copy that fails leaves nothing behind.
 *
 * Beside means: in the folder that will hold it. What is put in place came from a stranger, but has been
 * unpacked by copy_unpack; what is there already is the person's own, and no link of it is followed but
 * the ones in the path that the person gave.
 */
#ifndef VMM_COPY_PLACE_H
#define VMM_COPY_PLACE_H

#include <stdint.h>

#include "base/error.h"

enum { COPY_PLACE_NAME = 256 };

struct copy_place {
	char *folder; /* owned; absolute path of the folder that will hold it */
	int fd; /* owned; that folder; -1: none */
	char name[COPY_PLACE_NAME]; /* in that folder; "": the folder itself takes the content */
	char staging[24]; /* in that folder; "": none */
};

/*
 * Find the place of to, as cp would: into a folder that is there, under name (name_len 0: its content goes
 * into the folder); else as to, whose folder must be there. Then make the staging folder. What is there and
 * is neither file nor folder is ERROR_INVALID.
 */
int copy_place_open(const char *to, const char *name, size_t name_len, struct copy_place *ret,
	struct error *err) MUST_CHECK;

/* Path of the staging folder, given. */
char *copy_place_staging(const struct copy_place *place, struct error *err) MUST_CHECK;

/* Bytes that may be filled: what leaves a tenth of the file system free. */
int copy_place_room(const struct copy_place *place, uint64_t *ret, struct error *err) MUST_CHECK;

/*
 * Move COPY_CONTENT of the staging folder to its place. A file replaces a file in one step. A folder that
 * is there is filled, file by file: files in it that have the same path are replaced, others stay, and a
 * file is never put in the place of a folder nor the other way round (ERROR_EXISTS).
 */
int copy_place_commit(struct copy_place *place, struct error *err) MUST_CHECK;

/* Remove the staging folder, with whatever is in it. Zeroed is fine. */
void copy_place_done(struct copy_place *place);
#define _cleanup_copy_place_ _cleanup_(copy_place_done)

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 and SHA-512, of bytes, of files, and of a list of named fields that cannot run into one another. */
#ifndef IMAGES_DIGEST_H
#define IMAGES_DIGEST_H

#include <nettle/sha2.h>
#include <stdint.h>

#include "base/error.h"

enum {
	DIGEST_HEX = 65, /* 64 digits and the NUL */
	DIGEST_SHORT = 17, /* what names of volumes carry: 16 digits and the NUL */
	DIGEST_HEX_LONG = 129, /* SHA-512 */
};

struct digest {
	struct sha256_ctx ctx;
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t len);

/*
 * Add a field: its name, its length and its bytes. Two lists of fields have the same digest only if they
 * are the same. NULL bytes differ from none.
 */
void digest_field(struct digest *d, const char *name, const void *bytes, size_t len);
void digest_field_text(struct digest *d, const char *name, const char *text);

/* The digest in lower-case hex. d must be initialised anew for another. */
void digest_hex(struct digest *d, char hex[DIGEST_HEX]);

void digest_bytes(const void *bytes, size_t len, char hex[DIGEST_HEX]);

/*
 * Of the whole content of an open regular file, from its beginning; the offset is left at the end.
 * progress (may be NULL) is told how many bytes have been read. what names it in errors.
 */
int digest_fd(int fd, const char *what, void (*progress)(uint64_t done, void *data), void *data,
	char hex[DIGEST_HEX], struct error *err) MUST_CHECK;
int digest_file(const char *path, char hex[DIGEST_HEX], struct error *err) MUST_CHECK;

/* The same with SHA-512. */
int digest_fd_long(
	int fd, const char *what, char hex[DIGEST_HEX_LONG], struct error *err) MUST_CHECK;

#endif

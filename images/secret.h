/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Things that must not be in an image: credentials, and what the host that minted it uses for itself.
 * Pure: paths and contents in, a verdict out.
 */
#ifndef IMAGES_SECRET_H
#define IMAGES_SECRET_H

#include <stddef.h>

/*
 * What a file of that path (relative to the root, "root/.netrc") or content looks like: "a private key",
 * lent; NULL when it looks like nothing of the sort. Keys and tokens that a package ships as examples
 * or for its own tests (usr/share/doc, and tests of language packages) are left alone.
 */
const char *secret_in_path(const char *path);
const char *secret_in_bytes(const char *path, const char *bytes, size_t len);

#endif

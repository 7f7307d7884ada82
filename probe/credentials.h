/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looking for what seems to be a credential: files that tools keep their logins in, and the spellings
 * of well-known tokens and private keys. What identifies the machine itself (its SSH host keys) is no
 * credential. Used on fresh boxes, where nobody has logged in anywhere.
 */
#ifndef PROBE_CREDENTIALS_H
#define PROBE_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What these bytes hold, "a private key", "a GitHub token"; NULL when nothing. Pure. */
const char *credential_in(const uint8_t *bytes, size_t len);

/* What a file at this path is by its name alone; NULL when its name says nothing. Pure. */
const char *credential_name(const char *path);

/*
 * Look through each path: folders with all below them on the same file system, files and block
 * devices as bytes. Prints "found PATH WHAT" for each hit, and "scanned FILES" at the end, before that
 * "blind PATH" for what could not be read. First shows that it can see one: a made-up token in a
 * file of its own, "selftest ok"; without that the rest says nothing.
 */
int credentials_print(char *const *paths, struct error *err) MUST_CHECK;

#endif

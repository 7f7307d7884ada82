/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of checksums as distributions publish them beside their images. Pure. Understood are the lines of
 * sha256sum and sha512sum ("HEX  NAME", "HEX *NAME") and those with --tag ("SHA256 (NAME) = HEX"); every
 * other line is passed over.
 */
#ifndef MINT_CHECKSUMS_H
#define MINT_CHECKSUMS_H

#include "images/digest.h"

/*
 * The digest of the file of this name, in lower case: 64 digits are a SHA-256, 128 a SHA-512, which wins
 * when both are there. ERROR_NOT_FOUND when the list does not name the file, ERROR_INVALID when it gives two
 * digests of one kind for it. what names the list in errors.
 */
int checksum_find(const char *text, size_t len, const char *file, const char *what,
	char hex[DIGEST_HEX_LONG], struct error *err) MUST_CHECK;

#endif

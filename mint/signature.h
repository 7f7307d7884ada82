/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a text was signed by one certain key: gpgv is run, which verifies and does nothing else, with a
 * keyring that the template names.
 */
#ifndef MINT_SIGNATURE_H
#define MINT_SIGNATURE_H

#include "base/error.h"
#include "base/str.h"

struct signature {
	const char *keyring; /* an absolute path */
	const char *key; /* fingerprint of the key, or of the primary key of the one that signed */
	const char *folder; /* for files on the way */
	const char *what; /* names the text in errors */
	const struct str *text;
	const struct str *detached; /* the signature; NULL: it is in the text (clear-signed) */
};

/* The text is signed within itself. */
bool signature_is_inline(const struct str *text);

/*
 * ERROR_INVALID unless there is a good signature of that key, neither expired nor revoked. What was signed
 * is appended to signed_text: of a clear-signed text this is less than the text.
 */
int signature_check(
	const struct signature *s, struct str *signed_text, struct error *err) MUST_CHECK;

#endif

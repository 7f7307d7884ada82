/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads, over libcurl: https and http, at most five redirects, a limit of size, an end to servers
 * that hang, and nothing counts before its digest is right. What arrived of a download that broke stays
 * and is gone on with. Proxies and certificates are the host's (its environment, as curl's own).
 */
#ifndef MINT_FETCH_H
#define MINT_FETCH_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* A small document, appended to into. accept: an Accept header's value; NULL: none. */
int fetch_text(const char *url, const char *accept, size_t max, struct str *into,
	struct error *err) MUST_CHECK;

struct fetch {
	const char *url;
	const char *path; /* where the file shall be; "<path>.part" is used on the way */
	uint64_t max; /* bytes; more is refused */
	const char *sha256, *sha512; /* hex; at least one is not NULL */
	void (*progress)(uint64_t done, uint64_t total); /* may be NULL */
};

/*
 * Nothing to do when the file is there with the right digest. A file there with another is made anew.
 * ERROR_INVALID when what the server gives has another digest, or is a web page.
 */
int fetch_file(const struct fetch *f, struct error *err) MUST_CHECK;

#endif

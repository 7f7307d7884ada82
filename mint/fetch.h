/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads, over libcurl: https and http, at most five redirects, a limit of size, an end to servers
 * that hang, and nothing counts before its digest is right. What arrived of a download that broke stays
 * and is gone on with. Proxies and certificates are the host's (its environment, as curl's own).
 */
#ifndef MINT_FETCH_H
#define MINT_FETCH_H

#include <stdbool.h>
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
	long stall_seconds; /* so long without a byte and the server hangs; 0: a minute */
	bool offline; /* only what is there already */
};

/*
 * Nothing to do when the file is there with the right digest. A file there with another is made anew.
 * A transfer that breaks off is gone on with, as long as it gets further. ERROR_INVALID when what the server
 * gives has another digest, is a web page, or is too large; ERROR_TIMEOUT when it hangs; ERROR_UNREACHABLE when
 * it cannot be reached or breaks off for good.
 */
int fetch_file(const struct fetch *f, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Node.js and npm from the npm registry, for images whose distribution's Node.js is too old for an agent.
 * The registry is the host's (npm_config_registry, or what npm is configured with), else the public one.
 */
#ifndef MINT_NODE_H
#define MINT_NODE_H

#include "mint/mint.h"
#include "mint/tree.h"

/* Fetch the newest Node.js of that major version, and npm; put both below usr/local of the archive. */
int node_put(
	const struct mint *m, uint64_t major, struct tree_writer *w, struct error *err) MUST_CHECK;

/* The registry's address without a slash at its end, given; NULL with err. */
char *node_registry(struct error *err) MUST_CHECK;

/* ---- pure ---- */

/* "sha512-<base64>" as 128 hex digits. ERROR_INVALID. */
int node_integrity(const char *text, char hex[DIGEST_HEX_LONG], struct error *err) MUST_CHECK;

/* The first version that is higher by its three numbers; a pre-release is lower than everything. */
int node_compare(const char *a, const char *b);

#endif

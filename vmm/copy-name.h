/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in an archive that a stranger made, as texts: where in the tree a member belongs, and whether a
 * link stays in the tree. Pure: nothing is looked up. What is not acceptable is ERROR_INVALID, and the
 * text names it, escaped.
 */
#ifndef VMM_COPY_NAME_H
#define VMM_COPY_NAME_H

#include "base/error.h"
#include "base/str.h"

enum {
	COPY_NAME_MAX =
		4000, /* bytes of a path in the tree: PATH_MAX with room for what is above */
	COPY_DEPTH_MAX =
		128, /* folders within folders; two descriptors each when they are put in place */
};

/*
 * Append raw as a plain path below the root: "./a//b/" is "a/b", the root itself is "". Absolute paths
 * and ".." are refused, never mended. *ret_depth is the number of folders above it: 0 for "a".
 */
int copy_name_below(
	const char *raw, struct str *into, unsigned *ret_depth, struct error *err) MUST_CHECK;

/* Control characters (C0, DEL, and C1 as UTF-8), which a terminal that shows the name would obey. */
bool copy_name_controls(const char *name);

/*
 * Whether a symbolic link with depth folders above it stays in the tree, whatever other such links there
 * are: its target is relative, and climbs only at its beginning and not above the root. ("a/../../b" may
 * leave it when "a" is a link itself, so no ".." stands behind a name.)
 */
bool copy_link_stays(const char *target, unsigned depth);

/* The last part of a path that a person wrote, lent; "" when it has none of its own (".", "..", "/"). */
const char *copy_name_last(const char *path, size_t *ret_len);

#endif

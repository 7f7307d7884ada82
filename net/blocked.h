/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ranges that are not the public internet: no box may send there, and no resolver may be there. */
#ifndef NET_BLOCKED_H
#define NET_BLOCKED_H

#include <stddef.h>
#include <stdint.h>

struct blocked {
	const char *cidr;
	const char *counter; /* of the rule that drops it */
	const char *what; /* for people */
	uint32_t addr; /* host byte order */
	unsigned prefix;
};

extern const struct blocked blocked_ranges[];
extern const size_t n_blocked_ranges;

/* The range that holds addr (host byte order), lent; NULL when it is public. */
const struct blocked *blocked_find(uint32_t addr);

#endif

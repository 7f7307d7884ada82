/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a new box gets: flag, else environment (BOX_CPU, BOX_MEMORY, BOX_DISK), else template, else a
 * default; and whether the host can give it. Pure but for reading the environment.
 */
#ifndef VMM_RESOURCES_H
#define VMM_RESOURCES_H

#include <stdint.h>

#include "base/error.h"

#define RESOURCES_MEMORY_MIN (256ull << 20) /* less does not boot a stock Debian */

struct resources {
	unsigned cpus;
	uint64_t memory; /* bytes */
	uint64_t disk; /* bytes that the guest sees */
};

/* Used where neither flag nor environment nor template says anything. */
#define RESOURCES_DEFAULT                                            \
	{                                                            \
		.cpus = 4, .memory = 8ull << 30, .disk = 60ull << 30 \
	}

/* What somebody asked for, as text; NULL: not said. */
struct resources_wish {
	const char *cpus, *memory, *disk;
};

struct resources_limits {
	unsigned cpus; /* of the host */
	uint64_t memory; /* of the host, bytes */
	uint64_t pool; /* bytes the storage pool can hold at most */
	uint64_t image; /* bytes the image's disk has: a disk cannot be smaller */
};

/*
 * Resolve. flag says what the command line had; template's members that are 0 are not said. What a
 * person asked for and the host cannot give is ERROR_USAGE, naming flag or variable. A template's or
 * default number of CPUs is lowered to the host's, its disk raised to the image's, silently: they are
 * wishes; a template's memory above the host's is ERROR_FAILED, since a guest with less may not work.
 */
int resources_resolve(const struct resources_wish *flag, const struct resources *template,
	const struct resources_limits *limits, struct resources *ret, struct error *err) MUST_CHECK;

#endif

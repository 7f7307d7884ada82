/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libguestfs appliance: the one place that knows libguestfs. It puts a golden layer together in one
 * launch: what the payload changed, our own files, the user, the boot loader; it reads the result and the
 * seed back as a guest would.
 */
#ifndef MINT_APPLIANCE_H
#define MINT_APPLIANCE_H

#include <stdint.h>

#include "images/place.h"
#include "seed/seed.h"

/* A file of the payload, to look for when all is done. path NULL: the payload has no file. */
struct appliance_sample {
	const char *path;
	uint64_t bytes;
};

struct appliance_job {
	const char *disk; /* qcow2 layer, whose whole disk is the root file system */
	const char *layer; /* archive of what the payload changed; NULL: nothing */
	struct appliance_sample sample;
	const struct text_vec *removed; /* paths that it removed, relative */
	const char *files; /* archive of our own files */
	const char *user; /* to make, with the id 1000 */
	const char *seed; /* the seed's image */
	const struct seed *texts; /* what must be in it */
};

/* The id of the box's user and of his group. */
enum { APPLIANCE_UID = 1000 };

int appliance_run(const struct appliance_job *job, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which golden image of the pool a new box of a template stands on. */
#ifndef VMM_GOLDEN_H
#define VMM_GOLDEN_H

#include "images/template.h"
#include "vmm/new.h"

struct golden {
	struct new_image image;
	bool outdated; /* not of the template's present recipe: an older one was taken */
};

/*
 * The image of the template's present recipe; if the pool has none, the newest of that template, as
 * outdated. ERROR_NOT_FOUND with "box image mint" when there is none at all.
 */
int golden_find(virStoragePoolPtr pool, const struct template *template, struct golden *ret,
	struct error *err) MUST_CHECK;

#endif

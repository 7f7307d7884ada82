/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things of images are on this machine: data files (BOX_DATA, which is the source tree when run
 * from a build, else the installed folder), helper programs (BOX_LIBEXEC, else the installed folder),
 * the cache ($XDG_CACHE_HOME/box), and the folders in which templates are looked for. All results are
 * given (free them); NULL with err.
 */
#ifndef IMAGES_PLACE_H
#define IMAGES_PLACE_H

#include "base/error.h"
#include "base/vec.h"

VEC_DEFINE(text_vec, char *); /* texts are owned */
void text_vec_free(struct text_vec *v); /* the texts and the array */
#define _cleanup_texts_ _cleanup_(text_vec_free)
int text_vec_add(struct text_vec *v, const char *text, struct error *err) MUST_CHECK; /* a copy */

/* A file or folder of data: "mint/guest". */
char *place_data(const char *below, struct error *err) MUST_CHECK;

/* A helper program: "box-agent". */
char *place_libexec(const char *name, struct error *err) MUST_CHECK;

/* The cache of this user. It may not exist yet. */
char *place_cache(struct error *err) MUST_CHECK;

/* Folders of templates, best first: the user's own, the machine's, ours. They may not exist. */
int place_templates(struct text_vec *ret, struct error *err) MUST_CHECK;

#endif

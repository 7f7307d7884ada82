/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmdebstrap, which does natively, as root or in a user namespace, what must be done over a guest's tree:
 * bootstrapping a base, and installing a payload over a base's tree. The work inside is done by the
 * scripts of mint/stage, its hooks.
 */
#ifndef MINT_BOOTSTRAP_H
#define MINT_BOOTSTRAP_H

#include "images/place.h"
#include "mint/mint.h"

/*
 * Bootstrap release with the packages (and what Debian calls required) into the archive base.tar of the
 * work folder; the file system is made in the raw disk of the work folder called image.
 */
struct bootstrap {
	const char *release;
	const struct text_vec *packages;
	const char *files; /* archive to unpack before anything else */
	const char *image;
	const char *tar;
	const char *source; /* archive of somebody's root file system; NULL: none */
};
int bootstrap_base(const struct mint *m, const struct bootstrap *b, struct error *err) MUST_CHECK;

/* The same from b->source: what is missing of the packages is installed by its own apt. */
int bootstrap_image(const struct mint *m, const struct bootstrap *b, struct error *err) MUST_CHECK;

/* Run the commands of the work folder over the tree; leaves layer.tar and removed there. */
int bootstrap_layer(const struct mint *m, const char *base_tar, struct error *err) MUST_CHECK;

/* Write one command for the stages: argv as bake-NN with the next number. */
int bootstrap_add_command(const struct mint *m, unsigned number, const char *const *argv,
	size_t count, struct error *err) MUST_CHECK;

/* Write the last command of a layer: it must succeed, and what it prints is left in the file "verified". */
int bootstrap_set_verify(
	const struct mint *m, const char *const *argv, size_t count, struct error *err) MUST_CHECK;

#endif

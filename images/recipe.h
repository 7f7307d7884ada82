/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recipe is everything that decides what is in an image: the template, the source, the files of
 * mint/guest and mint/stage, the guest agent, the version of the tool. Its digest is in the manifest, and
 * in the names of volumes: an unchanged recipe means that there is nothing to do. What is not in a recipe: descriptions and resources of boxes, and the versions that a
 * package mirror has today ("box image mint --refresh" fetches those).
 */
#ifndef IMAGES_RECIPE_H
#define IMAGES_RECIPE_H

#include "images/digest.h"
#include "images/template.h"

enum { VOLUME_NAME_MAX = 128 };

struct recipe {
	char base[DIGEST_HEX]; /* digest of the base layer's recipe */
	char golden[DIGEST_HEX]; /* of the golden image's, which includes the base's */
	char agent[DIGEST_HEX]; /* of the guest agent's program */
	char base_volume[VOLUME_NAME_MAX]; /* "base-trixie-0123456789abcdef.qcow2" */
	char golden_volume[VOLUME_NAME_MAX]; /* "golden-blank-0123456789abcdef.qcow2" */
};

/*
 * The recipe of a template (not of a shared one) on this machine: reads the files it consists of, which
 * takes a few milliseconds. ERROR_NOT_FOUND when the guest agent or the guest's files are not installed.
 */
int recipe_of(const struct template *t, struct recipe *ret, struct error *err) MUST_CHECK;

/* The same of a template whose files are already digested: pure. */
struct recipe_files {
	char base[DIGEST_HEX]; /* mint/guest/base and mint/stage/base */
	char golden[DIGEST_HEX]; /* mint/guest/golden and mint/stage/layer */
	char agent[DIGEST_HEX];
};
void recipe_make(const struct template *t, const struct recipe_files *files, struct recipe *ret);

/*
 * Another build of the same recipe (--refresh) has names of its own, made from the digests and a salt:
 * what stands on the earlier build must not find other bytes under it. Which recipe a volume was made by is
 * in its manifest.
 */
void recipe_rebuild(
	struct recipe *recipe, const char *release, const char *template, const char *salt);

/* "golden-x-0123.qcow2" gives "golden-x-0123.json": the manifest beside a volume. */
void recipe_manifest_name(const char *volume, char name[VOLUME_NAME_MAX]);

/* The name of a seed by the digest of its bytes. */
void recipe_seed_name(const char *digest, char name[VOLUME_NAME_MAX]);

/* Debian packages of every base, beside those of its template. A NULL at the end. */
extern const char *const recipe_base_packages[];

/* What the base of this template is called in names and manifests: "trixie", "image". */
const char *recipe_release(const struct template *t);

#endif

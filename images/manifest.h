/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manifest beside a volume of an image: what it is, where it came from, what is in it. It is written
 * last and is the commit record: an image exists if and only if its manifest does. JSON:
 *
 *	{ "schema": 1, "kind": "golden", "template": "blank", "release": "trixie", "user": "dev",
 *	  "volume": "golden-blank-....qcow2", "sha256": "...", "bytes": 1, "virtual_bytes": 2,
 *	  "recipe": "...", "backing": "base-trixie-....qcow2",
 *	  "seed": { "volume": "seed-....iso", "sha256": "..." },
 *	  "source": { "location": "...", "sha256": "...", "signer": "..." },
 *	  "agent": { "version": "0.1.0", "sha256": "..." },
 *	  "verified": "2.1.0 (Claude Code)", "tool": "0.1.0", "created": "2026-01-02T03:04:05Z",
 *	  "packages": [ { "name": "bash", "version": "5.2", "from": "debian" } ] }
 *
 * A base has no template, user, seed and agent. Newer schemas are refused, unknown keys are ignored.
 */
#ifndef IMAGES_MANIFEST_H
#define IMAGES_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "images/recipe.h"

#define MANIFEST_BYTES_MAX (8u << 20)

enum manifest_kind { MANIFEST_BASE, MANIFEST_GOLDEN };

struct manifest_package {
	char *name, *version; /* owned */
	char *from; /* owned; "debian", "npm" */
};
VEC_DEFINE(package_vec, struct manifest_package);
int package_vec_add(struct package_vec *v, const char *name, const char *version, const char *from,
	struct error *err) MUST_CHECK;
void package_vec_free(struct package_vec *v); /* the packages and the array */

struct manifest {
	enum manifest_kind kind;
	char template[TEMPLATE_NAME_MAX], user[TEMPLATE_USER_MAX];
	char release[32];
	char volume[VOLUME_NAME_MAX], backing[VOLUME_NAME_MAX], seed[VOLUME_NAME_MAX];
	char sha256[DIGEST_HEX], recipe[DIGEST_HEX], seed_sha256[DIGEST_HEX];
	uint64_t bytes, virtual_bytes; /* of the volume's file; of the disk it stands for */
	char *source; /* owned; "" never: a mirror's URL, an image's URL or file */
	char source_sha256[DIGEST_HEX]; /* "" when there is no one file */
	char signer[41]; /* fingerprint; "" when it was not signed */
	char agent[32], agent_sha256[DIGEST_HEX];
	char verified
		[128]; /* what the template's own program said of itself: "2.1.0 (Claude Code)" */
	char tool[32];
	char created[32]; /* UTC, RFC 3339 */
	struct package_vec packages; /* sorted by name */
};

void manifest_done(struct manifest *m); /* safe on a zeroed one */
#define _cleanup_manifest_ _cleanup_(manifest_done)

/*
 * Read a manifest; what names it in errors. Names of volumes in it are checked to be names of such
 * volumes, since they are used as such. ERROR_INVALID.
 */
int manifest_parse(const char *bytes, size_t len, const char *what, struct manifest *ret,
	struct error *err) MUST_CHECK;

/* It is one, of a schema that a later version of box writes. */
bool manifest_is_newer(const char *bytes, size_t len);

int manifest_render(const struct manifest *m, struct str *into, struct error *err) MUST_CHECK;

/*
 * Append the software bill of materials of an image: SPDX 2.3 as JSON, with the packages of all the
 * manifests given (the golden image's and its base's). Its name is the first one's volume.
 */
int manifest_sbom(const struct manifest *const *manifests, size_t count, struct str *into,
	struct error *err) MUST_CHECK;

#endif

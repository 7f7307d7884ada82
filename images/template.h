/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Templates: what a kind of box holds. A template is a folder with a template.yaml and, if it wants
 * cloud-init to do something at a box's first boot, a user-data.yaml. Keys of template.yaml:
 *
 *	description	one line
 *	image		where the operating system comes from (struct source); default debian:13
 *	base		a shared template to stand on, instead of image: its packages are in the base layer
 *	shared		true: a template for others to stand on; no box is made of it
 *	user		the box's user
 *	cpu memory disk	resources of a box, unless asked for otherwise
 *	node		major version of Node.js and npm to install from the npm registry
 *	packages	Debian packages
 *	bake		commands that are run as root in the image while it is minted, in order
 *	verify		a command that must succeed in the finished image; its first word is the template's
 *			own program, which no other image may hold
 *	context		path (below the user's home) and text of a file that tells an agent where it is
 *
 * There is no key for a network, a device, a security flag or a folder of the host, and there must
 * never be one: the shape of a box is fixed.
 */
#ifndef IMAGES_TEMPLATE_H
#define IMAGES_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "images/place.h"

enum {
	TEMPLATE_NAME_MAX = 64,
	TEMPLATE_USER_MAX = 33,
	TEMPLATE_BYTES_MAX = 256 * 1024, /* of each of its files */
};

enum source_kind { SOURCE_DEBIAN, SOURCE_URL, SOURCE_FILE };

/* Where an operating system comes from. */
struct source {
	enum source_kind kind;
	char *release; /* owned; SOURCE_DEBIAN: "trixie", "bookworm" */
	char *location; /* owned; the URL, or the path of a local qcow2, raw or tar file */
	char *sha256, *sha512; /* owned; hex; NULL: not given */
	char *checksums; /* owned; URL of a signed list of checksums; NULL: none */
	char *key; /* owned; fingerprint of its signer, 40 hex digits */
	char *keyring; /* owned; path of the OpenPGP keyring, made absolute, that has this key */
};

VEC_DEFINE(argv_vec, struct text_vec);

struct template
{
	char name[TEMPLATE_NAME_MAX];
	char *path; /* owned; of its template.yaml */
	char *description; /* owned; "" when there is none */
	struct source source; /* of the base below, when there is one */
	struct template
		*base; /* owned; NULL: it stands on a base of its own source and nothing else */
	bool shared;
	char user[TEMPLATE_USER_MAX]; /* "" when shared */
	uint64_t cpu, memory, disk; /* count, bytes, bytes; 0: not said */
	uint64_t node; /* 0: none */
	struct text_vec packages;
	struct argv_vec bake;
	struct text_vec verify;
	char *context_path, *context_text; /* owned; both or neither */
	char *user_data; /* owned; bytes of user-data.yaml; NULL: none */
};

void template_done(struct template *t); /* safe on a zeroed one */
#define _cleanup_template_ _cleanup_(template_done)

/*
 * Find and read a template by name, with what it stands on. ERROR_NOT_FOUND names the nearest there is;
 * ERROR_USAGE for a name that cannot be one; what is wrong in a file is ERROR_INVALID with file and line.
 */
int template_load(const char *name, struct template *ret, struct error *err) MUST_CHECK;

/* Read the text of a template.yaml; path names it in errors, and is where "base" is not looked for. */
int template_parse(const char *name, const char *path, const char *text, size_t len,
	struct template *ret, struct error *err) MUST_CHECK;

/* Names of all templates, sorted, each once (the best folder wins), shared ones too. */
int template_names(struct text_vec *ret, struct error *err) MUST_CHECK;

/* The codename of Debian's release: "13" or "trixie" give "trixie". NULL when it is not one we know. */
const char *debian_release(const char *name);

#endif

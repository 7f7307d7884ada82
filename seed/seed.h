/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole seeds: from what a template and a user say to the disk that cloud-init reads. What the user
 * gives is merged over what the template says, by cloud-init itself (seed/text.h).
 */
#ifndef SEED_SEED_H
#define SEED_SEED_H

#include "base/str.h"
#include "seed/iso.h"

struct seed_spec {
	const char *user_data; /* NULL: none */
	size_t user_data_len;
	const char *template_data; /* the template's user-data.yaml; NULL: none */
	size_t template_data_len;
	const char *user_name, *template_name; /* what errors call them */
};

/* The three texts. */
struct seed {
	char *user_data, *meta_data, *network_config; /* owned */
};

void seed_done(struct seed *seed); /* safe on a zeroed one */
#define _cleanup_seed_ _cleanup_(seed_done)

/* Check what is given and make the texts. Pure. */
int seed_make(const struct seed_spec *spec, struct seed *ret, struct error *err) MUST_CHECK;

/* Append the disk with these texts to ret, which must be empty. The same texts give the same bytes. */
int seed_image(const struct seed *seed, struct str *ret, struct error *err) MUST_CHECK;

#endif

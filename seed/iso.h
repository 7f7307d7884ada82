/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NoCloud disk: an ISO 9660 image with Rock Ridge and Joliet, label CIDATA, and the three files in
 * its root. Written in process by libarchive, in milliseconds. The same texts give the same bytes, so a
 * seed can be named by its digest.
 */
#ifndef SEED_ISO_H
#define SEED_ISO_H

#include "base/error.h"
#include "base/str.h"

#define SEED_LABEL "CIDATA" /* cloud-init's NoCloud looks for cidata, in upper or lower case */

/* All lent; none may be NULL. */
struct seed_texts {
	const char *user_data;
	const char *meta_data;
	const char *network_config;
};

/* Append the whole image to ret, which must be empty. */
int seed_iso(const struct seed_texts *texts, struct str *ret, struct error *err) MUST_CHECK;

#endif

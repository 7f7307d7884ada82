/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The three texts of a NoCloud seed. Pure: structs in, text out, YAML by libyaml alone.
 *
 * The seed belongs to a template and is shared by all its boxes, so nothing in it names a box: identity
 * comes from SMBIOS ("ds=nocloud;i=ID;h=NAME"), which cloud-init merges over the meta-data here.
 */
#ifndef SEED_TEXT_H
#define SEED_TEXT_H

#include <stddef.h>

#include "base/error.h"

/* cloud-init itself has no limit for NoCloud; larger than this is no configuration any more. */
#define SEED_USER_DATA_MAX (512u * 1024)

enum seed_part_kind {
	SEED_PART_NONE = 0, /* nothing but blanks */
	SEED_PART_CLOUD_CONFIG, /* begins "#cloud-config" */
	SEED_PART_SCRIPT, /* begins "#!" */
};

/* One user-data text: a template's, or the file that a user gives for one box. */
struct seed_part {
	const char *name; /* lent; what errors call it */
	const char *text; /* lent */
	size_t len;
	enum seed_part_kind kind; /* filled by seed_part_check */
};

/*
 * See what part->text is and that cloud-init will take it: a #cloud-config whose YAML is one mapping
 * without repeated keys, of keys that cloud-init knows (seed/cloud-key.h), or a script. Everything else is ERROR_INVALID with "NAME:LINE: reason".
 */
int seed_part_check(struct seed_part *part, struct error *err) MUST_CHECK;

/*
 * The user-data of a seed from checked parts, in order; NULL and empty ones count as not there. One part
 * stands as it is; several become a multi-part message, which cloud-init itself merges in that order, so
 * that the last one wins, by its documented rules. Given (free it).
 */
char *seed_user_data(
	const struct seed_part *const *parts, size_t count, struct error *err) MUST_CHECK;

/* instance-id and hostname for a machine whose SMBIOS says nothing. Given (free it). */
char *seed_meta_data(const char *instance_id, const char *hostname, struct error *err) MUST_CHECK;

/* DHCP on every Ethernet card, IPv4 alone, with the MAC as client id. Given (free it). */
char *seed_network_config(struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys that cloud-init reads in a #cloud-config, and its modules that read them. cloud-init merely
 * warns of a key that it does not know, in a log that nobody reads: a misspelt "run_cmd" would be a
 * command that never runs. So it is refused here, before anything is made.
 */
#ifndef SEED_CLOUD_KEY_H
#define SEED_CLOUD_KEY_H

#include "base/yaml.h"

/*
 * Check the keys of a #cloud-config's mapping (YML_NONE is an empty one) and the kind of their values;
 * of runcmd, bootcmd and write_files each item too. ERROR_INVALID with "NAME:LINE: reason".
 */
int cloud_keys_check(struct yml_node root, struct error *err) MUST_CHECK;

/*
 * The lists of modules to run that these mappings need, as a #cloud-config to be put before them; images
 * of ours run only a few otherwise, which keeps boots short. Given (free it): "" when nothing is needed.
 * NULL with err.
 */
char *cloud_modules(const struct yml_node *roots, size_t count, struct error *err) MUST_CHECK;

/* One row of the table of modules, for a test that compares it with the image's configuration. */
struct cloud_module {
	const char *name;
	const char *list; /* "cloud_init_modules" */
	bool always; /* in the image's own configuration */
};
extern const struct cloud_module cloud_module_rows[];
extern const size_t cloud_module_count;

#endif

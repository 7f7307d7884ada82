/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making a warm image: a golden image is booted once, brought to usable, and its memory kept. */
#ifndef VMM_WARM_MAKE_H
#define VMM_WARM_MAKE_H

#include "vmm/warm.h"

struct warm_request {
	struct warm_fit fit;
	uint64_t disk; /* bytes: boxes of this image have at least that */
	bool anew; /* also when it is there */
	const char *tool; /* this program's version */
	struct start_watch watch;
	struct str *console; /* on failure, the last lines of the console; may be NULL */
};

/*
 * Make it, unless it is there (and anew is not asked for): *ret_made says which (may be NULL). What a killed process left of it, and one
 * that is damaged, is replaced. ERROR_BUSY when somebody else is making it. On failure nothing of it is left.
 */
int warm_make(virConnectPtr conn, const struct warm_request *request, struct warm *ret,
	bool *ret_made, struct error *err) MUST_CHECK;

#endif

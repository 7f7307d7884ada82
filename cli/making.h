/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What "new" and "run" have in common: from the words of a command line, a template or another box, to the
 * request that makes a box (vmm/new.h).
 */
#ifndef CLI_MAKING_H
#define CLI_MAKING_H

#include "cli/session.h"
#include "images/template.h"
#include "vmm/clone.h"
#include "vmm/golden.h"
#include "vmm/new.h"
#include "vmm/warm.h"

#define MAKING_DEFAULT_TEMPLATE "blank"

/* Everything that a request lends from, and the request. */
struct making {
	struct template template; /* owned */
	struct clone clone; /* owned; its source is held while it is open */
	struct golden golden;
	struct resources wish;
	struct new_request request;
	bool anew; /* for making_warm: also when it is there */
};
void making_done(struct making *making); /* safe on a zeroed one */
#define _cleanup_making_ _cleanup_(making_done)

/*
 * Fill making->request. template NULL: the default, from NULL: no clone; both are ERROR_USAGE. Also begins
 * to note signals and recovers what killed commands left (session_change). s->fault says what is missing
 * when it fails. Warns when the image is older than its template. ret is zeroed.
 */
int making_open(struct session *s, const char *template, const char *from, struct making *ret,
	struct error *err) MUST_CHECK;

/*
 * new_plan and new_box, with the warning about emulation; the console's tail is shown on failure. A mint
 * without a seed of its own starts from the warm image of its template if one fits, unless cold; if that goes
 * wrong it is booted, and a warning says so.
 */
int making_run(struct session *s, const struct making *making, bool cold, struct new_report *report,
	struct error *err) MUST_CHECK;

/*
 * Make the warm image that boxes of making's template start from when nothing else is asked for than the
 * template says, unless it is there. *ret_made says which. ret is zeroed.
 */
int making_warm(struct session *s, const struct making *making, struct warm *ret, bool *ret_made,
	struct error *err) MUST_CHECK;

#endif

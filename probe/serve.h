/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many probes through one pair of streams. Standard input has a line a probe: "ID VERB ARGUMENTS";
 * each runs at once, in a process of its own if it waits for something. Standard output begins with "box-probe 1" and then has
 *
 *	ID TEXT       a line that the probe printed
 *	ID .STATUS    the probe has ended
 *
 * "ID stop" ends that probe. End of input ends all of them, and this. IDs are 1 to SERVE_IDS_MAX.
 */
#ifndef PROBE_SERVE_H
#define PROBE_SERVE_H

#include <stdbool.h>

#include "base/error.h"

enum { SERVE_IDS_MAX = 4095, SERVE_LINE_MAX = 1024, SERVE_WORDS_MAX = 24 };

#define SERVE_HELLO "box-probe 1"

struct serve_verbs {
	/* Does argv[0]'s verb in the calling process and returns its exit status, errors printed. */
	int (*run)(int argc, char **argv);
	/* Whether this verb waits for nothing: it is then done without a process of its own. */
	bool (*is_quick)(const char *verb);
};

int serve(const struct serve_verbs *verbs, struct error *err) MUST_CHECK;

#endif

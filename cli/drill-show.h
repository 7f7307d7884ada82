/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a drill prints: a line a claim as it is decided, a closing line, and the same as JSON. */
#ifndef CLI_DRILL_SHOW_H
#define CLI_DRILL_SHOW_H

#include "base/json.h"
#include "cli/session.h"
#include "vmm/drill-site.h"

#define DRILL_SCHEMA 1

struct drill_tally {
	unsigned count[DRILL_VERDICTS];
};
struct drill_tally drill_tally(const struct drill_run *run);

/* 0 all hold, 1 one is broken, 3 none is broken and one is unknown. */
int drill_tally_status(const struct drill_tally *tally);

/* "57 hold, 0 broken, 2 unknown", into buf. */
const char *drill_tally_text(const struct drill_tally *tally, char buf[64]);

/* "holds    range-10      10.0.0.0/8 is out of reach", and why on a line below when it does not hold. */
int drill_show_claim(size_t claim, const struct drill_result *result, struct error *err) MUST_CHECK;

/* All of it: claims with their evidence, controls, host and boxes, times. */
struct drill_document {
	const struct drill_site *site;
	const struct drill_run *run;
	bool quick;
	int64_t begun; /* seconds since the epoch */
	uint64_t boxes_ms, probes_ms;
	const uint64_t *claim_ms; /* by claim: from the first probe to its verdict */
};
json_t *drill_document_json(const struct drill_document *d, struct error *err) MUST_CHECK;

#endif

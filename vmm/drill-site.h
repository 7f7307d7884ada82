/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world of a drill with real boxes: what libvirt says of the two boxes and their network, and, when the
 * boxes' host is this machine, what this machine can see. Changes nothing.
 */
#ifndef VMM_DRILL_SITE_H
#define VMM_DRILL_SITE_H

#include "net/nl.h"
#include "vmm/box.h"
#include "vmm/drill-run.h"

struct drill_site {
	virConnectPtr conn; /* lent */
	struct box box[2]; /* owned */
	struct drill_world world; /* owned */
	bool tcg; /* one of the boxes is emulated */
	bool local; /* the boxes' bridge is on this machine, in this network namespace */
	bool root; /* and we may look at all of it */
	struct nl *nl; /* owned; to the packet filter; NULL unless root */
	char kernel[80], libvirt[32],
		qemu[32]; /* versions, for the report; kernel "" when not local */
	char hostname[128]; /* of the hypervisor */
};

void drill_site_done(struct drill_site *site);
#define _cleanup_drill_site_ _cleanup_(drill_site_done)

/*
 * Both boxes run and are usable. ERROR_NOT_FOUND for one that is not there, ERROR_BUSY for one that does
 * not run. silence_ms: how long a probe waits for what must not come. ret is zeroed or done.
 */
int drill_site_open(virConnectPtr conn, const char *a, const char *b, struct drill_site *ret,
	struct error *err) MUST_CHECK;

/* As drill_ops: drop counters; needs site->nl. */
int drill_site_counters(struct drill_site *site, struct nft_counter *list, size_t max,
	size_t *ret_n, struct error *err) MUST_CHECK;

/* As drill_ops: facts about host and domains. facts: of box A, as they are by now. */
void drill_site_check(struct drill_site *site, const struct drill_facts *facts, const char *name,
	struct drill_finding *ret);

/* SHA-256, hex, of the rules that are meant for this network, as nft text. */
int drill_site_rules_digest(
	const struct drill_site *site, char hex[65], struct error *err) MUST_CHECK;

#endif

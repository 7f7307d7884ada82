/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claims that are no packet: what a box's own kernel shows ("box-probe facts"), what its domain says,
 * and what of both is as it should be. Pure. The guest's word can only break a claim, or agree with what
 * the domain says; alone it does not make one hold where the host can look.
 */
#ifndef VMM_DRILL_FACTS_H
#define VMM_DRILL_FACTS_H

#include "vmm/drill-plan.h"

enum { FACTS_LIST = 24, FACTS_WORD = 64 };

struct drill_words {
	char items[FACTS_LIST][FACTS_WORD];
	size_t count;
	bool full; /* there were more */
};

struct drill_facts {
	bool complete; /* its last line was seen */
	char hostname[FACTS_WORD], machine_id[FACTS_WORD], instance_id[FACTS_WORD];
	char dmi_uuid[FACTS_WORD], random[FACTS_WORD], random_seed[FACTS_WORD];
	struct drill_words keys; /* "TYPE TAIL" */
	struct drill_words nics; /* "NAME MAC" */
	struct drill_words addr4; /* "NAME ADDR/PREFIX" */
	struct drill_words addr6; /* the same; without those of the link alone (fe80::/10) */
	struct drill_words route6; /* "NAME" */
	struct drill_words virtio; /* "ID" */
	struct drill_words ports; /* virtio-serial ports */
	struct drill_words mounts; /* "TYPE PATH", of file systems that another machine serves */
};

/* Take in a line; what is not understood is left out. */
void drill_facts_line(struct drill_facts *facts, const char *line);

/* What the network device with this address is called; false when no device has it. */
bool drill_facts_iface(const struct drill_facts *facts, uint32_t ip, char ret[16]);

struct drill_finding {
	enum drill_answer answer; /* YES, NO or UNSEEN */
	char text[DRILL_TEXT_MAX]; /* what was seen */
};
void drill_find(struct drill_finding *f, enum drill_answer answer, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* What a domain's XML says about the claims. known is false when it could not be read. */
struct drill_domain {
	bool known;
	unsigned nics, nics_on_bridge;
	char foreign[FACTS_WORD]; /* the first thing of the host that it has; "": none */
	char listener[FACTS_WORD]; /* the first thing in it that listens on the host; "": none */
	bool no_merging; /* its memory is kept out of same-page merging */
};
int drill_domain_parse(const char *xml, struct drill_domain *ret, struct error *err) MUST_CHECK;

/* The box holds the address that is reserved for it, in the right subnet. */
void drill_check_lease(const struct drill_world *world, enum drill_place place,
	const struct drill_facts *facts, struct drill_finding *ret);

void drill_check_ipv6(const struct drill_facts *facts, struct drill_finding *ret);
void drill_check_nic(const struct drill_facts *facts, const struct drill_domain *domain,
	struct drill_finding *ret);
void drill_check_devices(const struct drill_facts *facts, const struct drill_domain *domain,
	struct drill_finding *ret);
void drill_check_identity(
	const struct drill_facts *a, const struct drill_facts *b, struct drill_finding *ret);

#endif

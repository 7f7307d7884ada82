/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this host fit for boxes? A table of checks, each with what it looks at, what it saw, and the
 * command that repairs it. Looking changes nothing. What is fixed is looked at again.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "base/json.h"
#include "cli/session.h"

enum verdict {
	VERDICT_OK,
	VERDICT_DIRTY,
	VERDICT_UNSEEN, /* cannot be seen from here: not root, another machine, no connection */
};

struct finding {
	enum verdict verdict;
	char text[1024]; /* what was seen; fit for a terminal */
	char repair[512]; /* a command or a sentence; "" when there is nothing to do */
};

struct doctor {
	struct session *session;
	virConnectPtr conn; /* lent; NULL when the host does not answer */
	bool local; /* the hypervisor is this machine */
	bool root;
};

struct check {
	const char *name; /* for --json and for the reader: "tables" */
	const char *what; /* a line about what it looks at, for the manual page */
	bool needs_virt, needs_local, needs_root; /* else VERDICT_UNSEEN without looking */
	/* See. An error becomes VERDICT_DIRTY with its text and the repair set so far. */
	int (*look)(struct doctor *d, struct finding *ret, struct error *err);
	/* Repair; NULL: only a person can. */
	int (*fix)(struct doctor *d, struct error *err);
	/* Add an object for each thing of which the line names but a few, for --json; NULL: there is no more. */
	int (*list)(struct doctor *d, json_t *into, struct error *err);
};

extern const struct check doctor_checks[];
extern const size_t doctor_check_count;

/* Fill the finding's text or repair. */
void finding_say(struct finding *f, enum verdict verdict, const char *fmt, ...) PRINTF_LIKE(3, 4);
void finding_repair(struct finding *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* cli/doctor-host.c: this machine's part of the isolation. */
int doctor_look_tables(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_fix_tables(struct doctor *d, struct error *err) MUST_CHECK;
int doctor_look_hooks(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_forward(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_fix_forward(struct doctor *d, struct error *err) MUST_CHECK;

/* cli/doctor-net.c: what this machine's network does to boxes. */
int doctor_look_subnet(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_dns(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_firewalls(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_fix_firewalls(struct doctor *d, struct error *err) MUST_CHECK;

/* cli/doctor-boxes.c: the boxes themselves. */
int doctor_look_boxes(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_ports(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_fix_ports(struct doctor *d, struct error *err) MUST_CHECK;
int doctor_look_addresses(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_disks(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_agents(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_look_strays(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;
int doctor_list_strays(struct doctor *d, json_t *into, struct error *err) MUST_CHECK;

/* cli/doctor-kvm.c: can this machine's KVM run a guest. */
int doctor_look_kvm(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;

/* cli/doctor-drill.c: what the last drill said. */
int doctor_look_drill(struct doctor *d, struct finding *ret, struct error *err) MUST_CHECK;

#endif

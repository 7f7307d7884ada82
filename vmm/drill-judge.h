/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From observations to verdicts. Pure.
 *
 *	broken    something arrived that must not, or what must be there is not; this needs no control
 *	unknown   a control failed, a probe did not run, or nothing proves that silence was ours
 *	holds     all else
 */
#ifndef VMM_DRILL_JUDGE_H
#define VMM_DRILL_JUDGE_H

#include "vmm/drill-plan.h"

enum drill_verdict {
	DRILL_HOLDS,
	DRILL_BROKEN,
	DRILL_UNKNOWN,
	DRILL_VERDICTS,
};
const char *drill_verdict_name(enum drill_verdict verdict);

/* By how much a counter moved during a round. */
struct drill_count {
	unsigned round;
	char name[48];
	uint64_t packets;
};
VEC_DEFINE(drill_counts, struct drill_count);

/* What could be seen at all. */
struct drill_scene {
	bool counters; /* the host's drop counters; counts has those that moved */
	struct drill_counts counts; /* owned */
	bool wire; /* all interfaces of the host, without a lost frame */
	bool stack; /* what the host's own stack is given, of every protocol */
};
void drill_scene_done(struct drill_scene *scene);

struct drill_result {
	enum drill_verdict verdict;
	char reason[320]; /* a sentence for people, no full stop; why, also when it holds */
	uint64_t counted, expected; /* packets by the claim's counters; expected 0: none need to */
	bool counters_seen;
};

/* Whether the control is good; if not, text says why. */
bool drill_control_judge(const struct drill_world *world, const struct drill_plan *plan,
	enum drill_control control, char text[DRILL_TEXT_MAX]);

/* The verdict on a selected claim (index of drill_claims). */
void drill_judge(const struct drill_world *world, const struct drill_plan *plan,
	const struct drill_scene *scene, size_t claim, struct drill_result *ret);

#endif

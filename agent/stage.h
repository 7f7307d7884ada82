/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the first boot has come: read from what cloud-init and `box-agent ready` write below /run,
 * again whenever inotify says that it changed. Nothing polls.
 */
#ifndef AGENT_STAGE_H
#define AGENT_STAGE_H

#include "agent/frame-field.h"
#include "agent/source.h"
#include "base/str.h"

struct stages {
	const char *root; /* lent: "" or the folder that stands for "/" in tests */
	struct source watch; /* inotify */
	enum stage_state state;
	char name[96]; /* "boot", "cloud-init modules-config", "finishing", "usable", "failed" */
	struct str text; /* of a failure: module, error, end of its output; escaped, lines kept */
	unsigned serial; /* counts changes; never 0 */
};

int stages_open(struct stages *s, const char *root, int epoll, struct error *err) MUST_CHECK;
void stages_done(struct stages *s, int epoll);

/* After s->watch became readable: look again. True when something changed. */
bool stages_step(struct stages *s);

/*
 * The fields of a STAGE frame. user (may be NULL) must exist for the state to be "usable"; without
 * him it is "failed" and says so.
 */
void stages_put(const struct stages *s, const char *user, struct str *into);

/*
 * `box-agent ready`: decide whether the first boot went well and write /run/box/ready, whose first line
 * is "usable" or "failed" and whose others are the reason.
 */
int stages_conclude(const char *root, struct error *err) MUST_CHECK;

#endif

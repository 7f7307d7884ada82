/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Into a box: what exec, shell, root, tmux and run have in common. The command's streams are ours, its
 * status is ours, signals that reach us reach it, and a terminal is used as a terminal.
 */
#ifndef CLI_ENTER_H
#define CLI_ENTER_H

#include "cli/session.h"

struct enter {
	const char *const *argv; /* NULL-terminated; NULL: the user's login shell */
	const char *user;
	uint64_t timeout_ms; /* 0: none */
	bool plain; /* without the environment of a login shell */
	bool force_tty; /* a terminal in the box even where stdin or stdout is none */
};

/*
 * Run it in the box, whose domain runs, to its end. 0: s->status is the command's own status, 124 when
 * its time ran out. -1: box is to blame; s->fault says how. The terminal is as before in each case.
 */
int enter_box(struct session *s, const struct box *box, const struct enter *enter,
	struct error *err) MUST_CHECK;

#endif

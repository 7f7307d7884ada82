/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small texts about boxes that several commands print. */
#ifndef CLI_BOX_TEXT_H
#define CLI_BOX_TEXT_H

#include <stdint.h>

#include "cli/session.h"
#include "vmm/lifecycle.h"

/* a.b.c.d into buf, returned; "" for 0. */
const char *box_address_text(uint32_t address, char buf[16]);

/* Who watches a start in this session: progress, the guest's stages, interruption. */
struct start_watch session_start_watch(struct session *s);

/* The tail of a console on stderr, indented under a heading; nothing when it is empty. */
void session_show_console(struct session *s, const struct str *tail);

/*
 * Names to work on: the call's arguments, or all boxes when the only one is "all". Given: free the
 * texts and the array with box_names_free.
 */
struct box_names {
	char **items; /* owned */
	size_t len;
};
void box_names_free(struct box_names *names);
#define _cleanup_box_names_ _cleanup_(box_names_free)
int box_names_of_call(struct session *s, const struct call *call, struct box_names *ret,
	struct error *err) MUST_CHECK;

/*
 * Do act for each name; one failure does not stop the rest. The errors of all but a single box are
 * printed as they come, and the last error says how many failed.
 */
typedef int (*box_act)(struct session *s, const char *name, void *data, struct error *err);
int box_each(struct session *s, const struct box_names *names, box_act act, void *data,
	struct error *err) MUST_CHECK;

/*
 * Before a command changes boxes: INT, TERM and HUP are noted from now on instead of killing, so that
 * what is half done is undone; and what killed commands left is finished or undone, and told.
 */
int session_change(struct session *s, struct error *err) MUST_CHECK;

#endif

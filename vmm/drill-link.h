/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of ours that serves: "box-probe serve" somewhere (in a box through "box exec", on the host
 * itself), or who keeps a box of the drill's. Lines go in, lines "ID TEXT" come out, several links are
 * waited for at once. What comes out is a stranger's: lines are bounded, and a flood only costs time.
 */
#ifndef VMM_DRILL_LINK_H
#define VMM_DRILL_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

enum { LINKS_MAX = 3, LINK_LINE_MAX = 1024, LINK_TAIL_MAX = 300 };

struct drill_link {
	const char *greeting; /* lent: the line by which it says that it serves */
	unsigned patience_ms; /* to go by itself at the end; 0: 3 seconds */
	pid_t pid; /* 0: none */
	int in, out, errs; /* its standard streams; -1: closed */
	struct str sending; /* owned: lines that it has not taken yet */
	char line[LINK_LINE_MAX]; /* the beginning of its next line */
	size_t len;
	char tail[LINK_TAIL_MAX]; /* the last of its error output, harmless */
	bool hello; /* it has said that it serves */
};

#define DRILL_LINK_INIT(hello_line)                                        \
	{                                                                  \
		.greeting = (hello_line), .in = -1, .out = -1, .errs = -1, \
	}

/* Start argv (NULL-terminated, looked up in PATH) in a process group of its own. l is initialised. */
int drill_link_open(struct drill_link *l, const char *const *argv, struct error *err) MUST_CHECK;

/* End its input, and with it all that runs there; killed when it does not go. Safe on an initial one. */
void drill_link_close(struct drill_link *l);

/* Whether it can still be talked to. */
bool drill_link_alive(const struct drill_link *l);

/* Queue a line; a newline is added. Lost when the link is not alive. */
void drill_link_send(struct drill_link *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Told of each line: of link number n, with its id. */
typedef void drill_line_fn(size_t n, unsigned id, const char *text, void *data);

/* Who waits for what. */
struct drill_wait {
	struct drill_link *links;
	size_t count; /* at most LINKS_MAX */
	int interrupt_fd; /* lent; -1: none */
	drill_line_fn *line;
	void *data;
};

/*
 * Wait at most timeout_ms for something to come or go on the links, and handle it; also answer libvirt's daemon, if
 * there is a connection. 1: something did, 0: nothing yet, the caller looks at its clock, -1: ERROR_INTERRUPTED
 * (interrupt_fd became readable), or another error.
 */
int drill_links_turn(
	const struct drill_wait *wait, unsigned timeout_ms, struct error *err) MUST_CHECK;

#endif

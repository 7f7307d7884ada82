/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start another program: an argument array, never a shell. Its standard input is /dev/null unless a
 * descriptor is given, all descriptors of ours are close-on-exec, and the tail of its stderr goes
 * into the error; what it writes is a stranger's bytes and is escaped there. It does not outlive us: when
 * we are killed it gets TERM.
 */
#ifndef BASE_RUN_H
#define BASE_RUN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct run {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	const char *const *env; /* NULL-terminated "NAME=value"; NULL: this process's environment */
	const char *cwd; /* NULL: stay */
	int stdin_fd; /* lent; 0 stands for /dev/null (a child never shares our terminal) */
	int stdout_fd; /* lent; 0: captured into output, or /dev/null when that is NULL */
	struct str *output; /* captured standard output, at most output_max bytes */
	size_t output_max; /* 0: 1 MiB */
	uint64_t timeout_ms; /* 0: none; then TERM, after 2 s KILL, to its process group */
	/*
	 * Lent; 0: none. When it becomes readable (a signal handler wrote to it), the child's process
	 * group gets TERM, and KILL after 10 s: it may have something to clean up. ERROR_INTERRUPTED,
	 * unless it still ends with status 0.
	 */
	int interrupt_fd;
	/* Called for each whole line of stderr, escaped; NULL: only the tail is kept for the error. */
	void (*line)(const char *text, void *data);
	/* Called for each line of stdout as it comes, as it is, without its newline; not with output. */
	void (*out_line)(const char *bytes, size_t len, void *data);
	void *data;
};

/*
 * Run to the end. 0 when it exited with status 0. Otherwise -1: "NAME: exit status 3: <tail>", and
 * *ret_status (may be NULL) is the exit status, 128 + n for death by signal n, or -1 when it did not
 * start. ERROR_NOT_FOUND when the program does not exist, ERROR_TIMEOUT when time ran out.
 */
int run_program(const struct run *run, int *ret_status, struct error *err) MUST_CHECK;

#endif

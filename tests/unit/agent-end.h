/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests: the real guest agent, as a process of its own, at the other end of a socket pair. */
#ifndef TESTS_UNIT_AGENT_END_H
#define TESTS_UNIT_AGENT_END_H

#include <sys/types.h>

struct agent_end {
	pid_t pid;
	int fd; /* the host's end; the test may hand it over and set -1 */
};

/* Start BOX_AGENT (a path from the build) with ports descriptors; ends[i].fd is the host's end of each. */
void agent_start(struct agent_end *ends, int ports, const char *root);

/* Close the host's ends, and wait for the agent to end by itself. Its exit status. */
int agent_stop(struct agent_end *ends, int ports);

/* The user that runs this test. */
const char *agent_user(void);

/* The size of the process's resident memory, in KiB. */
long agent_memory_kib(pid_t pid);

#endif

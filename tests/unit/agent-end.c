/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/agent-end.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test.h"

void agent_start(struct agent_end *ends, int ports, const char *root)
{
	char *argv[2 * 16 + 3] = { (char *)BOX_AGENT, (char *)"serve" };
	char numbers[16][16];
	int theirs[16];
	pid_t pid;

	assert_in_range(ports, 1, 16);
	for (int i = 0; i < ports; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		ends[i].fd = pair[0];
		theirs[i] = pair[1];
		(void)snprintf(numbers[i], sizeof(numbers[i]), "%d", pair[1]);
		argv[2 + 2 * i] = (char *)"--fd";
		argv[3 + 2 * i] = numbers[i];
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < ports; i++)
			(void)fcntl(theirs[i], F_SETFD, 0);
		if (root)
			(void)setenv("BOX_ROOT", root, 1);
		(void)execv(BOX_AGENT, argv);
		_exit(99);
	}
	for (int i = 0; i < ports; i++) {
		(void)close(theirs[i]);
		ends[i].pid = pid;
	}
}

int agent_stop(struct agent_end *ends, int ports)
{
	int status = 0;

	for (int i = 0; i < ports; i++) {
		if (ends[i].fd >= 0)
			(void)close(ends[i].fd);
		ends[i].fd = -1;
	}
	assert_int_equal(waitpid(ends[0].pid, &status, 0), ends[0].pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

const char *agent_user(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	assert_non_null(pw);
	return pw->pw_name;
}

long agent_memory_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "VmHWM: %ld", &kib);
	if (f)
		(void)fclose(f);
	return kib;
}

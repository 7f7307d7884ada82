/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/become.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

void become(const char *name, char **argv, char path[BECOME_PATH])
{
	ssize_t len = readlink("/proc/self/exe", path, BECOME_PATH - 1);
	char *slash;

	if (len > 0) {
		path[len] = '\0';
		slash = strrchr(path, '/');
		if (slash && (size_t)(slash - path) + strlen(name) + 2 <= BECOME_PATH) {
			memcpy(slash + 1, name, strlen(name) + 1);
			execv(path, argv);
		}
	}
	(void)snprintf(path, BECOME_PATH, "%s/%s", BOX_LIBEXECDIR, name);
	execv(path, argv);
}

int become_main(char **argv)
{
	char path[BECOME_PATH];

	become("box-main", argv, path);
	(void)fprintf(stderr, "box: cannot start '%s': %s; is box installed completely?\n", path,
		strerror(errno));
	return 1;
}

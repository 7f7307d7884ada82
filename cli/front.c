/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program "box" that people start. It answers --version itself and becomes box-main for all else.
 *
 * Why two: a program linked with libvirt spends 10 to 20 ms in the start-up of some sixty shared
 * libraries before its main. This one is linked with libc alone and costs the other about 1 ms
 * (docs/decisions/0010-front-program.md has the figures). It decides nothing: no option, no environment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

enum { PATH_BYTES = 4096 };

static int is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	       strcmp(word, "version") == 0;
}

/* Beside this program, as in a build tree; else where it is installed. */
static void become_main(char **argv, char *path, size_t size)
{
	static const char name[] = "box-main";
	ssize_t len = readlink("/proc/self/exe", path, size - sizeof(name));
	char *slash;

	if (len > 0) {
		path[len] = '\0';
		slash = strrchr(path, '/');
		if (slash) {
			memcpy(slash + 1, name, sizeof(name));
			execv(path, argv);
		}
	}
	snprintf(path, size, "%s/%s", BOX_LIBEXECDIR, name);
	execv(path, argv);
}

int main(int argc, char **argv)
{
	char path[PATH_BYTES];

	if (argc == 2 && is_version(argv[1]))
		return puts("box " BOX_VERSION) < 0 || fflush(stdout) != 0;
	become_main(argv, path, sizeof(path));
	fprintf(stderr, "box: cannot start '%s': %s; is box installed completely?\n", path,
		strerror(errno));
	return 1;
}

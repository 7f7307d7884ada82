/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program "box" that people start. It answers --version itself and becomes another for all else:
 * box-exec for "box exec", box-main for the rest.
 *
 * Why several: a program linked with libvirt spends 10 to 20 ms in the start-up of some sixty shared
 * libraries before its main. This one is linked with libc alone and costs the others about 1 ms
 * (docs/decisions/0010-front-program.md has the figures), and box-exec does without libvirt's library
 * (0013). This one decides nothing: no option, no environment.
 */
#include <stdio.h>
#include <string.h>

#include "cli/become.h"
#include "config.h"

static int is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	       strcmp(word, "version") == 0;
}

int main(int argc, char **argv)
{
	char path[BECOME_PATH];

	if (argc == 2 && is_version(argv[1]))
		return puts("box " BOX_VERSION) < 0 || fflush(stdout) != 0;
	/* When it is not there, box-main can do the same. */
	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		become("box-exec", argv, path);
	return become_main(argv);
}

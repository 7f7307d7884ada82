/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becoming another of box's programs. Linked with libc alone: cli/front.c says why. */
#ifndef CLI_BECOME_H
#define CLI_BECOME_H

#include <stddef.h>

enum { BECOME_PATH = 4096 };

/*
 * Execute the program of this name: beside the one that runs, as in a build tree and in libexec; else where
 * it is installed. Returns only when neither is there, with errno and the last path that was tried.
 */
void become(const char *name, char **argv, char path[BECOME_PATH]);

/* The same for box-main, which has to be there: says so when it is not. Returns an exit status. */
int become_main(char **argv);

#endif

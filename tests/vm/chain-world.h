/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world of chain-crash.c: the bare box web on libvirt's connection, whose pool is a file system of its
 * own. It is made, broken and looked at here. Failures end the program.
 *
 * Slot 0 of web's disk had 1 when snapshot a was taken, 2 at b, and has 3 now. A deep one has layers without a
 * name between b's and its top, and markers in some of them, which show in its other slots.
 */
#ifndef TESTS_VM_CHAIN_WORLD_H
#define TESTS_VM_CHAIN_WORLD_H

#include "tests/vm/bare-box.h"

/* No other box is there, nor anything of one. */
struct wanted {
	const char *name; /* NULL: this one is not there either */
	bool running;
	unsigned char value; /* in slot 0 */
	const char *labels; /* each a character */
};

void world_open(void);
void world_close(void);

/* web with a and b, and so many layers without a name under its top. Boxes of before are removed. */
void world_make(unsigned deep, bool running);
void world_remove(void);

/* It is this, in name, power, snapshots and content, and nothing is half done. */
bool world_is(const struct wanted *w, unsigned deep);

/*
 * What is left over of it or of another box, or wrong in its layers; NULL: nothing. *ret_nameless: how many layers
 * in its chains have no name and are not its top.
 */
const char *world_leftover(const struct wanted *w, size_t *ret_nameless);

/* Its snapshot has a memory. */
bool world_has_memory(const char *name, const char *label);

/* SIGKILL for libvirtd, and another one. */
void world_restart_libvirtd(void);

/* Not one block is left in the pool's file system; and again there are some. */
void world_fill_pool(void);
void world_empty_pool(void);

#endif

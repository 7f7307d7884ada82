/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boxes without an operating system, for programs that test disks in the lab: made in no time, and what
 * "the guest" writes is written by qemu-io. bare.sh is the same for scripts. Failures end the program.
 */
#ifndef TESTS_VM_BARE_BOX_H
#define TESTS_VM_BARE_BOX_H

#include "vmm/clone.h"

enum { BARE_SLOTS = 8, BARE_SLOT_KIB = 64 };

#define BARE_GOLDEN "golden-bare-0123456789abcdef.qcow2"
#define BARE_SEED "seed-0123456789abcdef.iso"
#define BARE_FOLDER "/var/lib/libvirt/images/box"

/* A marker (1 to 255, 0: nothing was written) in each slot of a disk. */
struct bare_content {
	unsigned char slot[BARE_SLOTS];
};

/* Say what went wrong and exit with status 1. */
void bare_die(const char *fmt, ...) PRINTF_LIKE(1, 2) NORETURN;

/* Run a program; its status, at most timeout seconds. quiet: its stderr is not wanted. */
int bare_run(const char *const *argv, const char *const *env, bool quiet);

/* A stopped box on the golden image, or on the clone's layer (then it is a clone). */
void bare_new(virConnectPtr conn, virStoragePoolPtr pool, const char *name, struct clone *clone);

/* Write a marker: by QEMU if the box runs. */
void bare_put(virConnectPtr conn, const char *name, unsigned slot, unsigned char value);

/* True if the file has this content; path is that of a layer. */
bool bare_same(const char *path, const struct bare_content *wanted);

/* Make what a running box has written readable from outside. */
void bare_flush(const char *name);

#endif

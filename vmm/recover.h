/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * After a process was killed in the middle of an operation: metadata says which one it was
 * (meta_operation), the lock that it left says that it is dead. For each operation there is a row in
 * recover.c with the function that finishes or undoes it. Such a function can itself be killed at any
 * point and be called again.
 */
#ifndef VMM_RECOVER_H
#define VMM_RECOVER_H

#include "vmm/hold.h"

/*
 * Finish or undo what the metadata of the held box says; nothing to do is a success. ERROR_NOT_FOUND
 * "no such box" when the box is gone by that, ERROR_INVALID for an operation of a newer version.
 */
int box_recover(struct box_hold *hold, struct error *err) MUST_CHECK;

/*
 * Do that for every box of which a dead process left the lock: one call of libvirt when there is none.
 * Every command that changes something calls it first. Best effort: what fails is told and stays for
 * the next time. told (may be NULL) gets a line for people: "finished removing box 'web', which ...".
 */
void recover_all(virConnectPtr conn, virStoragePoolPtr pool,
	void (*told)(const char *text, void *data), void *data);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One operation at a time on one box, among all clients of its libvirtd. A lock is an empty volume in
 * the pool whose name says whose it is and who holds it; lock.c explains the protocol. Operations on
 * different boxes do not meet. Reading (list, info, exec) takes no lock.
 *
 * A process that died holding a lock leaves it behind. On the machine where it ran this is seen, and
 * the lock can be taken over; what it left half done is in the box's metadata (struct meta_operation),
 * so whoever takes a lock reads the metadata afterwards and recovers first (vmm/recover.h).
 */
#ifndef VMM_LOCK_H
#define VMM_LOCK_H

#include <sys/types.h>

#include "base/vec.h"
#include "vmm/domain-xml.h"
#include "vmm/pool.h"

#define LOCK_WAIT_MS 10000 /* what a command waits for another one before it refuses */

/* Who holds a lock, as its volume's name says. */
struct lock_holder {
	char uuid[DOMAIN_UUID_TEXT];
	uint64_t since; /* milliseconds since the epoch, on the holder's clock */
	pid_t pid;
	uint64_t start; /* the process's start time: pids are used again */
	char machine[17]; /* beginning of the machine-id; "0" when it has none */
	char boot[17]; /* beginning of the kernel's boot id */
	uint64_t pidns; /* inode of the pid namespace */
	char who[96]; /* user@host, for people */
};
VEC_DEFINE(lock_holders, struct lock_holder);

enum lock_state {
	LOCK_ALIVE, /* its process runs here */
	LOCK_DEAD, /* it ran here and is gone */
	LOCK_ELSEWHERE, /* another machine or container: cannot be seen from here */
};

struct box_lock; /* a lock that we hold */

/*
 * Take the lock of the box with this UUID; name is for messages. Waits up to wait_ms for a holder that
 * is not dead, then ERROR_BUSY: who holds it and since when. Dead holders' locks are removed.
 */
struct box_lock *lock_take(virStoragePoolPtr pool, const char *uuid, const char *name,
	uint64_t wait_ms, struct error *err) MUST_CHECK;

/* Give it back; NULL is fine. Cannot fail: what stays behind is a dead holder's lock. */
void lock_release(struct box_lock *lock);
DEFINE_CLEANUP(struct box_lock *, lock_release);

/* "ann@desk pid 71", as meta_operation wants it. */
const char *lock_who(const struct box_lock *lock);

/* All locks in the pool. */
int lock_list(virStoragePoolPtr pool, struct lock_holders *ret, struct error *err) MUST_CHECK;

/* What can be said about a holder from here. */
enum lock_state lock_judge(const struct lock_holder *holder);

/* ---- pure: the volume's name ---- */

void lock_name_format(const struct lock_holder *holder, char name[POOL_NAME_MAX]);

/* False when the name is not a lock's. */
bool lock_name_parse(const char *name, struct lock_holder *ret);

/* This process. */
int lock_self(const char *uuid, struct lock_holder *ret, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making a box from a golden image, or as a clone of another box. Everything that can be refused is refused by new_plan, before
 * anything is created; new_box then either gives a usable box or leaves the world as it was, also when
 * it is killed (the next command takes away what there is).
 */
#ifndef VMM_NEW_H
#define VMM_NEW_H

#include "vmm/lifecycle.h"
#include "vmm/resources.h"

#define NEW_POOL_RESERVE (1ull << 30) /* bytes that the pool must have left for a box to begin */

/* The image that a box stands on. */
struct new_image {
	char template[64];
	char user[33];
	char volume[META_VOLUME_MAX]; /* the golden layer */
	char digest[65]; /* of its content; "" when unknown */
	char agent[32]; /* version of the guest agent in it; "" when unknown */
	char seed[META_VOLUME_MAX]; /* the template's seed volume */
};

struct clone; /* vmm/clone.h */
struct warm; /* vmm/warm.h */

struct new_request {
	const char
		*name; /* NULL: one is chosen, after stem, or the template or the clone's source */
	const char *stem;
	const struct new_image *image; /* of a clone: its source's */
	struct clone
		*clone; /* lent; NULL: a mint. new_box lets go of the source as soon as it can */
	struct resources_wish flags;
	const struct resources *template; /* what the template says; members 0: not said */
	const struct warm
		*warm; /* lent: start from it; what goes wrong with that ends in a cold boot */
	const char *layer; /* name of its disk's layer; NULL: the box's own first one */
	const void *seed; /* a seed ISO of the box's own; NULL: the template's */
	size_t seed_len;
	bool ephemeral; /* goes with the process that holds it: new_box keeps the lock */
	struct start_watch watch;
};

/* What is going to be made. */
struct new_plan {
	char name[BOX_NAME_MAX]; /* one that was chosen may become another */
	struct resources resources;
	bool tcg;
};

/*
 * Check the request against the host. ERROR_EXISTS when the name is taken, by a box or another domain
 * alike; ERROR_USAGE or ERROR_FAILED for resources that the host cannot give; ERROR_NO_SPACE;
 * ERROR_NOT_FOUND when the host is not set up or the image's volumes are not there.
 */
int new_plan(virConnectPtr conn, const struct new_request *request, struct new_plan *ret,
	struct error *err) MUST_CHECK;

/* What came of it. */
struct new_report {
	char name[BOX_NAME_MAX];
	uint32_t address;
	struct error cold; /* of a box that should have started warm and was booted: why */
	bool refused; /* libvirt or QEMU did not take the memory image, or it is damaged */
	struct str console; /* owned: on failure, the last lines of the console, made harmless */
	struct box_hold hold; /* owned: with ephemeral, the box's lock; give it to box_discard */
};
void new_report_done(struct new_report *report);
#define _cleanup_new_report_ _cleanup_(new_report_done)

/* Make it. report is zeroed; its console is filled on failure too. */
int new_box(virConnectPtr conn, const struct new_request *request, const struct new_plan *plan,
	struct new_report *report, struct error *err) MUST_CHECK;

/* ---- pure ---- */

/* "<base>-<n>" with the lowest n from 1 that is not among the names. */
void new_choose_name(
	const char *base, const char *const *names, size_t count, char name[BOX_NAME_MAX]);

#endif

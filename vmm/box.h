/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A box: a persistent libvirt domain with our mark in its metadata. Finding one, listing them, reading
 * and changing what its metadata remembers. Starting and stopping is vmm/power.h, making vmm/new.h,
 * removing vmm/remove.h. The states and what holds in each are at the top of box.c.
 */
#ifndef VMM_BOX_H
#define VMM_BOX_H

#include "base/vec.h"
#include "vmm/domain-xml.h"
#include "vmm/metadata.h"
#include "vmm/virt.h"

#define BOX_NAME_MAX 64 /* a box's name with its NUL */

enum box_state {
	BOX_STOPPED,
	BOX_RUNNING,
	BOX_PAUSED, /* QEMU is there and stands still: suspended, or a disk is full */
};

struct box {
	virDomainPtr dom; /* owned */
	char name[BOX_NAME_MAX];
	char uuid[DOMAIN_UUID_TEXT];
	struct box_meta meta; /* owned */
};

void box_done(struct box *box);
#define _cleanup_box_ _cleanup_(box_done)

/* "running", "stopped", "paused". */
const char *box_state_name(enum box_state state);

/*
 * Find the box of this name. A domain that does not exist and one without our mark give the same
 * error: ERROR_NOT_FOUND "no such box: NAME". ERROR_INVALID when its metadata is damaged. ret must be
 * zeroed or done; box_done it.
 */
int box_find(virConnectPtr conn, const char *name, struct box *ret, struct error *err) MUST_CHECK;

/* The same by UUID, for recovery. */
int box_find_uuid(
	virConnectPtr conn, const char *uuid, struct box *ret, struct error *err) MUST_CHECK;

/* Read metadata again, after the lock was taken: it may have changed meanwhile. */
int box_reload(struct box *box, struct error *err) MUST_CHECK;

int box_get_state(const struct box *box, enum box_state *ret, struct error *err) MUST_CHECK;

/*
 * Write meta into the domain: into the definition, and into the live domain when it runs, and make it
 * box->meta. On failure box->meta is as before. The caller holds the lock. ERROR_INVALID for a newer
 * schema.
 */
int box_save(struct box *box, const struct box_meta *meta, struct error *err) MUST_CHECK;

/* Set or clear (op NULL) the operation in progress: box_save with nothing else changed. */
int box_set_operation(
	struct box *box, const struct meta_operation *op, struct error *err) MUST_CHECK;

/* ---- lists ---- */

struct box_row {
	char name[BOX_NAME_MAX];
	char uuid[DOMAIN_UUID_TEXT];
	enum box_state state;
	bool damaged; /* our mark is there, its content is not readable: meta is empty */
	bool confined; /* see box_hardware; not looked at when damaged */
	struct box_meta meta; /* owned */
};
VEC_DEFINE(box_rows, struct box_row);
void box_rows_free(struct box_rows *rows);
#define _cleanup_box_rows_ _cleanup_(box_rows_free)

/* What a person can do with one whose metadata is damaged; of its name twice, and its UUID. */
#define BOX_DAMAGED_WAY_OUT                                                                    \
	"virsh edit %s mends it; to give it up: virsh undefine --managed-save %s (its layers " \
	"box-%s-* in pool 'box' stay, since clones may stand on them)"

/* What to show as its state: "damaged", the operation in progress, or the state. Lent. */
const char *box_row_state(const struct box_row *row);

/* All boxes, by name. One call of libvirt, and one more for each domain. */
int box_list(virConnectPtr conn, struct box_rows *ret, struct error *err) MUST_CHECK;

/* ---- what only the domain's XML knows ---- */

struct box_hardware {
	unsigned cpus;
	uint64_t memory; /* bytes */
	bool tcg; /* emulated: no security boundary */
	bool confined; /* one NIC, on boxnet, isolated, with the tap it was given; no opening */
	char mac[DOMAIN_MAC_TEXT];
	char disk[512]; /* hypervisor's path of the top layer */
	char seed[512]; /* and of the seed; "" when it has none any more */
};

int box_hardware(const struct box *box, struct box_hardware *ret, struct error *err) MUST_CHECK;

/* The pure parts of it. tap is what the metadata says. */
int box_confined(struct xml *domain, const char *tap, bool *ret, struct error *err) MUST_CHECK;
int box_hardware_parse(const char *domain_xml, const char *tap, struct box_hardware *ret,
	struct error *err) MUST_CHECK;

#endif

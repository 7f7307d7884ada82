/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change a box's definition in place: what is ours to change is replaced, what others (virsh edit) have
 * put in stays. Pure; tested in tests/unit/vmm/test-domain-edit.c.
 */
#ifndef VMM_DOMAIN_EDIT_H
#define VMM_DOMAIN_EDIT_H

#include "base/error.h"
#include "vmm/metadata.h"

/* What is NULL stays as it is. All lent. */
struct domain_change {
	const char *disk; /* path of the box's disk, as the hypervisor sees it */
	const struct box_meta *meta;
	const char *name; /* of the domain; the guest's hostname and the console log follow */
};

/*
 * The definition with the changes, given (free it). The disk's chain is taken out of it in any case:
 * libvirt writes it in when it makes a live snapshot, and would believe it rather than the volumes'
 * headers at the next start. ERROR_INVALID when it is no box's definition.
 */
char *domain_edit(
	const char *xml, const struct domain_change *change, struct error *err) MUST_CHECK;

#endif

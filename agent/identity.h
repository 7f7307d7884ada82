/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who this guest is: hostname, machine-id, SSH host keys, random seed, cloud-init's instance-id, MAC
 * and lease, clock. A clone must differ from its source in each of them before its network comes up.
 *
 * Two ways lead here. At a cold boot `box-agent identity --boot` runs before the network and compares
 * the machine's DMI UUID with the one this file system was last given (/var/lib/box/identity); the new
 * name and instance-id are in SMBIOS. After a memory restore the guest cannot see that it is another
 * machine now, so the host says so with an IDENTITY request.
 *
 * Items, in the order in which they are applied (the value that the host gives; "new" makes one):
 *
 *	uuid            the domain's UUID; recorded
 *	seed            hex, at least 32 bytes: credited to the kernel's random generator; new seed file
 *	clock           seconds[.fraction] of UTC
 *	hostname        kernel, /etc/hostname, /etc/hosts
 *	machine-id      new, or 32 hex digits
 *	instance-id     renames cloud-init's instance, so that once-per-instance work is not done again
 *	mac             aa:bb:cc:dd:ee:ff for the first network device
 *	address         wait until this address (or "any") is there; renew the lease if it does not come by itself
 *	ssh-host-keys   new; the old ones are removed before anything else, so that they never meet the new MAC,
 *	                and made while the other items are applied, from the seed on
 *
 * The answer has each item's value as it is afterwards, read back, or its error; and how long it took, as
 * usec.NAME.
 */
#ifndef AGENT_IDENTITY_H
#define AGENT_IDENTITY_H

#include "agent/frame-field.h"
#include "base/str.h"

/*
 * Apply the items of an IDENTITY request, and append those of its ANSWER to into. root is "", or a
 * folder with a copy of what is changed (tests): then the running kernel is left alone. An error means
 * that the request is malformed and nothing was done; an item that fails is in the answer.
 */
int identity_apply(const char *root, const void *request, size_t len, struct str *into,
	struct error *err) MUST_CHECK;

/*
 * At boot. Does nothing when this file system belongs to this machine already. Otherwise gives it the
 * machine's identity and records that; a clone gets all of it, a freshly minted image (nothing is
 * recorded yet) only what it lacks. An error names the items that failed; the others are done.
 */
int identity_boot(const char *root, struct error *err) MUST_CHECK;

/* Append items "identity.NAME" of what is recorded, for INFO. */
void identity_put_record(const char *root, struct str *into);

#endif

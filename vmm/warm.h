/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Warm images: a golden image that was booted once, so that boxes of it need not boot. What belongs to one
 * is in images/warm-record.h. Finding the one that fits, and starting a box from it; making one is
 * vmm/warm-make.h.
 */
#ifndef VMM_WARM_H
#define VMM_WARM_H

#include "images/warm-record.h"
#include "vmm/memory-image.h"
#include "vmm/new.h"

struct warm {
	struct warm_names names;
	struct warm_record record; /* owned */
};
void warm_done(struct warm *warm); /* safe on a zeroed one */
#define _cleanup_warm_ _cleanup_(warm_done)

/* What a memory image has to fit: the golden image and the machine. */
struct warm_fit {
	const struct new_image *image;
	unsigned cpus;
	uint64_t memory; /* bytes */
	bool tcg;
};

/*
 * The digest of all of that, and of what the host is: versions of libvirt and QEMU, what they offer to a
 * guest (machine types, CPU models and features), and the shape that boxes have.
 */
int warm_key(virConnectPtr conn, const struct warm_fit *fit, char key[DIGEST_HEX],
	struct error *err) MUST_CHECK;

/*
 * The warm image that fits, with all its volumes there: 1; 0 when there is none; -1. One whose record
 * cannot be read, or whose volumes are not what it says, is -1 with ERROR_INVALID. ret is zeroed.
 */
int warm_find(virConnectPtr conn, virStoragePoolPtr pool, const struct warm_fit *fit,
	struct warm *ret, struct error *err) MUST_CHECK;

/* The warm image whose record this volume is, whatever it fits. ERROR_INVALID when it is no record. ret is zeroed. */
int warm_read(
	virStoragePoolPtr pool, const char *record, struct warm *ret, struct error *err) MUST_CHECK;

/* The digests of layer and memory as the pool has them now, put into its record. */
int warm_digest(virStoragePoolPtr pool, struct warm *warm, pool_progress progress, void *data,
	struct error *err) MUST_CHECK;

/* Read all of it and compare it with its record. ERROR_INVALID: it is another one, and the text says what. */
int warm_verify(virStoragePoolPtr pool, const struct warm *warm, pool_progress progress, void *data,
	struct error *err) MUST_CHECK;

/* Take record and memory away: it is not found any more. Its layer stays for those who stand on it. */
int warm_forget(
	virStoragePoolPtr pool, const struct warm_names *names, struct error *err) MUST_CHECK;

/* The memory image of it, lent. */
struct memory_image warm_memory(const struct warm *warm);

#endif

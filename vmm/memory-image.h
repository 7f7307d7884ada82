/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memory image: a volume of the pool in libvirt's save format, from which boxes are restored, each
 * under its own identity. It is never copied: its header is rewritten in place for each box, one at a
 * time, and what follows the header is never written.
 */
#ifndef VMM_MEMORY_IMAGE_H
#define VMM_MEMORY_IMAGE_H

#include "vmm/box.h"
#include "vmm/pool.h"

struct memory_image {
	const char *volume;
	uint64_t bytes; /* of the file */
	uint32_t data_len, compressed; /* as it was saved */
	const char *cookie; /* NULL: none */
};

/*
 * Write the memory and device state of the running domain into the volume, which must not exist, and end
 * it. Its disk is at rest from then on. *ret_cookie (free it) and the numbers of *ret say what
 * memory_image_restore has to know; ret->volume is lent from the caller, ret->cookie is not set.
 */
int memory_image_save(virStoragePoolPtr pool, virDomainPtr dom, const char *volume,
	struct memory_image *ret, char **ret_cookie, struct error *err) MUST_CHECK;

/* The second half of that: what a volume that libvirt has written says of itself. */
int memory_image_describe(virStoragePoolPtr pool, const char *volume, struct memory_image *ret,
	char **ret_cookie, struct error *err) MUST_CHECK;

/*
 * Whether the volume is what it was when it was saved, as far as its size and header tell. ERROR_INVALID
 * with the reason when it is not, ERROR_NOT_FOUND when it is gone.
 */
int memory_image_check(
	virStoragePoolPtr pool, const struct memory_image *image, struct error *err) MUST_CHECK;

/*
 * Start the stopped box from the image: it goes on where the saved machine was. Its definition must
 * describe the same machine as the saved one's, but for name, UUID, disk and the like. Waits for others
 * that restore from the same image.
 */
int memory_image_restore(virStoragePoolPtr pool, const struct memory_image *image, struct box *box,
	struct error *err) MUST_CHECK;

#endif

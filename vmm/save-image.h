/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header of a libvirt save image (the file that virDomainSave writes), read and rewritten.
 *
 * Purpose: to restore one memory image under another identity. `virsh restore --xml` refuses a domain
 * XML with another name or UUID; a file whose header carries the new XML from the start is accepted by
 * plain virDomainRestore. This is the only file of the program that knows the format; it knows version
 * 2 as libvirt 6 to 11 write it (source: libvirt's qemu_saveimage.h) and refuses everything else, so
 * that its callers can fall back to a cold boot.
 *
 * Layout, all words 32 bits, little-endian on the machines this program runs on:
 *   16 bytes magic "LibvirtQemudSave"; version; data length; was running; compression;
 *   cookie offset; 14 spare words (92 bytes in all); then data-length bytes: domain XML, NUL,
 *   cookie XML, NUL, padding; then QEMU's migration stream.
 */
#ifndef VMM_SAVE_IMAGE_H
#define VMM_SAVE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum {
	SAVE_IMAGE_HEADER = 92, /* bytes before the XML */
	SAVE_IMAGE_DATA_MAX = 16 * 1024 * 1024, /* no honest domain XML comes near it */
};

struct save_image {
	uint32_t data_len; /* bytes between the header and QEMU's stream */
	bool was_running;
	uint32_t compressed; /* 0: raw */
	const char *xml; /* lent from the bytes that were read; NUL-terminated */
	const char *cookie; /* lent; NULL: there is none */
};

/*
 * How many bytes from the file's start save_image_read needs, given its first SAVE_IMAGE_HEADER bytes.
 * ERROR_INVALID: not a save image, one that is still being written, of another version, or corrupt.
 */
int save_image_size(const uint8_t *bytes, size_t len, size_t *ret, struct error *err) MUST_CHECK;

/* Read header and data. bytes must outlive *ret. ERROR_INVALID as above. */
int save_image_read(
	const uint8_t *bytes, size_t len, struct save_image *ret, struct error *err) MUST_CHECK;

/*
 * The bytes that replace the file's beginning (exactly SAVE_IMAGE_HEADER + image->data_len of them, so
 * that QEMU's stream stays where it is) for a domain described by xml, with the same cookie.
 * ERROR_INVALID when xml and cookie do not fit the room that the image has.
 */
int save_image_rewrite(const struct save_image *image, const char *xml, bool running,
	struct str *ret, struct error *err) MUST_CHECK;

#endif

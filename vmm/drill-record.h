/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of a drill: a file of the user's, and a copy in the pool, so that "info" and "doctor" know
 * of the last drill from wherever they are called. There is no host-side database; the copy is a volume
 * whose name has what is shown:
 *
 *	drill-<seconds since the epoch>-<holds>-<broken>-<unknown>-<8 hex of the box's UUID>.json
 */
#ifndef VMM_DRILL_RECORD_H
#define VMM_DRILL_RECORD_H

#include "base/json.h"
#include "vmm/pool.h"

#define DRILL_THROW_AWAY "00000000" /* in place of a UUID: both boxes were made for the drill */

struct drill_last {
	int64_t when; /* seconds since the epoch; 0: never drilled */
	unsigned holds, broken, unknown;
	char box[9]; /* the first 8 hex digits of the UUID of the box under test */
};

/* Pure: the volume's name, and back (false: it is no such name). */
void drill_record_name(const struct drill_last *last, char name[POOL_NAME_MAX]);
bool drill_record_parse(const char *name, struct drill_last *ret);

/*
 * Sign the document off ("signed_off": who, when, and the SHA-256 of the rest), write it to the file at
 * path and into the pool, and remove older copies there. ERROR_* name the file or the pool.
 */
int drill_record_write(virConnectPtr conn, const char *path, json_t *document, const char *uuid,
	struct error *err) MUST_CHECK;

/* The last drill that the pool knows: of that box (its UUID), or of any when uuid is NULL. */
int drill_record_last(virStoragePoolPtr pool, const char *uuid, struct drill_last *ret,
	struct error *err) MUST_CHECK;

/* "2026-01-02T03:04:05Z: 57 hold, 0 broken, 2 unknown", appended. */
void drill_last_format(const struct drill_last *last, struct str *into);

#endif

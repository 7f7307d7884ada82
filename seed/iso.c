/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: libarchive stamps the volume descriptors and the root folder with the time of writing. Bytes
 * that depend on the clock would give every mint a seed of another name, so these stamps are set to a
 * fixed time afterwards: the descriptors are the sectors from 16 up to the terminator (ECMA-119, 8.1),
 * their four times stand at byte 813 and their root folder's record at byte 156; Rock Ridge repeats
 * the root's time in the first record of the folder itself ("TF" entry). The sector behind the
 * terminator holds a line "INFO" with date and options, for people only; it is emptied.
 */
#include "seed/iso.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
	SECTOR = 2048,
	FIRST_DESCRIPTOR = 16,
	TERMINATOR = 255,
	AT_ROOT_RECORD = 156,
	AT_TIMES = 813,
	TIME_LEN = 17,
	FIXED_TIME = 1577836800, /* 2020-01-01T00:00:00Z, an arbitrary moment */
};

static int error_archive(struct error *err, struct archive *a)
{
	const char *text = archive_error_string(a);

	return error_set(
		err, ERROR_FAILED, "cannot write the seed: %s", text ? text : "unknown error");
}

static void archive_done(struct archive *a)
{
	(void)archive_write_free(a);
}
DEFINE_CLEANUP(struct archive *, archive_done);
DEFINE_CLEANUP(struct archive_entry *, archive_entry_free);

static la_ssize_t append(struct archive *a, void *data, const void *bytes, size_t len)
{
	struct str *out = data;

	str_append_len(out, bytes, len);
	if (out->failed) {
		archive_set_error(a, ENOMEM, "out of memory");
		return -1;
	}
	return (la_ssize_t)len;
}

static int put_file(struct archive *a, const char *name, const char *text, struct error *err)
{
	_cleanup_(archive_entry_free_p) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return error_oom(err);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0444);
	archive_entry_set_size(entry, (la_int64_t)strlen(text));
	archive_entry_set_mtime(entry, FIXED_TIME, 0);
	archive_entry_set_atime(entry, FIXED_TIME, 0);
	archive_entry_set_ctime(entry, FIXED_TIME, 0);
	if (archive_write_header(a, entry) != ARCHIVE_OK ||
		archive_write_data(a, text, strlen(text)) != (la_ssize_t)strlen(text))
		return error_archive(err, a);
	return 0;
}

/* Seven bytes of a record's time (ECMA-119, 9.1.5) and seventeen of a descriptor's (8.4.26.1). */
static const uint8_t record_time[7] = { 120, 1, 1, 0, 0, 0, 0 };
static const char descriptor_time[] = "2020010100000000";

/* Creation, modification and "effective from"; the one between, expiry, is left unset. */
static const unsigned descriptor_times[] = { 0, 1, 3 };

/* The time of a folder's record and of its Rock Ridge TF entry, which follows it in system use. */
static void fix_record(uint8_t *record, size_t len)
{
	size_t at;

	if (len < 34 || record[0] < 34 || record[0] > len)
		return;
	memcpy(record + 18, record_time, sizeof(record_time));
	at = 33u + record[32] + !(record[32] & 1);
	while (at + 5 <= record[0] && record[at + 2] >= 4 && at + record[at + 2] <= record[0]) {
		if (memcmp(record + at, "TF", 2) == 0)
			for (size_t t = at + 5; t + 7 <= at + record[at + 2]; t += 7)
				memcpy(record + t, record_time, sizeof(record_time));
		at += record[at + 2];
	}
}

static uint32_t little32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The folder's first two records stand for itself and for its parent, which is itself for a root. */
static void fix_folder(uint8_t *image, size_t len, const uint8_t *root_record)
{
	size_t at = (size_t)little32(root_record + 2) * SECTOR;

	for (int i = 0; i < 2 && at + 34 <= len; i++) {
		fix_record(image + at, len - at);
		at += image[at];
	}
}

static void fix_times(uint8_t *image, size_t len)
{
	for (size_t at = FIRST_DESCRIPTOR * SECTOR; at + SECTOR <= len; at += SECTOR) {
		uint8_t *d = image + at;

		if (memcmp(d, "INFO", 4) == 0)
			memset(d, 0, SECTOR);
		if (memcmp(d + 1, "CD001", 5) != 0)
			return;
		if (d[0] == TERMINATOR)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(descriptor_times); i++) {
			uint8_t *time = d + AT_TIMES + descriptor_times[i] * TIME_LEN;

			memcpy(time, descriptor_time, TIME_LEN - 1);
			time[TIME_LEN - 1] = 0;
		}
		fix_record(d + AT_ROOT_RECORD, 34);
		fix_folder(image, len, d + AT_ROOT_RECORD);
	}
}

int seed_iso(const struct seed_texts *texts, struct str *ret, struct error *err)
{
	_cleanup_(archive_done_p) struct archive *a = archive_write_new();

	if (!a)
		return error_oom(err);
	if (archive_write_set_format_iso9660(a) != ARCHIVE_OK ||
		archive_write_set_options(
			a, "volume-id=" SEED_LABEL ",rockridge=useful,joliet,!pad") != ARCHIVE_OK ||
		archive_write_set_bytes_in_last_block(a, 1) != ARCHIVE_OK ||
		archive_write_open(a, ret, NULL, append, NULL) != ARCHIVE_OK)
		return error_archive(err, a);
	if (put_file(a, "meta-data", texts->meta_data, err) < 0 ||
		put_file(a, "network-config", texts->network_config, err) < 0 ||
		put_file(a, "user-data", texts->user_data, err) < 0)
		return -1;
	if (archive_write_close(a) != ARCHIVE_OK)
		return error_archive(err, a);
	if (str_ok(ret, err) < 0)
		return -1;
	fix_times((uint8_t *)ret->data, ret->len);
	return 0;
}

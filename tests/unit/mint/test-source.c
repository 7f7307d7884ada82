/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "mint/source.h"

static char folder[] = "/tmp/test-source.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(folder, &err);
}

static void test_the_first_bytes_say_what_it_is(void **state)
{
	unsigned char head[512] = "";

	(void)state;
	assert_int_equal(source_format(head, sizeof(head)), FORMAT_RAW);
	memcpy(head, "QFI\xfb", 4);
	assert_int_equal(source_format(head, sizeof(head)), FORMAT_QCOW2);
	assert_int_equal(source_format(head, 3), FORMAT_RAW);
	memcpy(head, "\x28\xb5\x2f\xfd", 4);
	assert_int_equal(source_format(head, sizeof(head)), FORMAT_TAR);
	memset(head, 0, sizeof(head));
	memcpy(head + 257, "ustar", 5);
	assert_int_equal(source_format(head, sizeof(head)), FORMAT_TAR);
	assert_int_equal(source_format(head, 260), FORMAT_RAW);
}

/* A local file of this content, as a source. */
static int get(
	const char *content, size_t len, struct source *s, struct source_file *f, struct error *err)
{
	struct mint m = { 0 };

	s->kind = SOURCE_FILE;
	s->location = str_format(err, "%s/image", folder);
	if (file_replace(AT_FDCWD, s->location, content, len, 0644, err) < 0)
		return -1;
	return source_get(&m, s, f, err);
}

static void test_a_local_file_is_what_was_meant(void **state)
{
	static char zeros[1024];
	char sha256[DIGEST_HEX], wrong[DIGEST_HEX_LONG];
	struct source s = { 0 };
	struct source_file f = { 0 };
	struct error err = { 0 };

	(void)state;
	digest_bytes(zeros, sizeof(zeros), sha256);
	memset(wrong, '0', sizeof(wrong) - 1);
	wrong[sizeof(wrong) - 1] = '\0';
	s.sha256 = sha256;
	assert_ok(get(zeros, sizeof(zeros), &s, &f, &err), &err);
	assert_int_equal(f.format, FORMAT_RAW);
	assert_string_equal(f.sha256, sha256);
	assert_string_equal(f.path, s.location);
	source_file_done(&f);
	free(s.location);
	s.sha512 = wrong;
	assert_int_equal(get(zeros, sizeof(zeros), &s, &f, &err), -1);
	assert_error(&err, ERROR_INVALID, "has another SHA-512 than the template wants");
	free(s.location);
	s.sha512 = NULL;
	error_clear(&err);
	assert_int_equal(get(zeros, sizeof(zeros) - 1, &s, &f, &err), -1);
	assert_error(&err, ERROR_INVALID, "and the template wants");
	free(s.location);
	error_clear(&err);
	assert_int_equal(get("short", 5, &s, &f, &err), -1);
	assert_error(&err, ERROR_INVALID, "is too short to be an image");
	free(s.location);
}

/* What is compressed is unpacked, what is not is linked. */
static void test_archives_become_plain(void **state)
{
	/* 1024 zeros and nothing else, by gzip */
	static const char packed[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\x60\x18\x05"
				     "\xa3\x60\x14\x8c\x54\x00\x00\x2e\xaf\xb5\xef\x00\x04\x00\x00";
	_cleanup_free_ char *path = NULL, *tar = NULL;
	_cleanup_str_ struct str text = STR_INIT;
	struct source_file f = { .format = FORMAT_TAR };
	struct error err = { 0 };

	(void)state;
	path = str_format(&err, "%s/packed", folder);
	tar = str_format(&err, "%s/tar", folder);
	f.path = path;
	assert_ok(file_replace(AT_FDCWD, path, packed, sizeof(packed) - 1, 0644, &err), &err);
	assert_ok(source_unpack(&f, tar, &err), &err);
	assert_ok(file_read(AT_FDCWD, tar, 4096, &text, &err), &err);
	assert_int_equal(text.len, 1024);
	(void)unlink(tar);
	assert_ok(file_replace(AT_FDCWD, path, packed, 20, 0644, &err), &err);
	assert_int_equal(source_unpack(&f, tar, &err), -1);
	assert_error(&err, ERROR_INVALID, "cannot unpack");
}

/* Nobody waits for a pipe, or reads a device to its end. */
static void test_a_local_image_is_a_file(void **state)
{
	static const struct {
		const char *path, *why;
	} odd[] = {
		{ "/dev/zero", "is a device" },
		{ "/tmp", "is a folder" },
		{ "pipe", "is a pipe" },
		{ "huge", "is larger than 1024 GiB" },
	};
	_cleanup_free_ char *pipe = NULL, *huge = NULL;
	struct mint m = { 0 };
	struct error err = { 0 };

	(void)state;
	pipe = str_format(&err, "%s/pipe", folder);
	huge = str_format(&err, "%s/huge", folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_ok(file_replace(AT_FDCWD, huge, "", 0, 0600, &err), &err);
	assert_int_equal(truncate(huge, 2048ll << 30), 0);
	(void)alarm(20);
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		char *path = str_equal(odd[i].path, "pipe")   ? pipe
			     : str_equal(odd[i].path, "huge") ? huge
							      : (char *)odd[i].path;
		struct source s = { .kind = SOURCE_FILE, .location = path };
		struct source_file f = { 0 };

		error_clear(&err);
		assert_int_equal(source_get(&m, &s, &f, &err), -1);
		assert_error(&err, ERROR_INVALID, odd[i].why);
	}
	(void)alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_bytes_say_what_it_is),
		cmocka_unit_test(test_a_local_file_is_what_was_meant),
		cmocka_unit_test(test_archives_become_plain),
		cmocka_unit_test(test_a_local_image_is_a_file),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

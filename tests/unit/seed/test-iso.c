/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <time.h>

#include "seed/iso.h"

static const struct seed_texts texts = {
	.user_data = "#cloud-config\n{}\n",
	.meta_data = "instance-id: box\n",
	.network_config = "version: 2\n",
};

static void read_file(struct archive *a, struct archive_entry *entry)
{
	static const struct {
		const char *name, *text;
	} wanted[] = {
		{ "user-data", "#cloud-config\n{}\n" },
		{ "meta-data", "instance-id: box\n" },
		{ "network-config", "version: 2\n" },
	};
	const char *name = archive_entry_pathname(entry);
	char buf[64] = { 0 };

	if (strcmp(name, ".") == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (strcmp(name, wanted[i].name) != 0)
			continue;
		assert_true(archive_read_data(a, buf, sizeof(buf)) > 0);
		assert_string_equal(buf, wanted[i].text);
		return;
	}
	fail_msg("unexpected file '%s'", name);
}

static void test_three_files_under_the_label(void **state)
{
	_cleanup_str_ struct str iso = STR_INIT;
	struct archive *a = archive_read_new();
	struct archive_entry *entry = NULL;
	struct error err = { 0 };
	int files = 0;

	(void)state;
	assert_ok(seed_iso(&texts, &iso, &err), &err);
	assert_memory_equal(iso.data + 16 * 2048 + 40, "CIDATA ", 7); /* the volume's identifier */
	assert_int_equal(archive_read_support_format_iso9660(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_memory(a, iso.data, iso.len), ARCHIVE_OK);
	while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
		read_file(a, entry);
		files++;
	}
	assert_int_equal(files, 4); /* with the root folder */
	archive_read_free(a);
}

static void test_bytes_do_not_depend_on_the_clock(void **state)
{
	_cleanup_str_ struct str first = STR_INIT, second = STR_INIT;
	struct error err = { 0 };
	time_t begin = time(NULL);

	(void)state;
	assert_ok(seed_iso(&texts, &first, &err), &err);
	while (time(NULL) == begin) { /* the format's times have whole seconds: let one pass */
		struct timespec nap = { .tv_nsec = 20000000 };

		nanosleep(&nap, NULL);
	}
	assert_ok(seed_iso(&texts, &second, &err), &err);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
}

static void test_other_texts_give_other_bytes(void **state)
{
	_cleanup_str_ struct str first = STR_INIT, second = STR_INIT;
	struct seed_texts other = texts;
	struct error err = { 0 };

	(void)state;
	other.user_data = "#cloud-config\n{a: 1}\n";
	assert_ok(seed_iso(&texts, &first, &err), &err);
	assert_ok(seed_iso(&other, &second, &err), &err);
	assert_true(first.len != second.len || memcmp(first.data, second.data, first.len) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_files_under_the_label),
		cmocka_unit_test(test_bytes_do_not_depend_on_the_clock),
		cmocka_unit_test(test_other_texts_give_other_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

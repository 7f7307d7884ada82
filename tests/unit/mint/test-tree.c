/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "mint/tree.h"

static char folder[] = "/tmp/test-tree.XXXXXX";

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

static void path_of(const char *name, char path[256])
{
	(void)snprintf(path, 256, "%s/%s", folder, name);
}

/* "name mode target|bytes;" of each entry. */
static int list(const struct tree_seen *seen, void *data, struct error *err)
{
	str_printf(data, "%s %o %.*s%s;", seen->name, (unsigned)seen->mode, (int)seen->len,
		seen->len ? seen->bytes : "", seen->target ? seen->target : "");
	return str_ok(data, err);
}

static void assert_lists(const char *path, const char *want)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	assert_ok(tree_read(path, list, &text, &err), &err);
	assert_string_equal(str_get(&text), want);
}

static void put_file(const char *name, const char *text, mode_t mode)
{
	struct error err = { 0 };
	char path[256];

	path_of(name, path);
	assert_ok(file_replace(AT_FDCWD, path, text, strlen(text), mode, &err), &err);
}

static void test_a_folder_is_packed_in_order_as_roots(void **state)
{
	_cleanup_(tree_free_p) struct tree_writer *w = NULL;
	struct error err = { 0 };
	char tar[256], from[256], path[256];

	(void)state;
	path_of("from", from);
	path_of("from/etc", path);
	assert_ok(file_mkdirs(path, 0700, &err), &err);
	put_file("from/etc/b", "two", 0600);
	put_file("from/etc/a", "one", 0700);
	path_of("from/etc/link", path);
	assert_int_equal(symlink("../x", path), 0);
	path_of("a.tar", tar);
	w = tree_open(tar, &err);
	assert_non_null(w);
	assert_ok(tree_put_folder(w, from, &err), &err);
	assert_ok(tree_close(w, &err), &err);
	assert_lists(tar, "etc/ 40755 ;etc/a 100755 one;etc/b 100644 two;etc/link 120777 ../x;");
}

/* An archive as a registry would give it, with entries that are none of ours. */
static void pack(const char *tar, const char *extra)
{
	_cleanup_(tree_free_p) struct tree_writer *w = NULL;
	const struct tree_entry entries[] = {
		{ .name = "package/bin/x", .mode = S_IFREG | 0755, .bytes = "X", .len = 1 },
		{ .name = "other/y", .mode = S_IFREG | 0644, .bytes = "Y", .len = 1 },
		{ .name = "package/l", .mode = S_IFLNK | 0777, .target = "/etc/passwd" },
		{ .name = extra, .mode = S_IFREG | 0644, .bytes = "Z", .len = 1 },
	};
	struct error err = { 0 };

	w = tree_open(tar, &err);
	assert_non_null(w);
	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		if (entries[i].name)
			assert_ok(tree_put(w, &entries[i], &err), &err);
	assert_ok(tree_close(w, &err), &err);
}

static void test_an_archive_is_copied_under_another_prefix(void **state)
{
	_cleanup_(tree_free_p) struct tree_writer *w = NULL;
	struct error err = { 0 };
	char tar[256], out[256];

	(void)state;
	path_of("p.tar", tar);
	path_of("out.tar", out);
	pack(tar, NULL);
	w = tree_open(out, &err);
	assert_non_null(w);
	assert_ok(tree_put_archive(w, tar, "package/", "usr/", &err), &err);
	assert_ok(tree_close(w, &err), &err);
	assert_lists(out, "usr/bin/x 100755 X;");
}

static void test_an_archive_that_leads_out_is_refused(void **state)
{
	static const char *const bad[] = { "package/../../etc/x", "package//etc/x",
		"package/a/.." };
	char tar[256], out[256];

	(void)state;
	path_of("evil.tar", tar);
	path_of("out2.tar", out);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(tree_free_p) struct tree_writer *w = NULL;
		struct error err = { 0 };

		pack(tar, bad[i]);
		w = tree_open(out, &err);
		assert_non_null(w);
		assert_int_equal(tree_put_archive(w, tar, "package/", "usr/", &err), -1);
		assert_error(&err, ERROR_INVALID, "leads out of its folder");
	}
}

static void test_what_is_no_archive_is_an_error(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	char path[256];

	(void)state;
	put_file("page.html", "<html>please log in</html>", 0644);
	path_of("page.html", path);
	assert_int_equal(tree_read(path, list, &text, &err), -1);
	assert_error(&err, ERROR_FAILED, "page.html");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_folder_is_packed_in_order_as_roots),
		cmocka_unit_test(test_an_archive_is_copied_under_another_prefix),
		cmocka_unit_test(test_an_archive_that_leads_out_is_refused),
		cmocka_unit_test(test_what_is_no_archive_is_an_error),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/copy-place.h"

enum { NOBODY = 65534 };

static char world[64];

/* As an ordinary user, whom modes keep out. */
static int begin(void **state)
{
	(void)state;
	memccpy(world, "/tmp/box-place-test.XXXXXX", 0, sizeof(world));
	assert_non_null(mkdtemp(world));
	if (geteuid() == 0) {
		assert_int_equal(chown(world, NOBODY, NOBODY), 0);
		assert_int_equal(setegid(NOBODY) | seteuid(NOBODY), 0);
	}
	assert_int_equal(chdir(world), 0);
	return 0;
}

static int end(void **state)
{
	struct error err = { 0 };

	(void)state;
	if (getuid() == 0)
		assert_int_equal(seteuid(0) | setegid(0), 0);
	assert_int_equal(chdir("/"), 0);
	return file_remove_tree(world, &err);
}

static void make_file(const char *path, const char *text)
{
	struct error err = { 0 };
	_cleanup_free_ char *copy = str_dup(path, &err);
	char *slash = strrchr(copy, '/');

	if (slash) {
		*slash = '\0';
		assert_ok(file_mkdirs(copy, 0755, &err), &err);
	}
	assert_ok(file_replace(AT_FDCWD, path, text, strlen(text), 0644, &err), &err);
}

static void assert_file(const char *path, const char *text)
{
	_cleanup_str_ struct str got = STR_INIT;
	struct error err = { 0 };

	assert_ok(file_read(AT_FDCWD, path, 4096, &got, &err), &err);
	assert_string_equal(str_get(&got), text);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static struct copy_place open_place(const char *to, const char *name)
{
	struct copy_place place;
	struct error err = { 0 };

	assert_ok(copy_place_open(to, name, strlen(name), &place, &err), &err);
	return place;
}

/* Path of something in the staging folder; valid until the next call. */
static const char *staged(const struct copy_place *place, const char *below)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s/content%s", place->folder, place->staging, below);
	return path;
}

static void commit(struct copy_place *place)
{
	struct error err = { 0 };

	assert_ok(copy_place_commit(place, &err), &err);
	copy_place_done(place);
}

static void test_a_file(void **state)
{
	struct copy_place place = open_place("new", "name");

	(void)state;
	make_file(staged(&place, ""), "1");
	assert_int_equal(access("new", F_OK), -1);
	commit(&place);
	assert_file("new", "1");
	/* Over a file, into a folder, through the person's own link to either. */
	place = open_place("new", "name");
	make_file(staged(&place, ""), "2");
	commit(&place);
	assert_file("new", "2");
	assert_int_equal(
		mkdir("folder", 0755) | symlink("folder", "way") | symlink("new", "link"), 0);
	place = open_place("folder/", "name");
	make_file(staged(&place, ""), "3");
	commit(&place);
	assert_file("folder/name", "3");
	place = open_place("way", "other");
	make_file(staged(&place, ""), "4");
	commit(&place);
	assert_file("folder/other", "4");
	place = open_place("link", "x");
	make_file(staged(&place, ""), "5");
	commit(&place);
	assert_file("new", "5");
	assert_int_equal(readlink("link", (char[8]){ 0 }, 8), 3);
}

static void test_a_link_in_the_place_is_replaced(void **state)
{
	struct copy_place place;

	(void)state;
	make_file("outside", "mine");
	assert_int_equal(mkdir("folder", 0755) | symlink("../outside", "folder/name"), 0);
	place = open_place("folder", "name");
	make_file(staged(&place, ""), "theirs");
	commit(&place);
	assert_file("outside", "mine");
	assert_file("folder/name", "theirs");
}

static void test_a_failure_leaves_nothing(void **state)
{
	struct copy_place place;
	char path[512];

	(void)state;
	assert_int_equal(mkdir("dst", 0755), 0);
	place = open_place("dst", "name");
	make_file(staged(&place, "/shut/deep/file"), "x");
	assert_int_equal(chmod(staged(&place, "/shut/deep"), 0), 0);
	assert_int_equal(chmod(staged(&place, "/shut"), 0500), 0);
	assert_int_equal(symlink("/", staged(&place, "/root")), 0);
	(void)snprintf(path, sizeof(path), "%s/%s", place.folder, place.staging);
	copy_place_done(&place);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir("dst"), 0);
}

static void test_a_folder(void **state)
{
	struct copy_place place = open_place("new", "name");

	(void)state;
	make_file(staged(&place, "/a/b"), "1");
	assert_int_equal(chmod(staged(&place, ""), 0555), 0);
	commit(&place);
	assert_file("new/a/b", "1");
	assert_int_equal(mode_of("new"), 0555);
}

static void test_filling_a_folder(void **state)
{
	struct copy_place place;
	struct stat st;

	(void)state;
	make_file("dst/name/keep", "mine");
	make_file("dst/name/both", "mine");
	make_file("dst/name/shut/both", "mine");
	make_file("dst/name/private/both", "mine");
	assert_int_equal(symlink("keep", "dst/name/link"), 0);
	assert_int_equal(chmod("dst/name/private", 0700) | chmod("dst/name/shut", 0500), 0);
	place = open_place("dst", "name");
	make_file(staged(&place, "/both"), "theirs");
	make_file(staged(&place, "/new/sub"), "theirs");
	make_file(staged(&place, "/link"), "theirs");
	make_file(staged(&place, "/private/both"), "theirs");
	make_file(staged(&place, "/shut/both"), "theirs");
	assert_int_equal(chmod(staged(&place, "/private"), 0777), 0);
	assert_int_equal(chmod(staged(&place, "/new"), 0555), 0);
	commit(&place);
	assert_file("dst/name/keep", "mine");
	assert_file("dst/name/both", "theirs");
	assert_file("dst/name/new/sub", "theirs");
	assert_int_equal(mode_of("dst/name/new"), 0555);
	/* The link is replaced, not followed; folders that were there keep their modes. */
	assert_int_equal(lstat("dst/name/link", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_file("dst/name/private/both", "theirs");
	assert_int_equal(mode_of("dst/name/private"), 0700);
	assert_file("dst/name/shut/both", "theirs");
	assert_int_equal(mode_of("dst/name/shut"), 0500);
}

static void test_content_into_a_folder(void **state)
{
	struct copy_place place;
	struct error err = { 0 };

	(void)state;
	make_file("dst/keep", "mine");
	place = open_place("dst", "");
	make_file(staged(&place, "/a/b"), "1");
	commit(&place);
	assert_file("dst/a/b", "1");
	assert_file("dst/keep", "mine");
	place = open_place("dst", "");
	make_file(staged(&place, ""), "1");
	assert_int_equal(copy_place_commit(&place, &err), -1);
	assert_error(&err, ERROR_INVALID, "a file without a name of its own");
	copy_place_done(&place);
}

static void refuse(const char *prepare, bool link, const char *below, const char *text)
{
	struct copy_place place;
	struct error err = { 0 };

	if (link)
		assert_int_equal(symlink("../../outside", prepare), 0);
	else
		make_file(prepare, "mine");
	place = open_place("dst", "name");
	make_file(staged(&place, below), "theirs");
	assert_int_equal(copy_place_commit(&place, &err), -1);
	assert_error(&err, ERROR_EXISTS, text);
	copy_place_done(&place);
}

static void test_kinds_are_not_mixed(void **state)
{
	struct error err = { 0 };

	(void)state;
	make_file("outside/x", "mine");
	make_file("dst/name/x", "mine");
	refuse("dst/name/a/b", false, "/a", "'a' is a folder here and none in the box");
	refuse("dst/name/f", false, "/f/x", "'f' is a folder in the box and none here");
	/* A link of the person's is not a way for the box. */
	refuse("dst/name/l", true, "/l/x", "'l' is a folder in the box and none here");
	assert_file("outside/x", "mine");
	assert_file("dst/name/f", "mine");
	assert_ok(file_remove_tree("dst/name", &err), &err);
	make_file("dst/name", "mine");
	refuse("dst/other", false, "/x", "'name' is a folder in the box and none here");
	assert_file("dst/name", "mine");
}

static void refuse_place(const char *to, enum error_kind kind, const char *text)
{
	struct copy_place place;
	struct error err = { 0 };

	assert_int_equal(copy_place_open(to, "name", 4, &place, &err), -1);
	assert_error(&err, kind, text);
}

static void test_places_that_are_none(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("fifo", 0600) | symlink("nowhere", "dangling"), 0);
	make_file("file", "x");
	refuse_place("/dev/null", ERROR_INVALID, "'/dev/null' is neither file nor folder");
	refuse_place("fifo", ERROR_INVALID, "'-' is for streams");
	refuse_place("dangling", ERROR_INVALID, "'dangling' is a link that leads nowhere");
	refuse_place("no/such", ERROR_NOT_FOUND, "cannot find folder 'no/'");
	refuse_place("no/..", ERROR_NOT_FOUND, "there is no folder 'no/..'");
	refuse_place("file/x", ERROR_FAILED, "cannot find 'file/x': Not a directory");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = { T(test_a_file), T(test_a_link_in_the_place_is_replaced),
		T(test_a_failure_leaves_nothing), T(test_a_folder), T(test_filling_a_folder),
		T(test_content_into_a_folder), T(test_kinds_are_not_mixed),
		T(test_places_that_are_none) };

	(void)umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

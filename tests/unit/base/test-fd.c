/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"

static char folder[] = "/tmp/box-test-fd-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(folder, &err);
}

static void test_replace_then_read_gives_the_bytes(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct stat st;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_ok(file_replace(AT_FDCWD, path, "one", 3, 0600, &err), &err);
	assert_ok(file_replace(AT_FDCWD, path, "two", 3, 0640, &err), &err);
	assert_ok(file_read(AT_FDCWD, path, 10, &text, &err), &err);
	assert_string_equal(str_get(&text), "two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(file_read(AT_FDCWD, path, 2, &text, &err), -1);
	assert_error(&err, ERROR_INVALID, "larger than 2 bytes");
}

static void test_read_missing_is_not_found(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/nonexistent/x", 10, &text, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "'/nonexistent/x'");
}

/* A path below the folder, in buf. */
static const char *below(char buf[128], const char *name)
{
	(void)snprintf(buf, 128, "%s/%s", folder, name);
	return buf;
}

static void not_a_file(const char *path, const char *kind)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	/* whoever waits for it is ended by the alarm */
	(void)alarm(20);
	assert_int_equal(file_read(AT_FDCWD, path, 10, &text, &err), -1);
	assert_error(&err, ERROR_INVALID, kind);
	assert_int_equal(text.len, 0);
	error_clear(&err);
	assert_int_equal(file_replace(AT_FDCWD, path, "x", 1, 0600, &err), -1);
	assert_error(&err, ERROR_INVALID, kind);
	(void)alarm(0);
}

static void test_what_is_no_file_is_neither_read_nor_replaced(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char fifo[128], link[128];

	(void)state;
	assert_int_equal(mkfifo(below(fifo, "fifo"), 0600), 0);
	assert_int_equal(symlink("/dev/zero", below(link, "zero")), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	not_a_file(fifo, "is a pipe");
	not_a_file(link, "is a device");
	not_a_file(address.sun_path, "is a socket");
	not_a_file(folder, "is a folder");
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(unlink(link), 0);
}

/* <(...) of a shell is such a pipe; one that nobody writes to would be waited for without end. */
static void test_an_argument_may_be_a_pipe_that_somebody_writes(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	char fifo[128], path[128];
	int ends[2];

	(void)state;
	(void)alarm(20);
	assert_int_equal(mkfifo(below(fifo, "fifo"), 0600), 0);
	assert_int_equal(file_read_argument(fifo, 10, &text, &err), -1);
	assert_error(&err, ERROR_INVALID, "is a pipe into which nobody writes");
	error_clear(&err);
	assert_int_equal(pipe(ends), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	if (fork() == 0) {
		/* later than the reader, who has to wait: 100 ms are enough for it to get there */
		(void)usleep(100000);
		_exit(write(ends[1], "abc", 3) != 3);
	}
	(void)close(ends[1]);
	assert_ok(file_read_argument(path, 3, &text, &err), &err);
	assert_string_equal(str_get(&text), "abc");
	(void)close(ends[0]);
	(void)wait(NULL);
	assert_int_equal(pipe(ends), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	assert_int_equal(write(ends[1], "abcd", 4), 4);
	(void)close(ends[1]);
	assert_int_equal(file_read_argument(path, 3, &text, &err), -1);
	assert_error(&err, ERROR_INVALID, "is larger than");
	(void)close(ends[0]);
	(void)alarm(0);
}

static void test_remove_tree_follows_no_link(void **state)
{
	struct error err = { 0 };
	char tree[128], inner[160], link[160], outside[128];

	(void)state;
	snprintf(tree, sizeof(tree), "%s/tree", folder);
	snprintf(inner, sizeof(inner), "%s/x/y", tree);
	snprintf(link, sizeof(link), "%s/x/link", tree);
	snprintf(outside, sizeof(outside), "%s/outside", folder);
	assert_ok(file_mkdirs(inner, 0700, &err), &err);
	assert_ok(file_mkdirs(outside, 0700, &err), &err);
	assert_int_equal(symlink(outside, link), 0);
	assert_ok(file_remove_tree(tree, &err), &err);
	assert_int_equal(access(tree, F_OK), -1);
	assert_int_equal(access(outside, F_OK), 0);
	assert_ok(file_remove_tree(tree, &err), &err);
}

static void test_wait_ends_at_its_deadline(void **state)
{
	struct error err = { 0 };
	uint64_t begun = clock_ms();
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fd_wait(ends[0], POLLIN, begun + 30, &err), 0);
	assert_true(clock_ms() >= begun + 30);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(
		fd_wait(ends[0], POLLIN, 0, &err), 1); /* long past: it looks all the same */
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace_then_read_gives_the_bytes),
		cmocka_unit_test(test_read_missing_is_not_found),
		cmocka_unit_test(test_what_is_no_file_is_neither_read_nor_replaced),
		cmocka_unit_test(test_an_argument_may_be_a_pipe_that_somebody_writes),
		cmocka_unit_test(test_remove_tree_follows_no_link),
		cmocka_unit_test(test_wait_ends_at_its_deadline),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}

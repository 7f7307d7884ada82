/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What copy_pack makes, as tar(1) and libarchive read it. */
#include "tests/unit/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "vmm/copy-archive.h"

static char world[64];
static struct str told;
static uint64_t last_done, last_total;

static void left_out(const char *text, void *data)
{
	(void)data;
	str_printf(&told, "%s\n", text);
}

static void progress(uint64_t done, uint64_t total, void *data)
{
	(void)data;
	last_done = done;
	last_total = total;
}

static const struct copy_observer listener = { .left_out = left_out, .progress = progress };

static int begin(void **state)
{
	(void)state;
	memccpy(world, "/tmp/box-pack-test.XXXXXX", 0, sizeof(world));
	assert_non_null(mkdtemp(world));
	/* As an ordinary user, whom modes keep out. */
	if (geteuid() == 0) {
		assert_int_equal(chown(world, 65534, 65534), 0);
		assert_int_equal(setegid(65534) | seteuid(65534), 0);
	}
	assert_int_equal(chdir(world), 0);
	str_clear(&told);
	return 0;
}

static int end(void **state)
{
	struct error err = { 0 };

	if (getuid() == 0)
		assert_int_equal(seteuid(0) | setegid(0), 0);
	(void)!chmod("src/sub", 0755);
	(void)!chmod("dst/c/sub", 0755);

	(void)state;
	assert_int_equal(chdir("/"), 0);
	return file_remove_tree(world, &err);
}

static void make_file(const char *path, const char *text, mode_t mode)
{
	struct error err = { 0 };

	assert_ok(file_replace(AT_FDCWD, path, text, strlen(text), mode, &err), &err);
}

static void make_tree(void)
{
	const struct timespec times[2] = { { 5, 5 }, { 1234567890, 123456789 } };
	int fd;

	assert_int_equal(mkdir("src", 0755) | mkdir("src/sub", 0755), 0);
	make_file("src/sub/run", "run", 0751);
	make_file("src/na\xc3\xafve", "utf8", 0600);
	assert_int_equal(link("src/sub/run", "src/twin"), 0);
	assert_int_equal(symlink("../../somewhere/else", "src/sub/link"), 0);
	assert_int_equal(mkfifo("src/fifo\x1b[2J", 0600), 0);
	fd = open("src/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	assert_int_equal(ftruncate(fd, 64 << 20), 0);
	assert_int_equal(pwrite(fd, "middle", 6, 32 << 20), 6);
	(void)close(fd);
	assert_int_equal(utimensat(AT_FDCWD, "src/sub/run", times, 0), 0);
	assert_int_equal(chmod("src/sub", 0555), 0);
	assert_int_equal(utimensat(AT_FDCWD, "src/sub", times, 0), 0);
}

static int pack(const char *path, bool plain)
{
	struct error err = { 0 };
	int fd = open("archive", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const struct copy_pack request = { .path = path, .plain = plain, .fd = fd };

	assert_ok(copy_pack(&request, &listener, &err), &err);
	return fd;
}

/* As the script in the box does. */
static void extract(void)
{
	const char *const argv[] = { "tar", "-x", "-p", "-o", "--delay-directory-restore", "-f",
		"archive", "-C", "dst", NULL };
	struct error err = { 0 };

	assert_int_equal(mkdir("dst", 0700), 0);
	assert_ok(run_program(&(struct run){ .argv = argv }, NULL, &err), &err);
}

static void check_tree(bool pax)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct stat st, twin;
	char link[64] = "";

	assert_int_equal(stat("dst/c/sub/run", &st) | stat("dst/c/twin", &twin), 0);
	assert_int_equal(st.st_ino, twin.st_ino);
	assert_int_equal(st.st_mode, S_IFREG | 0751);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, pax ? 123456789 : 0);
	assert_int_equal(stat("dst/c/sub", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | (pax ? 0555 : 0755));
	if (pax)
		assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_true(readlink("dst/c/sub/link", link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "../../somewhere/else");
	assert_ok(file_read(AT_FDCWD, "dst/c/na\xc3\xafve", 100, &text, &err), &err);
	assert_string_equal(str_get(&text), "utf8");
	assert_int_equal(stat("dst/c/big", &st), 0);
	assert_int_equal(st.st_size, 64 << 20);
	assert_int_equal(stat("dst/done", &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_string_equal(
		str_get(&told), "'src/fifo\\x1b[2J' is neither file, folder nor link\n");
}

static void test_a_tree_for_gnu_tar(void **state)
{
	struct stat st;

	(void)state;
	make_tree();
	(void)close(pack("src", false));
	assert_int_equal(stat("archive", &st), 0);
	assert_true(st.st_size < 1 << 20); /* holes take nothing */
	extract();
	check_tree(true);
	assert_int_equal(stat("dst/c/big", &st), 0);
	assert_true(st.st_blocks < 1000);
}

/* Without pax headers and sparse members, for a tar that knows neither. */
static void test_a_tree_for_any_tar(void **state)
{
	const char *const argv[] = { "busybox", "tar", "-x", "-p", "-o", "-f", "archive", "-C",
		"dst", NULL };
	struct error err = { 0 };

	(void)state;
	make_tree();
	(void)close(pack("src/", true));
	assert_int_equal(mkdir("dst", 0700), 0);
	if (run_program(&(struct run){ .argv = argv }, NULL, &err) < 0 &&
		err.kind == ERROR_NOT_FOUND)
		skip();
	assert_int_equal(err.kind, ERROR_NONE);
	str_clear(&told);
	str_append(&told, "'src/fifo\\x1b[2J' is neither file, folder nor link\n");
	check_tree(false);
}

static void test_what_is_not_told(void **state)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	int fd, members = 0;

	(void)state;
	make_tree();
	fd = pack("src", false);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(archive_read_support_format_tar(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_fd(a, fd, 65536), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		const char *owner = archive_entry_uname(e);

		assert_int_equal(archive_entry_uid(e), 0);
		assert_int_equal(archive_entry_gid(e), 0);
		assert_true(!owner || !*owner);
		assert_false(archive_entry_atime_is_set(e));
		assert_false(archive_entry_ctime_is_set(e));
		members++;
	}
	assert_int_equal(members, 8); /* c, sub, run, naive, twin, link, big, done */
	assert_int_equal(archive_read_free(a), ARCHIVE_OK);
	(void)close(fd);
}

static void test_a_file(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	make_file("f", "content", 0640);
	assert_int_equal(symlink("f", "way"), 0);
	(void)close(pack("way", false));
	extract();
	assert_ok(file_read(AT_FDCWD, "dst/c", 100, &text, &err), &err);
	assert_string_equal(str_get(&text), "content");
	assert_int_equal(last_done, 7);
	assert_int_equal(last_total, 7);
}

static void test_failures(void **state)
{
	struct copy_pack request = { .path = "missing", .fd = -1 };
	struct error err = { 0 };
	int pair[2];

	(void)state;
	assert_int_equal(copy_pack(&request, NULL, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot read 'missing': No such file or directory");
	/* A reader that goes away. */
	make_file("f", "content", 0640);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	(void)close(pair[0]);
	request = (struct copy_pack){ .path = "f", .fd = pair[1] };
	error_clear(&err);
	assert_int_equal(copy_pack(&request, NULL, &err), -1);
	assert_error(&err, ERROR_FAILED, "Broken pipe");
	(void)close(pair[1]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = { T(test_a_tree_for_gnu_tar), T(test_a_tree_for_any_tar),
		T(test_what_is_not_told), T(test_a_file), T(test_failures) };

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

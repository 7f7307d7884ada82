/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives of a hostile box. Each is unpacked in a fresh folder "in" beside a folder "out", of which nothing
 * may be read, written or linked to.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "tests/unit/vmm/archive-maker.h"
#include "vmm/copy-archive.h"

static char world[64];
static struct str told;

static void left_out(const char *text, void *data)
{
	(void)data;
	str_printf(&told, "%s\n", text);
}

static const struct copy_observer listener = { .left_out = left_out };

static void write_file(const char *path, const char *text)
{
	struct error err = { 0 };

	assert_ok(file_replace(AT_FDCWD, path, text, strlen(text), 0600, &err), &err);
}

static void assert_file(const char *path, const char *text)
{
	_cleanup_str_ struct str got = STR_INIT;
	struct error err = { 0 };

	assert_ok(file_read(AT_FDCWD, path, 1 << 20, &got, &err), &err);
	assert_string_equal(str_get(&got), text);
}

static int begin(void **state)
{
	(void)state;
	memccpy(world, "/tmp/box-copy-test.XXXXXX", 0, sizeof(world));
	assert_non_null(mkdtemp(world));
	assert_int_equal(chdir(world), 0);
	assert_int_equal(mkdir("in", 0700) | mkdir("out", 0700), 0);
	write_file("out/secret", "secret");
	assert_int_equal(chdir("in"), 0);
	str_clear(&told);
	return 0;
}

/* What is outside is as it was. */
static int end(void **state)
{
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(chdir(world), 0);
	assert_file("out/secret", "secret");
	assert_int_equal(stat("out/secret", &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(unlink("out/secret"), 0);
	assert_int_equal(rmdir("out"), 0); /* nothing else is there */
	assert_int_equal(chdir("/"), 0);
	return file_remove_tree(world, &err);
}

static int unpack_with(int fd, struct copy_unpack request, struct error *err)
{
	int ret;

	request.fd = fd;
	request.max_entries = request.max_entries ? request.max_entries : 1000;
	request.max_bytes = request.max_bytes ? request.max_bytes : 1 << 20;
	request.stall_ms = request.stall_ms ? request.stall_ms : 10000;
	ret = copy_unpack(&request, &listener, err);
	(void)close(fd);
	return ret;
}

#define UNPACK(err, ...)                                                                         \
	unpack_with(                                                                             \
		archive_make((const struct member[]){ __VA_ARGS__ },                             \
			sizeof((const struct member[]){ __VA_ARGS__ }) / sizeof(struct member)), \
		(struct copy_unpack){ 0 }, err)

/* A tree with this in it is refused, with this text, and left out when that is asked for. */
static void refuse_member(struct member bad, const char *text, bool always)
{
	const struct member tree[] = { M('d', ".", NULL), M('d', "./a", NULL), bad,
		M('f', "./z", "z") };
	struct error err = { 0 };
	struct stat st;

	assert_int_equal(unpack_with(archive_make(tree, 4), (struct copy_unpack){ 0 }, &err), -1);
	assert_error(&err, ERROR_INVALID, text);
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	if (always) {
		assert_int_equal(unpack_with(archive_make(tree, 4),
					 (struct copy_unpack){ .skip_unsafe = true }, &err),
			-1);
	} else {
		assert_ok(unpack_with(archive_make(tree, 4),
				  (struct copy_unpack){ .skip_unsafe = true }, &err),
			&err);
		assert_non_null(strstr(str_get(&told), text));
		assert_file("content/z", "z");
		if (bad.path[0] == '.')
			assert_int_equal(lstat(bad.path + 2, &st), -1);
	}
	assert_ok(file_remove_tree("content", &err), &err);
	str_clear(&told);
}

static void test_a_tree(void **state)
{
	struct error err = { 0 };
	struct stat st, other;
	char link[64] = "";

	(void)state;
	assert_ok(
		UNPACK(&err, M('d', ".", NULL, .mode = 0750, .mtime = 1111111111, .nsec = 5),
			M('d', "./sub", NULL, .mode = 0555, .mtime = 1234567890, .nsec = 987654321),
			M('f', "./sub/exec", "run", .mode = 0751, .mtime = 1200000000,
				.nsec = 123456789),
			M('f', "./na\xc3\xafve \xe2\x82\xac", "euro"),
			M('f',
				"./raw\xff"
				"byte",
				"raw"),
			M('l', "./sub/up", "../sub/exec"), M('h', "./twin", "./sub/exec"),
			M('f', "./empty", "")),
		&err);
	assert_int_equal(stat("content", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0750);
	assert_int_equal(st.st_mtim.tv_sec, 1111111111);
	assert_int_equal(stat("content/sub", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0555);
	assert_int_equal(st.st_mtim.tv_nsec, 987654321);
	assert_int_equal(stat("content/sub/exec", &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0751);
	assert_int_equal(st.st_mtim.tv_sec, 1200000000);
	assert_int_equal(st.st_mtim.tv_nsec, 123456789);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(stat("content/twin", &other), 0);
	assert_int_equal(st.st_ino, other.st_ino);
	assert_int_equal(readlink("content/sub/up", link, sizeof(link) - 1), 11);
	assert_string_equal(link, "../sub/exec");
	assert_file("content/na\xc3\xafve \xe2\x82\xac", "euro");
	assert_file("content/raw\xff"
		    "byte",
		"raw");
	assert_file("content/empty", "");
}

static void test_one_file_whatever_its_name(void **state)
{
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_ok(UNPACK(&err, M('f', "x\ny", "text", .mode = 04755)), &err);
	assert_file("content", "text");
	assert_int_equal(stat("content", &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0755);
	assert_int_equal(unlink("content"), 0);
	assert_int_equal(UNPACK(&err, M('f', "a", "text"), M('f', "b", "more")), -1);
	assert_error(&err, ERROR_INVALID, "more came than the one file");
}

static void test_beginnings(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(unpack_with(archive_make(NULL, 0), (struct copy_unpack){ 0 }, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "nothing came");
	error_clear(&err);
	assert_int_equal(
		unpack_with(archive_cut(archive_make(NULL, 0), 0), (struct copy_unpack){ 0 }, &err),
		-1);
	assert_error(&err, ERROR_NOT_FOUND, "nothing came");
	error_clear(&err);
	assert_int_equal(UNPACK(&err, M('l', "a", "../out/secret")), -1);
	assert_error(&err, ERROR_INVALID, "neither with a folder nor with a file");
	error_clear(&err);
	assert_int_equal(UNPACK(&err, M('d', "a", NULL)), -1);
	assert_error(&err, ERROR_INVALID, "neither with a folder nor with a file");
	error_clear(&err);
	assert_int_equal(UNPACK(&err, M('h', "a", "../out/secret")), -1);
	error_clear(&err);
	assert_int_equal(UNPACK(&err, M('d', ".", NULL), M('l', ".", "../out")), -1);
	assert_error(&err, ERROR_INVALID, "the folder is none");
}

static void test_paths_out(void **state)
{
	_cleanup_free_ char *absolute = NULL;
	struct error err = { 0 };

	(void)state;
	absolute = str_format(&err, "%s/out/new", world);
	refuse_member((struct member)M('f', absolute, "x"), "is an absolute path", true);
	refuse_member((struct member)M('f', "../out/new", "x"), "climbs with '..'", true);
	refuse_member((struct member)M('f', "./a/../../../out/new", "x"), "climbs", true);
	refuse_member((struct member)M('d', "a/../../../out", NULL, .mode = 0777), "climbs", true);
	refuse_member((struct member)M('d', "..", NULL, .mode = 0777), "climbs", true);
}

static void test_links_out(void **state)
{
	_cleanup_free_ char *absolute = NULL;
	struct error err = { 0 };

	(void)state;
	absolute = str_format(&err, "%s/out/secret", world);
	refuse_member((struct member)M('l', "./l", "/etc/passwd"),
		"'l' is a link that leads out of what is copied", false);
	refuse_member((struct member)M('l', "./l", "../out"), "leads out", false);
	refuse_member((struct member)M('l', "./a/l", "../../out"), "leads out", false);
	refuse_member((struct member)M('l', "./a/l", "b/../../.."), "leads out", false);
	refuse_member((struct member)M('l', "./l", "x\x1b]52;c;eA==\x07"),
		"'l' is a link to a name with control characters", false);
	refuse_member((struct member)M('h', "./l", absolute), "is an absolute path", true);
	refuse_member((struct member)M('h', "./l", "../out/secret"), "climbs", true);
	refuse_member((struct member)M('h', "./l", "../../out/secret"), "climbs", true);
	refuse_member((struct member)M('h', "./l", "./missing"),
		"'l' is a hard link to what is no file that came before", false);
	refuse_member(
		(struct member)M('h', "./l", "./a"), "is a hard link to what is no file", false);
	refuse_member(
		(struct member)M('h', "./l", "."), "is a hard link to what is no file", false);
}

/* A link that stays, and then a file through it. */
static void test_through_a_link(void **state)
{
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(UNPACK(&err, M('d', ".", NULL), M('d', "./a", NULL), M('l', "./l", "a"),
				 M('f', "./l/x", "x")),
		-1);
	assert_non_null(strstr(err.text, "content/l"));
	assert_int_equal(lstat("content/a/x", &st), -1);
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	/* A hard link through one; and to one. */
	assert_int_equal(UNPACK(&err, M('d', ".", NULL), M('d', "./a", NULL), M('f', "./a/f", "f"),
				 M('l', "./l", "a"), M('h', "./h", "./l/f")),
		-1);
	assert_int_equal(lstat("content/h", &st), -1);
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	assert_int_equal(
		UNPACK(&err, M('d', ".", NULL), M('l', "./l", "a"), M('h', "./h", "./l")), -1);
	assert_error(&err, ERROR_INVALID, "is a hard link to what is no file that came before");
}

/* A path that comes again in another kind: the classic way round a check. */
static void test_twice(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		UNPACK(&err, M('d', ".", NULL), M('d', "./a", NULL), M('l', "./a", "b")), -1);
	assert_error(&err, ERROR_INVALID, "'content/a' comes twice");
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	assert_int_equal(
		UNPACK(&err, M('d', ".", NULL), M('l', "./a", "b"), M('d', "./a", NULL)), -1);
	assert_error(&err, ERROR_INVALID, "'content/a' comes twice");
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	assert_int_equal(
		UNPACK(&err, M('d', ".", NULL), M('f', "./a", "1"), M('f', ".//a", "2")), -1);
	assert_error(&err, ERROR_INVALID, "'content/a' comes twice");
	assert_file("content/a", "1");
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	assert_int_equal(
		UNPACK(&err, M('d', ".", NULL), M('f', "./a", "1"), M('f', "./a/b", "2")), -1);
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	assert_int_equal(UNPACK(&err, M('d', ".", NULL), M('f', "./no-folder/b", "2")), -1);
	assert_non_null(strstr(err.text, "content/no-folder/b"));
}

static void test_what_is_no_file(void **state)
{
	(void)state;
	refuse_member((struct member)M('c', "./dev", NULL, .mode = 0666),
		"'dev' is neither file, folder nor link", false);
	refuse_member((struct member)M('p', "./a/fifo", NULL), "'a/fifo' is neither file", false);
	refuse_member((struct member)M('f', "./esc\x1b[2J", "x"),
		"'esc\\x1b[2J' has control characters in its name", false);
	refuse_member(
		(struct member)M('f', "./new\nline", "x"), "'new\\x0aline' has control", false);
	refuse_member((struct member)M('d',
			      "./c1\xc2\x9b"
			      "2J",
			      NULL),
		"has control characters", false);
}

static void test_modes(void **state)
{
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_ok(
		UNPACK(&err, M('d', ".", NULL, .mode = 07777), M('f', "./suid", "x", .mode = 04755),
			M('f', "./sgid", "x", .mode = 02755),
			M('d', "./sticky", NULL, .mode = 01777),
			M('d', "./shut", NULL, .mode = 01000),
			M('f', "./none", "x", .mode = 02000)),
		&err);
	assert_int_equal(stat("content", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0777);
	assert_int_equal(stat("content/suid", &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0755);
	assert_int_equal(stat("content/sgid", &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0755);
	assert_int_equal(stat("content/sticky", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0777);
	assert_int_equal(stat("content/shut", &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR);
	assert_int_equal(stat("content/none", &st), 0);
	assert_int_equal(st.st_mode, S_IFREG);
	assert_int_equal(chmod("content/shut", 0700), 0);
}

static void test_sparse(void **state)
{
	const struct member file = M('f', "big", "end", .sparse = 8 << 20);
	struct error err = { 0 };
	struct stat st;

	(void)state;
	/* The claim counts, not what it takes. */
	assert_int_equal(unpack_with(archive_make(&file, 1),
				 (struct copy_unpack){ .max_bytes = (8 << 20) - 1 }, &err),
		-1);
	assert_error(&err, ERROR_INVALID, "more than 7 MiB of content; the limit is --max-size");
	assert_int_equal(lstat("content", &st), -1);
	assert_ok(unpack_with(archive_make(&file, 1), (struct copy_unpack){ .max_bytes = 8 << 20 },
			  &err),
		&err);
	assert_int_equal(stat("content", &st), 0);
	assert_int_equal(st.st_size, 8 << 20);
	assert_true(st.st_blocks < 1000);
}

/* GNU tar's own sparse members, one of which claims a terabyte; it takes no time to refuse. */
static void test_a_terabyte(void **state)
{
	static const char *const make[] = { "tar", "--sparse", "--format=posix", "-cf",
		"../big.tar", "big", NULL };
	struct error err = { 0 };
	struct stat st;
	int fd = open("big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	if (fd < 0 || ftruncate(fd, 1ll << 40) < 0) {
		(void)close(fd);
		(void)unlink("big");
		skip();
	}
	(void)close(fd);
	assert_ok(run_program(&(struct run){ .argv = make }, NULL, &err), &err);
	assert_int_equal(unlink("big"), 0);
	fd = open("../big.tar", O_RDONLY | O_CLOEXEC);
	assert_int_equal(
		unpack_with(fd, (struct copy_unpack){ .max_bytes = 64ull << 30 }, &err), -1);
	assert_error(&err, ERROR_INVALID, "more than 65536 MiB of content");
	assert_int_equal(lstat("content", &st), -1);
	error_clear(&err);
	fd = open("../big.tar", O_RDONLY | O_CLOEXEC);
	assert_ok(unpack_with(fd, (struct copy_unpack){ .max_bytes = 2ull << 40 }, &err), &err);
	assert_int_equal(stat("content", &st), 0);
	assert_int_equal(st.st_size, 1ll << 40);
	assert_true(st.st_blocks < 1000);
	assert_int_equal(unlink("../big.tar") | unlink("content"), 0);
}

static void test_many_entries(void **state)
{
	enum { MANY = 5000 };
	struct member *members = calloc(MANY, sizeof(*members));
	char(*names)[16] = calloc(MANY, sizeof(*names));
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_true(members && names);
	members[0] = (struct member)M('d', ".", NULL);
	for (int i = 1; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "./%d", i);
		members[i] = (struct member)M('d', names[i], NULL);
	}
	assert_int_equal(unpack_with(archive_make(members, MANY),
				 (struct copy_unpack){ .max_entries = MANY - 1 }, &err),
		-1);
	assert_error(&err, ERROR_INVALID, "more than 4999 entries; the limit is --max-entries");
	assert_ok(file_remove_tree("content", &err), &err);
	error_clear(&err);
	assert_ok(unpack_with(archive_make(members, MANY),
			  (struct copy_unpack){ .max_entries = MANY }, &err),
		&err);
	assert_int_equal(stat("content/4999", &st), 0);
	free(members);
	free(names);
}

static void test_cut_short(void **state)
{
	const struct member file = M('f', "f", "0123456789");
	struct error err = { 0 };

	(void)state;
	/* A block of header, a block of content. */
	assert_int_equal(unpack_with(archive_cut(archive_make(&file, 1), 515),
				 (struct copy_unpack){ 0 }, &err),
		-1);
	assert_error(&err, ERROR_INVALID, "the archive is damaged");
	error_clear(&err);
	(void)unlink("content");
	assert_int_equal(unpack_with(archive_cut(archive_make(&file, 1), 500),
				 (struct copy_unpack){ 0 }, &err),
		-1);
	assert_error(&err, ERROR_INVALID, "the archive is damaged");
}

static void test_nonsense(void **state)
{
	int fd = archive_make(NULL, 0);
	struct error err = { 0 };
	char junk[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 7 + i / 13);
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 0), sizeof(junk));
	assert_int_equal(unpack_with(fd, (struct copy_unpack){ 0 }, &err), -1);
	assert_error(&err, ERROR_INVALID, "the archive is damaged");
	/* A shell script that prints something before tar, say. */
	fd = archive_cut(archive_make(NULL, 0), 0);
	assert_int_equal(write(fd, "hello\n", 6), 6);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	error_clear(&err);
	assert_int_equal(unpack_with(fd, (struct copy_unpack){ 0 }, &err), -1);
	assert_error(&err, ERROR_INVALID, "the archive is damaged");
}

static void test_endless(void **state)
{
	const struct member file = M('f', "f", "0123456789");
	struct error err = { 0 };
	int fd = archive_make(&file, 1), pair[2];

	(void)state;
	/* Behind its end, megabytes. */
	assert_int_equal(ftruncate(fd, 4 << 20), 0);
	assert_int_equal(unpack_with(fd, (struct copy_unpack){ 0 }, &err), -1);
	assert_error(&err, ERROR_INVALID, "bytes behind the end of the archive");
	(void)unlink("content");
	/* Silence. */
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	error_clear(&err);
	assert_int_equal(unpack_with(pair[0], (struct copy_unpack){ .stall_ms = 50 }, &err), -1);
	assert_error(&err, ERROR_TIMEOUT, "nothing came for");
	(void)close(pair[1]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = { T(test_a_tree), T(test_one_file_whatever_its_name),
		T(test_beginnings), T(test_paths_out), T(test_links_out), T(test_through_a_link),
		T(test_twice), T(test_what_is_no_file), T(test_modes), T(test_sparse),
		T(test_a_terabyte), T(test_many_entries), T(test_cut_short), T(test_nonsense),
		T(test_endless) };

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)umask(077);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

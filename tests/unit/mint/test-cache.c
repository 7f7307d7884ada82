/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mint/cache.h"

static char folder[] = "/tmp/test-cache.XXXXXX";

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

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void test_a_work_folder_goes_with_its_owner(void **state)
{
	_cleanup_cache_ struct cache c = { 0 };
	struct cache_work w = CACHE_WORK_NONE;
	_cleanup_free_ char *path = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(cache_open(folder, &c, &err), &err);
	assert_ok(cache_work_open(&c, &w, &err), &err);
	path = str_dup(w.path, &err);
	assert_true(there(path));
	cache_work_done(&w);
	assert_false(there(path));
	assert_null(w.path);
}

/* A child makes a work folder and is killed; *ret is its path. */
static void killed_mint(const struct cache *c, char path[256])
{
	int ends[2], status;
	pid_t pid;
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct cache_work w = CACHE_WORK_NONE;
		struct error err = { 0 };

		if (cache_work_open(c, &w, &err) < 0)
			_exit(1);
		(void)!write(ends[1], w.path, strlen(w.path));
		(void)raise(SIGKILL);
	}
	(void)close(ends[1]);
	n = read(ends[0], path, 255);
	assert_true(n > 0);
	path[n] = '\0';
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void test_the_sweep_takes_leftovers_and_no_running_mint(void **state)
{
	_cleanup_cache_ struct cache c = { 0 };
	struct cache_work w = CACHE_WORK_NONE;
	struct error err = { 0 };
	char path[256];

	(void)state;
	assert_ok(cache_open(folder, &c, &err), &err);
	killed_mint(&c, path);
	assert_true(there(path));
	assert_ok(cache_work_open(&c, &w, &err), &err);
	assert_ok(cache_sweep(&c, &err), &err);
	assert_false(there(path));
	assert_true(there(w.path));
	cache_work_done(&w);
}

/* Make "work/<name>" and in it "lock" as a link to that, or no lock at all. */
static void left_folder(const struct cache *c, const char *name, const char *link, char path[256])
{
	char lock[300];

	(void)snprintf(path, 256, "%s/%s", c->work, name);
	(void)snprintf(lock, sizeof(lock), "%s/lock", path);
	assert_int_equal(mkdir(path, 0755), 0);
	if (link)
		assert_int_equal(symlink(link, lock), 0);
}

/* Killed before it had a lock: gone. A lock that cannot be opened may be somebody's: it stays. */
static void test_the_sweep_leaves_what_it_cannot_ask(void **state)
{
	_cleanup_cache_ struct cache c = { 0 }, again = { 0 };
	struct error err = { 0 };
	char fresh[256], bare[256], doubtful[256];

	(void)state;
	assert_ok(cache_open(folder, &c, &err), &err);
	left_folder(&c, "new-00000001", NULL, fresh);
	left_folder(&c, "mint-00000002", NULL, bare);
	left_folder(&c, "mint-00000003", "nowhere", doubtful);
	assert_ok(cache_sweep(&c, &err), &err);
	assert_false(there(fresh));
	assert_false(there(bare));
	assert_true(there(doubtful));
	assert_ok(cache_open(folder, &again, &err), &err);
	assert_true(there(doubtful));
	assert_ok(file_remove_tree(doubtful, &err), &err);
}

static int waited;

static void count_wait(const char *volume)
{
	(void)volume;
	waited++;
}

/* The second of two mints of one image waits for the first, and says so once. */
static void test_a_lock_is_waited_for(void **state)
{
	_cleanup_cache_ struct cache c = { 0 };
	struct error err = { 0 };
	int ends[2], other, status;
	char byte;
	pid_t pid;

	(void)state;
	assert_ok(cache_open(folder, &c, &err), &err);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		int lock = cache_lock(&c, "golden-x-1.qcow2", NULL, &err);

		(void)!write(ends[1], "x", 1);
		/* held until the parent is about to wait for it: 200 ms are enough to get there */
		usleep(200000);
		(void)close(lock);
		_exit(lock < 0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	other = cache_lock(&c, "golden-y-1.qcow2", count_wait, &err);
	assert_true(other >= 0);
	assert_int_equal(waited, 0);
	(void)close(other);
	other = cache_lock(&c, "golden-x-1.qcow2", count_wait, &err);
	assert_true(other >= 0);
	assert_int_equal(waited, 1);
	(void)close(other);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_publish_moves_a_file_in(void **state)
{
	_cleanup_cache_ struct cache c = { 0 };
	struct cache_work w = CACHE_WORK_NONE;
	_cleanup_free_ char *from = NULL, *to = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(cache_open(folder, &c, &err), &err);
	assert_ok(cache_work_open(&c, &w, &err), &err);
	from = str_format(&err, "%s/a", w.path);
	to = cache_image(&c, "base-x.qcow2", &err);
	assert_ok(file_replace(AT_FDCWD, from, "x", 1, 0644, &err), &err);
	assert_ok(cache_publish(&c, from, "base-x.qcow2", &err), &err);
	assert_true(there(to));
	assert_int_equal(cache_publish(&c, from, "base-x.qcow2", &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot move");
	cache_work_done(&w);
}

/* A volume counts with its manifest; without one it stays only while somebody mints it. */
static void test_the_sweep_takes_volumes_without_a_manifest(void **state)
{
	static const char *const files[] = { "base-a-1.qcow2", "base-a-1.tar", "base-a-1.json",
		"base-b-1.qcow2", "base-b-1.tar", "golden-c-1.qcow2", "seed-1.iso" };
	static const bool stays[] = { true, true, true, false, false, true, true };
	_cleanup_cache_ struct cache c = { 0 };
	struct error err = { 0 };
	int lock;

	(void)state;
	assert_ok(cache_open(folder, &c, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		_cleanup_free_ char *path = cache_image(&c, files[i], &err);

		assert_ok(file_replace(AT_FDCWD, path, "x", 1, 0644, &err), &err);
	}
	lock = cache_lock(&c, "golden-c-1.qcow2", NULL, &err);
	assert_true(lock >= 0);
	assert_ok(cache_sweep(&c, &err), &err);
	(void)close(lock);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		_cleanup_free_ char *path = cache_image(&c, files[i], &err);

		if (there(path) != stays[i])
			fail_msg("'%s' %s", files[i], stays[i] ? "is gone" : "is still there");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_work_folder_goes_with_its_owner),
		cmocka_unit_test(test_the_sweep_takes_leftovers_and_no_running_mint),
		cmocka_unit_test(test_the_sweep_leaves_what_it_cannot_ask),
		cmocka_unit_test(test_a_lock_is_waited_for),
		cmocka_unit_test(test_publish_moves_a_file_in),
		cmocka_unit_test(test_the_sweep_takes_volumes_without_a_manifest),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against libvirt's test driver: each process would have its own, so contenders are made by hand. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "tests/unit/vmm/any-may-go.h"
#include "vmm/lock.h"

#define UUID "01234567-89ab-4cde-8f01-23456789abcd"
#define OTHER "11234567-89ab-4cde-8f01-23456789abcd"

struct fixture {
	virConnectPtr conn;
	virStoragePoolPtr pool;
};

static int set_up(void **state)
{
	static struct fixture f;
	struct error err = { 0 };

	f.conn = virt_open("test:///default", &err);
	if (!f.conn || pool_setup(f.conn, NULL, &err) < 0)
		return -1;
	f.pool = pool_open(f.conn, &err);
	*state = &f;
	return f.pool ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };
	int ret = pool_teardown(f->conn, any_may_go, NULL, &err);

	(void)virStoragePoolFree(f->pool);
	(void)virConnectClose(f->conn);
	return ret;
}

static size_t count_locks(virStoragePoolPtr pool)
{
	struct error err = { 0 };
	struct lock_holders holders = VEC_INIT;
	size_t len;

	assert_ok(lock_list(pool, &holders, &err), &err);
	len = holders.len;
	lock_holders_done(&holders);
	return len;
}

/* Put a lock of somebody else's into the pool. */
static void plant(virStoragePoolPtr pool, const struct lock_holder *holder)
{
	struct error err = { 0 };
	char name[POOL_NAME_MAX];

	lock_name_format(holder, name);
	assert_ok(pool_create_raw(pool, name, 0, &err), &err);
}

/* A child process of ours that has ended: its pid and start time, dead beyond doubt. */
static void fill_dead(struct lock_holder *h)
{
	struct error err = { 0 };
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct lock_holder self;

		if (lock_self(UUID, &self, &err) < 0 ||
			write(ends[1], &self, sizeof(self)) != (ssize_t)sizeof(self))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ends[0], h, sizeof(*h)), sizeof(*h));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
}

static void test_name_round_trip(void **state)
{
	struct error err = { 0 };
	struct lock_holder self, back;
	char name[POOL_NAME_MAX], again[POOL_NAME_MAX];

	(void)state;
	assert_ok(lock_self(UUID, &self, &err), &err);
	strcpy(self.who, "ann-b@my-desk.example");
	lock_name_format(&self, name);
	assert_true(lock_name_parse(name, &back));
	lock_name_format(&back, again);
	assert_string_equal(name, again);
	assert_string_equal(back.who, self.who);
	assert_int_equal(back.pid, getpid());
}

static void test_other_names_are_no_locks(void **state)
{
	static const char *const names[] = { "", "lock-", "lock-" UUID, "lock-" UUID "-",
		"box-" UUID "-1.qcow2", "lock-" UUID "-1-0-3-a-b-4-me@h",
		"lock-" UUID "-x-2-3-a-b-4-me@h", "lock-" UUID "-1-2-3-a--4-me@h",
		"lock-" UUID "-99999999999999999999999-2-3-a-b-4-me@h" };
	struct lock_holder h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_false(lock_name_parse(names[i], &h));
}

static void test_one_holder_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };
	_cleanup_(lock_release_p) struct box_lock *other = NULL;
	struct box_lock *lock = lock_take(f->pool, UUID, "web", 0, &err);
	struct box_lock *second;

	assert_non_null(lock);
	assert_non_null(strstr(lock_who(lock), " pid "));
	second = lock_take(f->pool, UUID, "web", 0, &err);
	assert_null(second);
	assert_error(&err, ERROR_BUSY, "box 'web' is busy: ");
	assert_int_equal(count_locks(f->pool), 1);
	other = lock_take(f->pool, OTHER, "db", 0, &err);
	assert_non_null(other);
	lock_release(lock);
	lock = lock_take(f->pool, UUID, "web", 0, &err);
	assert_non_null(lock);
	lock_release(lock);
	assert_int_equal(count_locks(f->pool), 1);
}

static void test_a_dead_holder_is_taken_over(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };
	struct lock_holder dead, reused;
	struct box_lock *lock;

	fill_dead(&dead);
	assert_int_equal(lock_judge(&dead), LOCK_DEAD);
	assert_ok(lock_self(UUID, &reused, &err), &err);
	reused.start++; /* our pid, but another process had it then */
	assert_int_equal(lock_judge(&reused), LOCK_DEAD);
	plant(f->pool, &dead);
	plant(f->pool, &reused);
	lock = lock_take(f->pool, UUID, "web", 0, &err);
	assert_non_null(lock);
	assert_int_equal(count_locks(f->pool), 1);
	lock_release(lock);
	assert_int_equal(count_locks(f->pool), 0);
}

static void test_a_holder_elsewhere_is_respected_and_named(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };
	struct lock_holder far;
	char name[POOL_NAME_MAX];

	fill_dead(&far);
	strcpy(far.machine, "feedfeedfeedfeed");
	strcpy(far.boot, "beefbeefbeefbeef");
	strcpy(far.who, "bob@other");
	assert_int_equal(lock_judge(&far), LOCK_ELSEWHERE);
	plant(f->pool, &far);
	assert_null(lock_take(f->pool, UUID, "web", 30, &err));
	assert_error(&err, ERROR_BUSY, "bob@other");
	assert_error(&err, ERROR_BUSY, "virsh vol-delete --pool box lock-" UUID);
	lock_name_format(&far, name);
	assert_ok(pool_delete(f->pool, name, &err), &err);
}

static void test_another_boot_of_this_machine_is_dead(void **state)
{
	struct error err = { 0 };
	struct lock_holder h;

	(void)state;
	assert_ok(lock_self(UUID, &h, &err), &err);
	assert_int_equal(lock_judge(&h), LOCK_ALIVE);
	strcpy(h.boot, "beefbeefbeefbeef");
	assert_int_equal(lock_judge(&h), str_equal(h.machine, "0") ? LOCK_ELSEWHERE : LOCK_DEAD);
	strcpy(strrchr(h.who, '@'), "@copy"); /* of this machine, its machine-id included */
	assert_int_equal(lock_judge(&h), LOCK_ELSEWHERE);
	assert_ok(lock_self(UUID, &h, &err), &err);
	h.pidns++;
	assert_int_equal(lock_judge(&h), LOCK_ELSEWHERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_round_trip),
		cmocka_unit_test(test_other_names_are_no_locks),
		cmocka_unit_test(test_one_holder_at_a_time),
		cmocka_unit_test(test_a_dead_holder_is_taken_over),
		cmocka_unit_test(test_a_holder_elsewhere_is_respected_and_named),
		cmocka_unit_test(test_another_boot_of_this_machine_is_dead),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

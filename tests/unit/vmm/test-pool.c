/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against libvirt's test driver, whose pools live in memory; streams are tested in the lab. */
#include "tests/unit/test.h"

#include "tests/unit/vmm/any-may-go.h"
#include "vmm/pool.h"

static int open_pool(void **state)
{
	struct error err = { 0 };

	*state = virt_open("test:///default", &err);
	return *state ? 0 : -1;
}

static int close_pool(void **state)
{
	return virConnectClose(*state) < 0 ? -1 : 0;
}

static void test_setup_is_idempotent_and_teardown_leaves_nothing(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	bool changed = false;

	assert_null(pool_open(conn, &err));
	assert_error(&err, ERROR_NOT_FOUND, "run: box setup-host");
	assert_ok(pool_setup(conn, &changed, &err), &err);
	assert_true(changed);
	assert_ok(pool_setup(conn, &changed, &err), &err);
	assert_false(changed);
	pool = pool_open(conn, &err);
	assert_non_null(pool);
	assert_ok(pool_create_raw(pool, "lost", 4096, &err), &err);
	assert_ok(pool_teardown(conn, any_may_go, NULL, &err), &err);
	assert_null(pool_open(conn, &err));
	assert_ok(pool_teardown(conn, any_may_go, NULL, &err), &err);
}

static void test_a_pool_that_is_no_folder_is_not_ours(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = virStoragePoolDefineXML(conn,
		"<pool type='logical'><name>box</name><source><name>vg</name></source>"
		"<target><path>/dev/vg</path></target></pool>",
		0);

	assert_non_null(pool);
	assert_int_equal(pool_setup(conn, NULL, &err), -1);
	assert_error(&err, ERROR_EXISTS, "exists and is not a folder");
	assert_int_equal(pool_teardown(conn, any_may_go, NULL, &err), -1);
	assert_int_equal(virStoragePoolUndefine(pool), 0);
}

static void test_volumes_are_made_found_and_deleted(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_free_ char *path = NULL;
	struct pool_size size = { 0 };
	uint64_t left = 0;

	assert_ok(pool_setup(conn, NULL, &err), &err);
	pool = pool_open(conn, &err);
	assert_non_null(pool);
	assert_int_equal(pool_has(pool, "a", &err), 0);
	assert_ok(pool_create_raw(pool, "a", 1 << 20, &err), &err);
	assert_int_equal(pool_has(pool, "a", &err), 1);
	assert_int_equal(pool_create_raw(pool, "a", 1 << 20, &err), -1);
	assert_error(&err, ERROR_EXISTS, "cannot create the volume 'a'");
	assert_ok(pool_volume_size(pool, "a", &size, &err), &err);
	assert_int_equal(size.capacity, 1 << 20);
	path = pool_path(pool, "a", &err);
	assert_string_equal(path, POOL_PATH "/a");
	assert_ok(pool_create_layer(pool, "b", "a", 0, &err), &err);
	assert_ok(pool_volume_size(pool, "b", &size, &err), &err);
	assert_int_equal(size.capacity, 1 << 20);
	assert_int_equal(pool_create_layer(pool, "c", "nope", 0, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot find the volume 'nope'");
	assert_ok(pool_free_bytes(pool, &left, &err), &err);
	assert_int_equal(pool_need(pool, left + 1, "box 'web'", &err), -1);
	assert_error(&err, ERROR_NO_SPACE, "too full for box 'web'");
	assert_ok(pool_need(pool, left, "box 'web'", &err), &err);
	assert_ok(pool_delete(pool, "b", &err), &err);
	assert_ok(pool_delete(pool, "a", &err), &err);
	assert_ok(pool_delete(pool, "a", &err), &err);
	assert_ok(pool_teardown(conn, any_may_go, NULL, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup_is_idempotent_and_teardown_leaves_nothing),
		cmocka_unit_test(test_a_pool_that_is_no_folder_is_not_ours),
		cmocka_unit_test(test_volumes_are_made_found_and_deleted),
	};

	return cmocka_run_group_tests(tests, open_pool, close_pool);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The refusals of new_plan, against libvirt's test driver. Making boxes is tested in the lab. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "vmm/network.h"
#include "vmm/new.h"
#include "vmm/pool.h"

static const struct new_image image = {
	.template = "blank", .user = "dev", .volume = "golden", .seed = "seed"
};
static const struct resources template = { .cpus = 1, .memory = 1ull << 30, .disk = 1 << 20 };

static int open_conn(void **state)
{
	struct error err = { 0 };

	setenv("BOX_ACCEL", "tcg", 1);
	*state = virt_open("test:///default", &err);
	return *state ? 0 : -1;
}

static int close_conn(void **state)
{
	return virConnectClose(*state) < 0 ? -1 : 0;
}

static struct new_request request(const char *name)
{
	return (struct new_request){ .name = name, .image = &image, .template = &template };
}

static void refuses(
	virConnectPtr conn, const struct new_request *r, enum error_kind kind, const char *part)
{
	struct error err = { 0 };
	struct new_plan plan = { 0 };

	assert_int_equal(new_plan(conn, r, &plan, &err), -1);
	assert_error(&err, kind, part);
	assert_string_equal(plan.name, "");
}

static void test_everything_that_can_be_refused_is_refused_first(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	struct new_request r = request("web");
	struct new_plan plan = { 0 };
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;

	refuses(conn, &r, ERROR_NOT_FOUND, "box setup-host");
	assert_ok(pool_setup(conn, NULL, &err), &err);
	refuses(conn, &r, ERROR_NOT_FOUND, "it has no network 'boxnet'; run: box setup-host");
	assert_ok(network_setup(conn,
			  "<network><name>boxnet</name><bridge name='boxnet'/>"
			  "<ip address='10.88.0.1' netmask='255.255.255.0'><dhcp/></ip></network>",
			  NULL, &err),
		&err);
	refuses(conn, &r, ERROR_NOT_FOUND, "cannot find the volume 'golden'");
	pool = pool_open(conn, &err);
	assert_ok(pool_create_raw(pool, "golden", 1 << 20, &err), &err);
	assert_ok(new_plan(conn, &r, &plan, &err), &err);
	assert_string_equal(plan.name, "web");
	assert_true(plan.tcg);
	r = request("test"); /* the driver's own domain, which is not ours */
	refuses(conn, &r, ERROR_EXISTS, "the name 'test' is taken");
	r = request("all");
	refuses(conn, &r, ERROR_USAGE, "all");
	r = request("Web");
	refuses(conn, &r, ERROR_USAGE, "Web");
	r = request("web");
	r.flags.cpus = "500";
	refuses(conn, &r, ERROR_USAGE, "--cpu 500: this host has");
	setenv("BOX_ACCEL", "hvf", 1);
	r = request("web");
	refuses(conn, &r, ERROR_USAGE, "BOX_ACCEL must be kvm or tcg");
	setenv("BOX_ACCEL", "tcg", 1);
}

static void test_a_name_is_chosen_after_the_template(void **state)
{
	static const char *const names[] = { "codex-1", "codex-3", "codex", "code-2" };
	char name[BOX_NAME_MAX];

	(void)state;
	new_choose_name("codex", names, ARRAY_LEN(names), name);
	assert_string_equal(name, "codex-2");
	new_choose_name("blank", names, ARRAY_LEN(names), name);
	assert_string_equal(name, "blank-1");
	new_choose_name("codex", names, 0, name);
	assert_string_equal(name, "codex-1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_that_can_be_refused_is_refused_first),
		cmocka_unit_test(test_a_name_is_chosen_after_the_template),
	};

	return cmocka_run_group_tests(tests, open_conn, close_conn);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "vmm/resources.h"

#define GiB (1ull << 30)

static const struct resources_limits limits = {
	.cpus = 8,
	.memory = 16 * GiB,
	.pool = 100 * GiB,
	.image = 3 * GiB,
};
static const struct resources blank = { .cpus = 2, .memory = 2 * GiB, .disk = 20 * GiB };
static const struct resources unsaid = { 0 };

static void clear_environment(void)
{
	unsetenv("BOX_CPU");
	unsetenv("BOX_MEMORY");
	unsetenv("BOX_DISK");
}

static void test_flag_then_environment_then_template_then_default(void **state)
{
	struct error err = { 0 };
	struct resources_wish flag = { 0 };
	struct resources r = { 0 };

	(void)state;
	clear_environment();
	assert_ok(resources_resolve(&flag, &unsaid, &limits, &r, &err), &err);
	assert_int_equal(r.cpus, 4);
	assert_int_equal(r.memory, 8 * GiB);
	assert_int_equal(r.disk, 60 * GiB);
	assert_ok(resources_resolve(&flag, &blank, &limits, &r, &err), &err);
	assert_int_equal(r.cpus, 2);
	assert_int_equal(r.memory, 2 * GiB);
	assert_int_equal(r.disk, 20 * GiB);
	setenv("BOX_CPU", "3", 1);
	setenv("BOX_MEMORY", "3GiB", 1);
	setenv("BOX_DISK", "30GiB", 1);
	assert_ok(resources_resolve(&flag, &blank, &limits, &r, &err), &err);
	assert_int_equal(r.cpus, 3);
	assert_int_equal(r.memory, 3 * GiB);
	assert_int_equal(r.disk, 30 * GiB);
	flag = (struct resources_wish){ .cpus = "5", .memory = "768MiB", .disk = "100GiB" };
	assert_ok(resources_resolve(&flag, &blank, &limits, &r, &err), &err);
	assert_int_equal(r.cpus, 5);
	assert_int_equal(r.memory, 768ull << 20);
	assert_int_equal(r.disk, 100 * GiB);
	clear_environment();
}

static void refuses(struct resources_wish flag, enum error_kind kind, const char *part)
{
	struct error err = { 0 };
	struct resources r = { .cpus = 77 };

	assert_int_equal(resources_resolve(&flag, &blank, &limits, &r, &err), -1);
	assert_error(&err, kind, part);
	assert_int_equal(r.cpus, 77);
}

static void test_what_the_host_cannot_give_is_refused(void **state)
{
	(void)state;
	clear_environment();
	refuses((struct resources_wish){ .cpus = "9" }, ERROR_USAGE,
		"--cpu 9: this host has 8 CPUs");
	refuses((struct resources_wish){ .cpus = "0" }, ERROR_USAGE, "--cpu");
	refuses((struct resources_wish){ .memory = "17GiB" }, ERROR_USAGE,
		"--memory 17GiB: this host has 16GiB of memory");
	refuses((struct resources_wish){ .memory = "255MiB" }, ERROR_USAGE, "at least 256MiB");
	refuses((struct resources_wish){ .memory = "2" }, ERROR_USAGE, "--memory");
	refuses((struct resources_wish){ .disk = "2GiB" }, ERROR_USAGE,
		"the image's disk has 3GiB, and a disk can only grow");
	refuses((struct resources_wish){ .disk = "101GiB" }, ERROR_USAGE,
		"the storage pool can hold 100GiB");
	setenv("BOX_CPU", "many", 1);
	refuses((struct resources_wish){ 0 }, ERROR_USAGE, "BOX_CPU");
	clear_environment();
}

static void test_wishes_of_a_template_are_fitted(void **state)
{
	struct error err = { 0 };
	struct resources_wish flag = { 0 };
	struct resources big = { .cpus = 64, .memory = 2 * GiB, .disk = GiB };
	struct resources r = { 0 };

	(void)state;
	clear_environment();
	assert_ok(resources_resolve(&flag, &big, &limits, &r, &err), &err);
	assert_int_equal(r.cpus, 8);
	assert_int_equal(r.disk, 3 * GiB);
	big.memory = 32 * GiB;
	assert_int_equal(resources_resolve(&flag, &big, &limits, &r, &err), -1);
	assert_error(
		&err, ERROR_FAILED, "the template wants 32GiB of memory and this host has 16GiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flag_then_environment_then_template_then_default),
		cmocka_unit_test(test_what_the_host_cannot_give_is_refused),
		cmocka_unit_test(test_wishes_of_a_template_are_fitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against libvirt's own test driver and against addresses where nothing listens. */
#include "base/clock.h"
#include "tests/unit/test.h"

#include <unistd.h>

#include "vmm/virt.h"

static void test_uri_order(void **state)
{
	(void)state;
	unsetenv("LIBVIRT_DEFAULT_URI");
	assert_string_equal(virt_uri(NULL), "qemu:///system");
	assert_string_equal(virt_uri(""), "qemu:///system");
	setenv("LIBVIRT_DEFAULT_URI", "test:///default", 1);
	assert_string_equal(virt_uri(NULL), "test:///default");
	assert_string_equal(virt_uri("qemu+ssh://h/system"), "qemu+ssh://h/system");
	unsetenv("LIBVIRT_DEFAULT_URI");
}

static void test_open_and_error_kinds(void **state)
{
	struct error err = { 0 };
	_cleanup_(virConnectClose_p) virConnectPtr conn = virt_open("test:///default", &err);
	_cleanup_(virDomainFree_p) virDomainPtr dom = NULL;

	(void)state;
	assert_non_null(conn);
	assert_true(virt_is_local(conn));
	dom = virDomainLookupByName(conn, "nope");
	assert_null(dom);
	assert_int_equal(virt_last_code(), VIR_ERR_NO_DOMAIN);
	assert_int_equal(error_virt(&err, "cannot find '%s'", "nope"), -1);
	assert_error(&err, ERROR_NOT_FOUND, "cannot find 'nope': Domain not found");
}

static void fails_to_open(const char *uri, enum error_kind kind, const char *part)
{
	struct error err = { 0 };

	assert_null(virt_open(uri, &err));
	assert_error(&err, kind, "cannot connect to libvirt at '");
	assert_error(&err, kind, part);
}

static void test_open_says_what_to_do(void **state)
{
	(void)state;
	fails_to_open("qemu+unix:///system?socket=/nonexistent/libvirt-sock", ERROR_UNREACHABLE,
		"is libvirtd running there?");
	fails_to_open("qemu+tcp://127.0.0.1:1/system", ERROR_UNREACHABLE, "is libvirtd running");
	fails_to_open("garbage", ERROR_UNREACHABLE, "the URI must name a driver");
}

static void raise_flag(int timer, void *data)
{
	(void)virEventRemoveTimeout(timer);
	*(bool *)data = true;
}

static void test_wait_ends_by_event_deadline_or_signal(void **state)
{
	struct error err = { 0 };
	_cleanup_(virConnectClose_p) virConnectPtr conn = virt_open("test:///default", &err);
	volatile sig_atomic_t signalled = 0;
	bool done = false;
	uint64_t begin;

	(void)state;
	assert_true(virEventAddTimeout(5, raise_flag, &done, NULL) >= 0);
	assert_int_equal(virt_wait(conn, &done, clock_ms() + 60000, &err), 1);
	done = false;
	begin = clock_ms();
	assert_int_equal(virt_wait(conn, &done, begin + 20, &err), 0);
	assert_true(clock_ms() >= begin + 20);
	virt_interrupt_flag(&signalled);
	signalled = 1;
	assert_int_equal(virt_wait(conn, &done, clock_ms() + 20, &err), -1);
	assert_error(&err, ERROR_INTERRUPTED, "interrupted");
	virt_interrupt_flag(NULL);
}

static void test_wait_for_a_descriptor(void **state)
{
	struct error err = { 0 };
	_cleanup_(virConnectClose_p) virConnectPtr conn = virt_open("test:///default", &err);
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(virt_wait_readable(conn, ends[0], clock_ms() + 20, &err), 0);
	assert_int_equal(write(ends[1], "y", 1), 1);
	assert_int_equal(virt_wait_readable(conn, ends[0], clock_ms() + 60000, &err), 1);
	assert_int_equal(close(ends[1]), 0); /* end of file counts */
	assert_int_equal(virt_wait_readable(conn, ends[0], clock_ms() + 60000, &err), 1);
	assert_int_equal(close(ends[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uri_order),
		cmocka_unit_test(test_open_and_error_kinds),
		cmocka_unit_test(test_open_says_what_to_do),
		cmocka_unit_test(test_wait_ends_by_event_deadline_or_signal),
		cmocka_unit_test(test_wait_for_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

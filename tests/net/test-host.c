/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Setting a host up and taking it down again, in a folder that stands for / and a network namespace of
 * the test's own. Needs root.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/host-files.h"
#include "net/nft.h"
#include "net/record.h"

static char root[64], program[96], config_path[96], ports_path[96];
static struct isolation_paths paths;

static int setup(void **state)
{
	struct error err = { 0 };

	(void)state;
	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	(void)snprintf(root, sizeof(root), "/tmp/box-host-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	(void)snprintf(program, sizeof(program), "%s/box-hook", root);
	(void)snprintf(config_path, sizeof(config_path), "%s" NET_CONFIG_PATH, root);
	(void)snprintf(ports_path, sizeof(ports_path), "%s/run/box/ports", root);
	paths = (struct isolation_paths){ config_path, ports_path, "/nonexistent",
		"/proc/sys/net/ipv4" };
	return file_replace(AT_FDCWD, program, "hook", 4, 0755, &err);
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(root, &err);
}

static bool there(const char *path)
{
	struct stat st;
	char full[256];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	return lstat(full, &st) == 0;
}

static struct host host_of(const char *subnet)
{
	return (struct host){
		.root = root,
		.program = program,
		.subnet = subnet,
		.paths = &paths,
	};
}

static void set_up(struct host *h)
{
	struct error err = { 0 };

	assert_ok(host_plan(h, &err), &err);
	assert_ok(host_setup(h, NULL, &err), &err);
}

static void assert_clean(void)
{
	_cleanup_nft_differences_ struct nft_differences d = VEC_INIT;
	struct error err = { 0 };

	assert_ok(isolation_check(&paths, &d, &err), &err);
	if (d.len > 0)
		fail_msg("%s", d.items[0]);
}

static void test_second_run_changes_nothing(void **state)
{
	struct host first = host_of(NULL), second = host_of(NULL);

	(void)state;
	set_up(&first);
	assert_true(first.changed);
	assert_true(first.restart_libvirt); /* no systemd in this root */
	assert_false(first.existing);
	assert_int_equal(first.config.subnet, 0x0a580000);
	assert_true(there(HOST_HOOK_QEMU));
	assert_true(there(HOST_HOOK_NETWORK));
	assert_false(there("/etc/systemd"));
	assert_clean();
	set_up(&second);
	assert_false(second.changed);
	assert_false(second.restart_libvirt);
	assert_true(second.existing);
	host_done(&first);
	host_done(&second);
}

static void test_a_changed_hook_is_replaced(void **state)
{
	struct host first = host_of(NULL), second = host_of(NULL);
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	char path[160];

	(void)state;
	set_up(&first);
	assert_ok(file_replace(AT_FDCWD, program, "newer", 5, 0755, &err), &err);
	set_up(&second);
	assert_true(second.changed);
	assert_false(second.restart_libvirt); /* libvirtd finds it by its name */
	(void)snprintf(path, sizeof(path), "%s" HOST_HOOK_QEMU, root);
	assert_ok(file_read(AT_FDCWD, path, 64, &text, &err), &err);
	assert_string_equal(str_get(&text), "newer");
	host_done(&first);
	host_done(&second);
}

static void test_refusals_come_before_any_change(void **state)
{
	static const struct {
		const char *subnet, *dns, *text;
	} rows[] = {
		{ "8.8.8.0/24", NULL, "is not private" },
		{ "10.88.0.0", NULL, "BOX_SUBNET" },
		{ NULL, "192.168.1.1", "is not public" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host h = host_of(rows[i].subnet);
		struct error err = { 0 };

		h.dns = rows[i].dns;
		assert_int_equal(host_plan(&h, &err), -1);
		assert_error(&err, ERROR_USAGE, rows[i].text);
		assert_false(there("/etc"));
		host_done(&h);
	}
}

static void test_another_subnet_is_refused_when_set_up(void **state)
{
	struct host first = host_of("172.30.0.0/24"), second = host_of("10.99.0.0/24"),
		    third = host_of(NULL);
	struct error err = { 0 };

	(void)state;
	set_up(&first);
	assert_int_equal(host_plan(&second, &err), -1);
	assert_error(&err, ERROR_BUSY, "this host is set up with 172.30.0.0/24");
	set_up(&third);
	assert_int_equal(third.config.subnet, 0xac1e0000);
	assert_false(third.changed);
	host_done(&first);
	host_done(&second);
	host_done(&third);
}

/* Killed by a fault after each step in turn: what the step did is undone. */
static void test_a_failed_setup_leaves_nothing(void **state)
{
	static const char *const faults[] = { "setup-host.0", "setup-host.files",
		"setup-host.rules", "setup-host.systemd", "setup-host.libvirt" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct host h = host_of(NULL);
		struct error err = { 0 };
		struct nl *nl = nl_open(NETLINK_NETFILTER, &err);

		setenv("BOX_FAULT", faults[i], 1);
		assert_ok(host_plan(&h, &err), &err);
		assert_int_equal(host_setup(&h, NULL, &err), -1);
		unsetenv("BOX_FAULT");
		assert_false(there(NET_CONFIG_PATH));
		assert_false(there(HOST_HOOK_QEMU));
		assert_int_equal(nft_present(nl, &err), 0);
		nl_close(nl);
		host_done(&h);
	}
}

static void test_teardown_leaves_nothing(void **state)
{
	struct host first = host_of(NULL), down = host_of(NULL);
	struct host_names left = VEC_INIT;
	struct error err = { 0 };
	bool changed = false;

	(void)state;
	set_up(&first);
	assert_ok(host_leftovers(&first, &left, &err), &err);
	assert_int_equal(left.len, 5); /* tables, configuration, two hooks, records */
	host_names_free(&left);
	assert_ok(host_teardown(&down, &changed, &err), &err);
	assert_true(changed);
	assert_ok(host_leftovers(&down, &left, &err), &err);
	assert_int_equal(left.len, 0);
	assert_false(there(NET_CONFIG_PATH));
	assert_false(there("/etc/libvirt/hooks/qemu.d"));
	assert_false(there("/run/box"));
	host_done(&down);
	assert_ok(host_teardown(&down, &changed, &err), &err);
	assert_false(changed);
	host_done(&first);
	host_done(&down);
}

static void test_teardown_keeps_others_hooks(void **state)
{
	struct host first = host_of(NULL), down = host_of(NULL);
	struct error err = { 0 };
	bool changed = false;
	char path[160];

	(void)state;
	set_up(&first);
	(void)snprintf(path, sizeof(path), "%s/etc/libvirt/hooks/qemu.d/other", root);
	assert_ok(file_replace(AT_FDCWD, path, "x", 1, 0755, &err), &err);
	assert_ok(host_teardown(&down, &changed, &err), &err);
	assert_true(there("/etc/libvirt/hooks/qemu.d/other"));
	host_done(&first);
	host_done(&down);
}

static void test_teardown_is_refused_while_a_box_runs(void **state)
{
	static const struct net_port port = {
		.uuid = "00000001-0000-4000-8000-000000000000",
		.tap = "bxt00000001",
		.mac = { 0x52, 0x54, 0, 0, 0, 1 },
		.addr = 0x0a580002,
	};
	struct host first = host_of(NULL), down = host_of(NULL);
	struct error err = { 0 };
	bool changed = false;

	(void)state;
	set_up(&first);
	assert_ok(isolation_admit(&paths, &port, &err), &err);
	assert_int_equal(host_teardown(&down, &changed, &err), -1);
	assert_error(&err, ERROR_BUSY, "box down all");
	assert_clean();
	assert_true(there(NET_CONFIG_PATH));
	host_done(&first);
	host_done(&down);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_second_run_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_changed_hook_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_refusals_come_before_any_change, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_another_subnet_is_refused_when_set_up, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_failed_setup_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_teardown_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_teardown_keeps_others_hooks, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_teardown_is_refused_while_a_box_runs, setup, teardown),
	};

	if (unshare(CLONE_NEWNET) < 0) {
		printf("skipped: cannot make a network namespace: %s\n", strerror(errno));
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/golden.h"

#include "net/host-files.h"

static const struct host_file *find(const struct host *h, const char *part)
{
	for (size_t i = 0; i < h->n_files; i++) {
		if (strstr(h->files[i].path, part))
			return &h->files[i];
	}
	fail_msg("no file with '%s'", part);
	return NULL;
}

static void test_what_systemd_gets(void **state)
{
	_cleanup_host_ struct host h = {
		.root = "",
		.program = "/bin/true",
		.units = GOLDEN_DIR "/../../net/systemd",
		.systemd = true,
	};
	struct error err = { 0 };

	(void)state;
	net_config_default(&h.config);
	assert_ok(host_files_plan(&h, true, &err), &err);
	/* What they run is there as long as the hooks are. */
	assert_non_null(strstr(find(&h, "box-isolation.service")->content,
		"\nExecStart=" HOST_HOOK_QEMU " apply\n"));
	assert_non_null(strstr(find(&h, "box-isolation.service")->content,
		"\nConditionPathExists=" NET_CONFIG_PATH "\n"));
	assert_non_null(strstr(find(&h, "nftables.service.d")->content,
		"\nExecReload=-" HOST_HOOK_QEMU " apply\n"));
	assert_golden("host/net.conf", find(&h, "net.conf")->content);
	assert_string_equal(find(&h, "multi-user.target.wants")->content,
		find(&h, "box-isolation.service")->path);
	assert_non_null(strstr(find(&h, "docker.service.d")->content,
		"\nExecStartPost=-" HOST_HOOK_QEMU " apply\n"));
	assert_int_equal(h.n_files, 7);
}

/* Without systemd there is no unit: the network hook brings the rules at boot. */
static void test_hosts_without_systemd_get_no_unit(void **state)
{
	_cleanup_host_ struct host h = { .root = "", .program = "/bin/true" };
	struct error err = { 0 };

	(void)state;
	net_config_default(&h.config);
	assert_ok(host_files_plan(&h, true, &err), &err);
	assert_int_equal(h.n_files, 3);
	assert_int_equal(find(&h, "qemu.d/box")->mode, 0755);
}

/* Teardown knows every path that setup could have made, and reads nothing for it. */
static void test_teardown_needs_no_files(void **state)
{
	_cleanup_host_ struct host h = { .root = "" };
	struct error err = { 0 };

	(void)state;
	net_config_default(&h.config);
	assert_ok(host_files_plan(&h, false, &err), &err);
	assert_int_equal(h.n_files, 7);
	assert_null(find(&h, "box-isolation.service")->content);
}

static void test_a_missing_program_is_told(void **state)
{
	_cleanup_host_ struct host h = { .root = "", .program = "/nonexistent/box-hook" };
	struct error err = { 0 };

	(void)state;
	net_config_default(&h.config);
	assert_int_equal(host_files_plan(&h, true, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "is box installed completely?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_systemd_gets),
		cmocka_unit_test(test_hosts_without_systemd_get_no_unit),
		cmocka_unit_test(test_teardown_needs_no_files),
		cmocka_unit_test(test_a_missing_program_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

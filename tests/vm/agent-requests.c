/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of the agent beside commands: identity, freeze, how far the first boot is. */
#include "tests/vm/agent-guest.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void test_identity(void **state)
{
	static const char seed[] =
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	const struct guest_identity items[] = {
		{ "uuid", "99999999-2222-3333-4444-555555555555" },
		{ "seed", seed },
		{ "clock", "2000000000.5" },
		{ "hostname", "second" },
		{ "machine-id", "new" },
		{ "mac", "52:54:00:99:99:99" },
	};
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT, info = VEC_INIT;
	_cleanup_(guest_close_p) struct guest *g = agent_session(7);
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	int status;

	(void)state;
	/* What the boot unit did, from SMBIOS alone. */
	assert_ok(guest_info(g, &agent_quick, &info, &err), &err);
	assert_string_equal(guest_items_get(&info, "hostname"), "first");
	assert_string_equal(
		guest_items_get(&info, "identity.uuid"), "11111111-2222-3333-4444-555555555555");
	assert_string_equal(guest_items_get(&info, "identity.instance-id"), "iid-1");
	assert_string_equal(guest_items_get(&info, "identity.made-for"), "mint");
	assert_string_equal(
		guest_items_get(&info, "machine-id"), "0123456789abcdef0123456789abcdef");
	assert_string_equal(guest_items_get(&info, "mac"), "52:54:00:11:11:11");
	assert_ok(guest_identity(g, items, ARRAY_LEN(items), &agent_quick, &answer, &err), &err);
	assert_string_equal(guest_items_get(&answer, "hostname"), "second");
	assert_string_equal(guest_items_get(&answer, "mac"), "52:54:00:99:99:99");
	assert_string_equal(guest_items_get(&answer, "seed"), "credited");
	text = agent_sh(g,
		"hostname; cat /sys/class/net/eth0/address /etc/hostname; date -u +%Y; wc -c </etc/machine-id;"
		"grep second /etc/hosts",
		&status);
	assert_string_equal(
		text, "second\n52:54:00:99:99:99\nsecond\n2033\n33\n127.0.1.1 second\n");
	free(text);
	text = agent_sh(g, "cat /etc/machine-id", &status);
	text[strcspn(text, "\n")] = 0;
	assert_string_equal(guest_items_get(&answer, "machine-id"), text);
	assert_string_not_equal(text, "0123456789abcdef0123456789abcdef");
	guest_items_free(&info);
	assert_ok(guest_info(g, &agent_quick, &info, &err), &err);
	assert_string_equal(
		guest_items_get(&info, "identity.uuid"), "99999999-2222-3333-4444-555555555555");
}

void test_identity_is_checked(void **state)
{
	const struct guest_identity bad[] = { { "hostname", "second" }, { "machine-id", "zzz" } };
	const struct guest_identity unknown[] = { { "shoe-size", "44" } };
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT;
	_cleanup_(guest_close_p) struct guest *g = agent_session(7);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(guest_identity(g, bad, 2, &agent_quick, &answer, &err), -1);
	assert_error(&err, ERROR_FAILED, "'machine-id': machine-id: not 32 lower-case hex digits");
	assert_string_equal(guest_items_get(&answer, "hostname"), "second");
	guest_items_free(&answer);
	error_clear(&err);
	assert_int_equal(guest_identity(g, unknown, 1, &agent_quick, &answer, &err), -1);
	assert_error(&err, ERROR_FAILED, "no identity item of that name");
}

void test_freeze(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = agent_session(8);
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(guest_freeze(g, 10000, &agent_quick, &err), &err);
	text = agent_sh_once(
		"(echo x >/mnt/during; echo written >/run/during) & sleep 0.5; cat /run/during 2>/dev/null; echo -");
	assert_string_equal(text, "-\n");
	assert_ok(guest_thaw(g, &agent_quick, &err), &err);
	free(text);
	text = agent_sh_once(
		"for i in $(seq 50); do [ -s /run/during ] && break; sleep 0.1; done; cat /run/during /mnt/during");
	assert_string_equal(text, "written\nx\n");
	/* A host that goes away leaves nothing frozen. */
	assert_ok(guest_freeze(g, 60000, &agent_quick, &err), &err);
	guest_close(TAKE(g));
	free(agent_sh_once("timeout 10 sh -c 'echo y >/mnt/after'"));
	/* Nor one that takes too long, and it is told. */
	g = agent_session(8);
	assert_ok(guest_freeze(g, 50, &agent_quick, &err), &err);
	free(agent_sh_once("timeout 10 sh -c 'echo y >/mnt/after'"));
	assert_int_equal(guest_thaw(g, &agent_quick, &err), -1);
	assert_error(&err, ERROR_TIMEOUT, "thawed its file systems before the end");
}

static void note_stage(const struct guest_stage *stage, void *data)
{
	str_printf(data, "%s%s", ((struct str *)data)->len ? "," : "", stage->name);
}

void write_stages(int port)
{
	struct guest *g = agent_session(port);
	int status;

	free(agent_sh(g,
		"mkdir -p /var/lib/cloud/data /run/cloud-init; ln -sf ../../var/lib/cloud/data/status.json /run/cloud-init/;"
		"w() { echo \"$1\" >/var/lib/cloud/data/t; mv /var/lib/cloud/data/t /var/lib/cloud/data/status.json; sleep 0.3; };"
		"w '{\"v1\":{\"stage\":\"init\"}}'; w '{\"v1\":{\"stage\":\"modules-config\"}}';"
		"w '{\"v1\":{\"stage\":null,\"modules-final\":{\"errors\":[],\"finished\":1.5}}}';"
		"/usr/lib/box/box-agent ready",
		&status));
	_exit(status);
}

void test_first_boot(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = agent_session(1);
	_cleanup_str_ struct str seen = STR_INIT;
	struct error err = { 0 };
	pid_t pid = agent_in_child("stages", 2);
	int status;

	(void)state;
	assert_ok(guest_wait_ready(g, "dev", &agent_quick, note_stage, &seen, &err), &err);
	assert_string_equal(
		str_get(&seen), "boot,cloud-init init,cloud-init modules-config,finishing,usable");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(guest_wait_ready(g, "ghost", &agent_quick, NULL, NULL, &err), -1);
	assert_error(&err, ERROR_FAILED,
		"the first boot of the box failed: the box's user does not exist");
}

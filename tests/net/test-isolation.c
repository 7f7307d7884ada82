/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack as hook, doctor and setup-host use it, against a real kernel in a network namespace of the
 * test's own: what is flushed, changed or added by hand is found, told and put right; boxes come and
 * go; nobody takes what is another's. Needs root.
 */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "net/hook.h"
#include "net/nft.h"
#include "net/record.h"

static char root[64], config_path[96], ports_path[96], status_path[96], proc_path[96];
static struct isolation_paths paths;

static const struct net_port web = {
	.uuid = "00000001-0000-4000-8000-000000000000",
	.tap = "bxt00000001",
	.mac = { 0x52, 0x54, 0, 0, 0, 1 },
	.addr = 0x0a580002,
};
static const struct net_port db = {
	.uuid = "00000002-0000-4000-8000-000000000000",
	.tap = "bxt00000002",
	.mac = { 0x52, 0x54, 0, 0, 0, 2 },
	.addr = 0x0a580003,
};

static void shell(const char *program, const char *line)
{
	const char *argv[] = { program, line, NULL };
	struct run run = { .argv = argv, .timeout_ms = 10000 };
	struct error err = { 0 };

	assert_ok(run_program(&run, NULL, &err), &err);
}

/* One command of nft, as an administrator would type it. */
static void nft(const char *line)
{
	shell("nft", line);
}

static void write_file(const char *path, const char *text)
{
	struct error err = { 0 };

	assert_ok(file_replace(AT_FDCWD, path, text, strlen(text), 0644, &err), &err);
}

/* A fresh network namespace and fresh folders for each test. */
static int setup(void **state)
{
	struct error err = { 0 };
	struct net_config config;
	_cleanup_str_ struct str text = STR_INIT;

	(void)state;
	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	(void)snprintf(root, sizeof(root), "/tmp/box-isolation-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	(void)snprintf(config_path, sizeof(config_path), "%s/net.conf", root);
	(void)snprintf(ports_path, sizeof(ports_path), "%s/run/ports", root);
	(void)snprintf(status_path, sizeof(status_path), "%s/status", root);
	(void)snprintf(proc_path, sizeof(proc_path), "/proc/sys/net/ipv4");
	paths = (struct isolation_paths){ config_path, ports_path, status_path, proc_path };
	net_config_default(&config);
	net_config_format(&config, &text);
	write_file(config_path, str_get(&text));
	return mkdir(status_path, 0755) < 0 ? error_errno(&err, errno, "mkdir") : 0;
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(root, &err);
}

static void admit(const struct net_port *port)
{
	struct error err = { 0 };

	assert_ok(isolation_admit(&paths, port, &err), &err);
}

/* The comparison tells nothing, or something with this part. */
static void assert_check(const char *part)
{
	_cleanup_nft_differences_ struct nft_differences d = VEC_INIT;
	struct error err = { 0 };
	bool found = !part;

	assert_ok(isolation_check(&paths, &d, &err), &err);
	if (!part && d.len > 0)
		fail_msg("%zu differences, the first: %s", d.len, d.items[0]);
	vec_foreach(char *, text, &d)
		found = found || strstr(*text, part);
	if (!found)
		fail_msg("none of %zu differences has '%s' (first: %s)", d.len, part,
			d.len ? d.items[0] : "");
}

static void test_ensure_loads_once(void **state)
{
	struct error err = { 0 };
	bool changed = false;

	(void)state;
	assert_check("table bridge box is missing");
	assert_ok(isolation_ensure(&paths, &changed, &err), &err);
	assert_true(changed);
	assert_check(NULL);
	assert_ok(isolation_ensure(&paths, &changed, &err), &err);
	assert_false(changed);
}

static void test_route_localnet_is_set_on_the_bridge_alone(void **state)
{
	static const char bridge[] = "/proc/sys/net/ipv4/conf/" NET_BRIDGE "/route_localnet";
	_cleanup_str_ struct str text = STR_INIT, other = STR_INIT;
	struct error err = { 0 };
	const char *argv[] = { "ip", "link", "add", NET_BRIDGE, "type", "bridge", NULL };
	struct run run = { .argv = argv };
	bool changed = false;

	(void)state;
	assert_ok(run_program(&run, NULL, &err), &err);
	assert_ok(isolation_ensure(&paths, &changed, &err), &err);
	assert_ok(file_read(AT_FDCWD, bridge, 16, &text, &err), &err);
	assert_string_equal(str_get(&text), "1\n");
	assert_ok(
		file_read(AT_FDCWD, "/proc/sys/net/ipv4/conf/all/route_localnet", 16, &other, &err),
		&err);
	assert_string_equal(str_get(&other), "0\n");
	assert_ok(isolation_ensure(&paths, &changed, &err), &err);
	assert_false(changed);
}

static void test_boxes_come_and_go(void **state)
{
	struct error err = { 0 };

	(void)state;
	admit(&web);
	admit(&db);
	assert_check(NULL);
	admit(&web); /* again, as after a restart of libvirtd */
	assert_check(NULL);
	assert_ok(isolation_release(&paths, web.uuid, &err), &err);
	assert_check(NULL);
	assert_ok(isolation_release(&paths, web.uuid, &err), &err);
	assert_ok(isolation_release(&paths, db.uuid, &err), &err);
	assert_check(NULL);
}

/* What people and services do to tables that are not theirs; each is told, and put right at the next start. */
static void test_damage_is_told_and_put_right(void **state)
{
	static const struct {
		const char *line, *told;
	} rows[] = {
		{ "flush ruleset", "table bridge box is missing" },
		{ "delete table inet box", "table inet box is missing" },
		{ "delete table bridge box", "table bridge box is missing" },
		{ "flush table inet box", "rule 1 is missing" },
		{ "flush chain bridge box forward",
			"bridge box, chain forward: rule 1 is missing (stops: frames of a box to any other port)" },
		{ "delete chain inet box forward", "inet box: chain forward is missing" },
		{ "insert rule inet box forward accept",
			"inet box, chain forward: rule 1 is not ours: [immediate reg 0 accept ]" },
		{ "add rule inet box input ip saddr 10.88.0.2 accept",
			"chain input: rule 12 is not ours" },
		{ "flush set bridge box sources",
			"set sources: the entry \"bxt00000001\" . 52:54:00:00:00:01 . 10.88.0.2 is missing" },
		{ "flush set inet box hosts",
			"set hosts: the entry 52:54:00:00:00:01 . 10.88.0.2 is missing" },
		{ "add element bridge box sources { \"bxt00000001\" . 52:54:00:00:00:01 . 10.88.0.9 }",
			"\"bxt00000001\" . 52:54:00:00:00:01 . 10.88.0.9 belongs to no running box" },
		{ "add element inet box doors { 22 : 10.88.0.2 . 22 }",
			"map doors: the entry 22 : 10.88.0.2 . 22 belongs to no running box" },
		{ "add chain inet box extra", "inet box: chain extra is not ours" },
		{ "add set inet box extra { type ipv4_addr; }", "inet box: set extra is not ours" },
		{ "add table inet box { flags dormant; }", "table inet box is missing or asleep" },
		{ "add chain inet box forward { policy drop; }", "chain forward was changed" },
	};

	(void)state;
	admit(&web);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		nft(rows[i].line);
		assert_check(rows[i].told);
		admit(&db); /* a start of another box */
		assert_check(NULL);
	}
}

static void test_rules_in_another_order_are_told(void **state)
{
	struct error err = { 0 };
	struct ruleset rs;
	struct net_config config;
	const struct rule *first;
	struct nl *nl = nl_open(NETLINK_NETFILTER, &err);

	(void)state;
	net_config_default(&config);
	rules_build(&config, nft_has_ibrname(nl), &rs);
	first = rs.chains[0].rules[2];
	rs.chains[0].rules[2] = rs.chains[0].rules[3];
	rs.chains[0].rules[3] = first;
	assert_ok(nft_apply(nl, &rs, NULL, 0, &err), &err);
	nl_close(nl);
	assert_check("bridge box, chain prerouting: its rules are in another order");
	admit(&web);
	assert_check(NULL);
}

/* nft itself makes of our text what we send: printer and encoder agree, to the last expression. */
static void test_nft_makes_the_same_of_our_text(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct net_port door = web;
	struct ruleset rs;
	struct net_config config;
	char path[128];
	const char *argv[] = { "nft", "-f", path, NULL };
	struct run run = { .argv = argv };
	struct nl *nl = nl_open(NETLINK_NETFILTER, &err);

	(void)state;
	door.doors[0] = (struct net_door){ 8080, 80 };
	door.n_doors = 1;
	admit(&door);
	net_config_default(&config);
	rules_build(&config, nft_has_ibrname(nl), &rs);
	nl_close(nl);
	rules_print(&rs, &door, 1, &text);
	(void)snprintf(path, sizeof(path), "%s/rules.nft", root);
	write_file(path, str_get(&text));
	assert_ok(run_program(&run, NULL, &err), &err);
	assert_check(NULL);
}

static void test_nobody_takes_what_is_anothers(void **state)
{
	struct net_port clash = db;
	struct error err = { 0 };

	(void)state;
	admit(&web);
	clash.addr = web.addr;
	assert_int_equal(isolation_admit(&paths, &clash, &err), -1);
	assert_error(&err, ERROR_EXISTS, "the address '10.88.0.2'");
	clash = db;
	memcpy(clash.mac, web.mac, sizeof(clash.mac));
	assert_int_equal(isolation_admit(&paths, &clash, &err), -1);
	assert_error(&err, ERROR_EXISTS, "the MAC");
	assert_false(record_exists(ports_path, db.uuid));
	assert_check(NULL);
	admit(&db);
}

/* A listener of the host on this port, in this namespace. */
static int listen_on(uint16_t port, uint32_t addr)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(addr)
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *argv[] = { "ip", "link", "set", "lo", "up", NULL };
	struct run run = { .argv = argv };
	struct error err = { 0 };

	assert_ok(run_program(&run, NULL, &err), &err);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void test_a_door_does_not_hide_a_service(void **state)
{
	_cleanup_close_ int any = listen_on(8080, INADDR_ANY);
	_cleanup_close_ int loopback = listen_on(8081, INADDR_LOOPBACK);
	_cleanup_close_ int elsewhere = listen_on(8082, 0x7f000002);
	struct net_port port = web;
	struct error err = { 0 };

	(void)state;
	port.n_doors = 1;
	for (uint16_t host = 8080; host <= 8081; host++) {
		port.doors[0] = (struct net_door){ host, 80 };
		assert_int_equal(isolation_admit(&paths, &port, &err), -1);
		assert_error(&err, ERROR_EXISTS, "is in use by another program");
		assert_false(record_exists(ports_path, web.uuid));
	}
	port.doors[0].host = 8082; /* a listener on 127.0.0.2 is not in the way */
	admit(&port);
	assert_true(any >= 0 && loopback >= 0 && elsewhere >= 0);
}

#define STATUS(doors)                                                                              \
	"<domstatus state='running'><domain><uuid>00000001-0000-4000-8000-000000000000</uuid>"     \
	"<metadata><box:box xmlns:box='urn:box:domain'><box:address>10.88.0.2</box:address>" doors \
	"</box:box></metadata><devices><interface type='network'>"                                 \
	"<mac address='52:54:00:00:00:01'/><source network='boxnet'/>"                             \
	"<target dev='bxt00000001'/></interface></devices></domain></domstatus>"

/* What the packet filter has for this door: 1 there, 0 not. */
static bool door_is_open(const char *element)
{
	const char *argv[] = { "nft", "get", "element", "inet", "box", "doors", element, NULL };
	struct run run = { .argv = argv };
	struct error err = { 0 };

	return run_program(&run, NULL, &err) == 0;
}

static int network_updated(struct error *err)
{
	struct hook_call call = {
		.kind = HOOK_NETWORK,
		.object = NET_BRIDGE,
		.operation = "updated",
		.sub = "begin",
		.input = -1,
	};

	return hook_run(&paths, &call, err);
}

static void test_doors_of_a_running_box_follow_its_metadata(void **state)
{
	_cleanup_close_ int taken = listen_on(9090, INADDR_ANY);
	struct error err = { 0 };
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/web.xml", status_path);
	admit(&web);
	write_file(path, STATUS("<box:door port='80' host='8080'/>"));
	assert_ok(network_updated(&err), &err);
	assert_true(door_is_open("{ 8080 }"));
	assert_check(NULL);
	write_file(
		path, STATUS("<box:door port='80' host='8080'/><box:door port='81' host='9090'/>"));
	assert_int_equal(network_updated(&err), -1);
	assert_error(&err, ERROR_EXISTS, "port 9090 of this host is in use");
	assert_true(door_is_open("{ 8080 }"));
	assert_false(door_is_open("{ 9090 }"));
	write_file(path, STATUS(""));
	assert_ok(network_updated(&err), &err);
	assert_false(door_is_open("{ 8080 }"));
	assert_check(NULL);
	assert_true(taken >= 0);
}

/* A running domain that the hook never let in is not let in by its status file either. */
static void test_status_files_admit_nobody(void **state)
{
	struct error err = { 0 };
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/web.xml", status_path);
	write_file(path, STATUS("<box:door port='80' host='8080'/>"));
	assert_ok(network_updated(&err), &err);
	assert_false(record_exists(ports_path, web.uuid));
	assert_false(door_is_open("{ 8080 }"));
	write_file(path, "<domstatus>&nonsense;");
	assert_int_equal(network_updated(&err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
}

/* ---- the hook ---- */

#define DOMAIN(mark)                                                                     \
	"<domain><name>web</name><uuid>00000001-0000-4000-8000-000000000000</uuid>" mark \
	"<devices><interface type='network'><mac address='52:54:00:00:00:01'/>"          \
	"<source network='boxnet'/><target dev='bxt00000001'/></interface></devices></domain>"
#define MARK(address)                                                                          \
	"<metadata><box:box xmlns:box='urn:box:domain'><box:address>" address "</box:address>" \
	"</box:box></metadata>"

static int hook(const char *operation, const char *sub, const char *xml, struct error *err)
{
	int fds[2], ret;
	struct hook_call call = {
		.kind = HOOK_QEMU,
		.object = "web",
		.operation = operation,
		.sub = sub,
	};

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], xml, strlen(xml)), (ssize_t)strlen(xml));
	close(fds[1]);
	call.input = fds[0];
	ret = hook_run(&paths, &call, err);
	close(fds[0]);
	return ret;
}

static void test_hook_lets_a_box_in_and_out(void **state)
{
	struct error err = { 0 };

	(void)state;
	nft("flush ruleset");
	assert_ok(hook("prepare", "begin", DOMAIN(MARK("10.88.0.2")), &err), &err);
	assert_true(record_exists(ports_path, web.uuid));
	assert_check(NULL);
	assert_ok(hook("start", "begin", DOMAIN(MARK("10.88.0.2")), &err), &err);
	assert_ok(hook("reconnect", "begin", DOMAIN(MARK("10.88.0.2")), &err), &err);
	assert_ok(hook("release", "end", DOMAIN(""), &err), &err); /* its mark was taken away */
	assert_false(record_exists(ports_path, web.uuid));
	assert_check(NULL);
}

static void test_hook_refuses_a_start_it_cannot_make_safe(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(hook("prepare", "begin", DOMAIN(MARK("192.168.0.2")), &err), -1);
	assert_error(&err, ERROR_INVALID, "is not one of this host's network");
	assert_false(record_exists(ports_path, web.uuid));
	assert_int_equal(unlink(config_path), 0);
	assert_int_equal(hook("prepare", "begin", DOMAIN(MARK("10.88.0.2")), &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "box setup-host");
	assert_int_equal(hook("prepare", "begin", "<domain", &err), -1);
}

/* A restart of libvirtd must not end a box because a program took its door's port meanwhile. */
static void test_a_running_box_survives_a_lost_door(void **state)
{
	static const char xml[] =
		"<domain><uuid>00000001-0000-4000-8000-000000000000</uuid><metadata>"
		"<box:box xmlns:box='urn:box:domain'><box:address>10.88.0.2</box:address>"
		"<box:door port='80' host='8080'/></box:box></metadata><devices>"
		"<interface type='network'><mac address='52:54:00:00:00:01'/>"
		"<source network='boxnet'/><target dev='bxt00000001'/></interface>"
		"</devices></domain>";
	_cleanup_close_ int taken = listen_on(8080, INADDR_ANY);
	struct net_port got = { 0 }, heir = db;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(hook("prepare", "begin", xml, &err), -1);
	error_clear(&err);
	assert_ok(hook("reconnect", "begin", xml, &err), &err);
	assert_int_equal(record_read(ports_path, web.uuid, &got, &err), 1);
	assert_int_equal(got.n_doors, 0);
	assert_ok(isolation_release(&paths, web.uuid, &err), &err);
	assert_int_equal(record_read(ports_path, web.uuid, &got, &err), 0);
	heir.addr = web.addr; /* its address is another's by now */
	admit(&heir);
	nft("flush ruleset");
	assert_ok(hook("reconnect", "begin", xml, &err), &err);
	assert_false(record_exists(ports_path, web.uuid));
	assert_check(NULL);
	assert_true(taken >= 0);
}

/* The host's other domains start, stop and are reconnected as if we were not there. */
static void test_hook_leaves_strangers_alone(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(unlink(config_path), 0);
	assert_ok(hook("prepare", "begin", DOMAIN(""), &err), &err);
	assert_ok(hook("release", "end", DOMAIN(""), &err), &err);
	assert_ok(hook("migrate", "begin", "", &err), &err);
	assert_false(record_exists(ports_path, web.uuid));
}

static void test_stale_records_give_way(void **state)
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct net_port heir = db;
	char path[160];

	(void)state;
	admit(&web);
	heir.addr = web.addr;
	(void)snprintf(path, sizeof(path), "%s/%s", ports_path, web.uuid);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	admit(&heir);
	assert_false(record_exists(ports_path, web.uuid));
	assert_check(NULL);
}

static void test_damaged_records_stop_starts(void **state)
{
	struct error err = { 0 };
	char path[160];

	(void)state;
	admit(&web);
	(void)snprintf(path, sizeof(path), "%s/%s", ports_path, web.uuid);
	write_file(path, "tap bxtffffffff\n");
	assert_int_equal(isolation_admit(&paths, &db, &err), -1);
	assert_error(&err, ERROR_INVALID, "record of box 00000001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ensure_loads_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_route_localnet_is_set_on_the_bridge_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boxes_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_told_and_put_right, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_rules_in_another_order_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_nft_makes_the_same_of_our_text, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_nobody_takes_what_is_anothers, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_door_does_not_hide_a_service, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_doors_of_a_running_box_follow_its_metadata, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status_files_admit_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hook_lets_a_box_in_and_out, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_hook_refuses_a_start_it_cannot_make_safe, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_running_box_survives_a_lost_door, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hook_leaves_strangers_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_records_give_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_records_stop_starts, setup, teardown),
	};

	if (unshare(CLONE_NEWNET) < 0) {
		printf("skipped: cannot make a network namespace: %s\n", strerror(errno));
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/drill/standin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/run.h"
#include "net/nft.h"

enum { WORDS_MAX = 40 };

#define TAP_A "bxtaaaaaaaa"
#define TAP_B "bxtbbbbbbbb"
#define MAC_A "52:54:00:aa:aa:aa"
#define MAC_B "52:54:00:bb:bb:bb"

/* One line a command of ip(8); %s: a namespace of the place before it. */
static const struct {
	enum standin_place where;
	const char *line;
	enum standin_place peer; /* for %s */
} lines[] = {
	{ STANDIN_HOST, "ip link set lo up", 0 },
	{ STANDIN_HOST, "ip link add boxnet type bridge stp_state 0 mcast_snooping 0", 0 },
	{ STANDIN_HOST, "ip link set boxnet address " NET_GATEWAY_MAC, 0 },
	{ STANDIN_HOST, "ip link add " TAP_A " type veth peer name eth0 netns %s", STANDIN_A },
	{ STANDIN_HOST, "ip link add " TAP_B " type veth peer name eth0 netns %s", STANDIN_B },
	{ STANDIN_HOST, "ip link add wan0 type veth peer name eth0 netns %s", STANDIN_WAN },
	{ STANDIN_HOST, "ip link add lan0 type veth peer name eth0 netns %s", STANDIN_LAN },
	{ STANDIN_HOST, "ip link set " TAP_A " master boxnet up", 0 },
	{ STANDIN_HOST, "ip link set " TAP_B " master boxnet up", 0 },
	{ STANDIN_HOST, "ip link set boxnet up", 0 },
	{ STANDIN_HOST, "ip link set wan0 up", 0 },
	{ STANDIN_HOST, "ip link set lan0 up", 0 },
	{ STANDIN_HOST, "ip addr add 10.88.0.1/24 brd + dev boxnet", 0 },
	{ STANDIN_HOST, "ip addr add 203.0.113.2/24 dev wan0", 0 },
	{ STANDIN_HOST, "ip addr add 10.20.30.1/24 dev lan0", 0 },
	{ STANDIN_HOST, "ip addr add 172.16.5.1/24 dev lan0", 0 },
	{ STANDIN_HOST, "ip addr add 192.168.77.1/24 dev lan0", 0 },
	{ STANDIN_HOST, "ip addr add 100.64.7.1/24 dev lan0", 0 },
	{ STANDIN_HOST, "ip route add 169.254.169.254/32 dev lan0", 0 },
	{ STANDIN_HOST, "ip route add default via 203.0.113.53", 0 },
	{ STANDIN_WAN, "ip link set lo up", 0 },
	{ STANDIN_WAN, "ip link set eth0 up", 0 },
	{ STANDIN_WAN, "ip addr add 203.0.113.53/24 dev eth0", 0 },
	{ STANDIN_LAN, "ip link set lo up", 0 },
	{ STANDIN_LAN, "ip link set eth0 up", 0 },
	{ STANDIN_LAN, "ip addr add 10.20.30.40/24 dev eth0", 0 },
	{ STANDIN_LAN, "ip addr add 172.16.5.40/24 dev eth0", 0 },
	{ STANDIN_LAN, "ip addr add 192.168.77.40/24 dev eth0", 0 },
	{ STANDIN_LAN, "ip addr add 100.64.7.40/24 dev eth0", 0 },
	{ STANDIN_LAN, "ip addr add 169.254.169.254/32 dev eth0", 0 },
	{ STANDIN_LAN, "ip route add default via 10.20.30.1", 0 },
	{ STANDIN_A, "ip link set lo up", 0 },
	{ STANDIN_A, "ip link set eth0 address " MAC_A " up", 0 },
	{ STANDIN_A, "ip addr add 10.88.0.2/24 brd + dev eth0", 0 },
	{ STANDIN_A, "ip route add default via 10.88.0.1", 0 },
	{ STANDIN_B, "ip link set lo up", 0 },
	{ STANDIN_B, "ip link set eth0 address " MAC_B " up", 0 },
	{ STANDIN_B, "ip addr add 10.88.0.3/24 brd + dev eth0", 0 },
	{ STANDIN_B, "ip route add default via 10.88.0.1", 0 },
};

static const struct {
	enum standin_place where;
	const char *path, *text;
} settings[] = {
	{ STANDIN_HOST, "/proc/sys/net/ipv4/ip_forward", "1" },
	{ STANDIN_HOST, "/proc/sys/net/ipv4/conf/boxnet/route_localnet", "1" },
	{ STANDIN_HOST, "/proc/sys/net/ipv4/icmp_ratelimit", "0" },
	/* No router solicitations of the stand-ins' own: they would move counters. */
	{ STANDIN_A, "/proc/sys/net/ipv6/conf/default/router_solicitations", "0" },
	{ STANDIN_B, "/proc/sys/net/ipv6/conf/default/router_solicitations", "0" },
};

static int enter(struct standin *s, enum standin_place where, struct error *err)
{
	if (setns(s->ns[where], CLONE_NEWNET) < 0)
		return error_errno(err, errno, "cannot enter a namespace");
	return 0;
}

/* Split line into argv behind the first n words that are there. */
static void split(char *line, const char **argv, size_t n)
{
	char *save = NULL;

	for (char *word = strtok_r(line, " ", &save); word && n < WORDS_MAX - 1;
		word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	argv[n] = NULL;
}

int standin_run(struct standin *s, enum standin_place where, const char *line, struct error *err)
{
	const char *argv[WORDS_MAX] = { "nsenter", s->enter[where], "--" };
	_cleanup_free_ char *copy = str_dup(line, err);
	struct run run = { .argv = argv, .timeout_ms = 20000 };

	if (!copy)
		return -1;
	split(copy, argv, 3);
	return run_program(&run, NULL, err);
}

/* A program that stays, and dies with us. Its pid; -1. */
static pid_t serve(struct standin *s, enum standin_place where, const char *line, struct error *err)
{
	const char *argv[WORDS_MAX] = { "nsenter", s->enter[where], "--" };
	_cleanup_free_ char *copy = str_dup(line, err);
	pid_t pid;

	if (!copy)
		return -1;
	split(copy, argv, 3);
	pid = fork();
	if (pid < 0)
		return error_errno(err, errno, "cannot start '%s'", line);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(null, 0);
		(void)dup2(null, 1);
		(void)dup2(null, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

/* Wait until something listens there: a line of ss(8) is printed. */
static int wait_listening(
	struct standin *s, enum standin_place where, const char *filter, struct error *err)
{
	_cleanup_free_ char *line = str_format(err, "ss -Hnl%s", filter);
	const char *argv[WORDS_MAX] = { "nsenter", s->enter[where], "--" };

	if (!line)
		return -1;
	split(line, argv, 3);
	for (int tries = 0; tries < 200; tries++) {
		_cleanup_str_ struct str out = STR_INIT;
		struct run run = { .argv = argv, .output = &out, .timeout_ms = 5000 };

		if (run_program(&run, NULL, err) < 0)
			return -1;
		if (out.len)
			return 0;
		(void)poll(NULL, 0, 25);
	}
	return error_set(err, ERROR_TIMEOUT, "nothing listens: %s", filter);
}

static void stop(pid_t *pid)
{
	if (*pid > 0) {
		(void)kill(*pid, SIGKILL);
		(void)waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

int standin_names(struct standin *s, const char *arguments, struct error *err)
{
	_cleanup_free_ char *line = NULL;

	stop(&s->names);
	if (!arguments)
		return 0;
	line = str_format(err,
		"dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --pid-file --no-resolv "
		"--no-hosts --bind-interfaces --listen-address=10.88.0.1 --except-interface=lo "
		"--cache-size=0 --server=203.0.113.53 %s",
		arguments);
	if (!line)
		return -1;
	s->names = serve(s, STANDIN_HOST, line, err);
	if (s->names < 0)
		return -1;
	return wait_listening(s, STANDIN_HOST, "u src 10.88.0.1:53", err);
}

static int start_servers(struct standin *s, const char *probe, struct error *err)
{
	const struct {
		enum standin_place where;
		const char *program, *arguments, *wait;
	} rows[] = {
		{ STANDIN_WAN, "dnsmasq",
			"--keep-in-foreground --conf-file=/dev/null --user=root --pid-file --no-resolv "
			"--no-hosts --bind-interfaces --listen-address=203.0.113.53 "
			"--address=/#/ --address=/example.com/192.88.99.80",
			"u src 203.0.113.53:53" },
		{ STANDIN_LAN, probe, "listen tcp 80 600000 0", "t sport = :80" },
		{ STANDIN_LAN, probe, "listen udp 53 600000 0", "u sport = :53" },
		{ STANDIN_HOST, probe, "listen tcp 2222 600000 0", "t sport = :2222" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_free_ char *line = str_format(
			err, "%s %s", rows[i].program, rows[i].arguments);

		if (!line)
			return -1;
		s->servers[i] = serve(s, rows[i].where, line, err);
		if (s->servers[i] < 0 || wait_listening(s, rows[i].where, rows[i].wait, err) < 0)
			return -1;
	}
	return standin_names(s, "", err);
}

static int make_namespaces(struct standin *s, struct error *err)
{
	for (int p = 0; p < STANDIN_PLACES; p++) {
		if (unshare(CLONE_NEWNET) < 0)
			return error_errno(err, errno, "cannot make a network namespace");
		s->ns[p] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
		if (s->ns[p] < 0)
			return error_errno(err, errno, "cannot open the network namespace");
		(void)snprintf(s->enter[p], sizeof(s->enter[p]), "--net=/proc/%d/fd/%d",
			(int)getpid(), s->ns[p]);
	}
	return 0;
}

static int make_links(struct standin *s, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		_cleanup_free_ char *line = NULL;

		/* The path of --net=PATH names the namespace for ip(8), too. */
		line = strstr(lines[i].line, "%s")
			       ? str_format(err, "%.*s%s",
					 (int)(strstr(lines[i].line, "%s") - lines[i].line),
					 lines[i].line, s->enter[lines[i].peer] + 6)
			       : str_dup(lines[i].line, err);
		if (!line || standin_run(s, lines[i].where, line, err) < 0)
			return -1;
	}
	return 0;
}

static int set_up(struct standin *s, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		_cleanup_close_ int fd = -1;

		if (enter(s, settings[i].where, err) < 0)
			return -1;
		fd = open(settings[i].path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, settings[i].text, 1) != 1)
			return error_errno(err, errno, "cannot write '%s'", settings[i].path);
	}
	return enter(s, STANDIN_HOST, err);
}

static void make_ports(struct standin *s)
{
	static const struct net_port ports[2] = {
		{ "aaaaaaaa-0000-4000-8000-000000000001", TAP_A,
			{ 0x52, 0x54, 0x00, 0xaa, 0xaa, 0xaa }, 0x0a580002, { { 0, 0 } }, 0 },
		{ "bbbbbbbb-0000-4000-8000-000000000002", TAP_B,
			{ 0x52, 0x54, 0x00, 0xbb, 0xbb, 0xbb }, 0x0a580003, { { 0, 0 } }, 0 },
	};
	struct net_config config;

	memcpy(s->ports, ports, sizeof(s->ports));
	net_config_default(&config);
	config.dns[0] = 0xcb007135; /* 203.0.113.53 */
	config.n_dns = 1;
	rules_build(&config, nft_has_ibrname(s->nl), &s->rules);
}

int standin_mend(struct standin *s, struct error *err)
{
	if (standin_run(s, STANDIN_HOST, "bridge link set dev " TAP_A " isolated on", err) < 0 ||
		standin_run(s, STANDIN_HOST, "bridge link set dev " TAP_B " isolated on", err) <
			0 ||
		standin_run(s, STANDIN_HOST, "ip neigh flush dev boxnet", err) < 0)
		return -1;
	s->ports[1].n_doors = 0;
	return nft_apply(s->nl, &s->rules, s->ports, 2, err);
}

/* The host has neighbours that it talks to, and so knows. */
static int meet_neighbours(struct standin *s, const char *probe, struct error *err)
{
	static const char *const addresses[] = { "10.20.30.40", "172.16.5.40", "192.168.77.40",
		"100.64.7.40" };

	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		_cleanup_free_ char *line = str_format(
			err, "%s reach icmp %s 0 3000", probe, addresses[i]);

		if (!line || standin_run(s, STANDIN_HOST, line, err) < 0)
			return -1;
	}
	return 0;
}

int standin_open(struct standin *s, const char *probe, struct error *err)
{
	memset(s, 0, sizeof(*s));
	memset(s->ns, -1, sizeof(s->ns));
	if (make_namespaces(s, err) < 0 || make_links(s, err) < 0 || set_up(s, err) < 0)
		return -1;
	s->nl = nl_open(NETLINK_NETFILTER, err);
	if (!s->nl)
		return -1;
	make_ports(s);
	if (standin_mend(s, err) < 0 || start_servers(s, probe, err) < 0)
		return -1;
	return meet_neighbours(s, probe, err);
}

void standin_close(struct standin *s)
{
	stop(&s->names);
	for (size_t i = 0; i < STANDIN_SERVERS; i++)
		stop(&s->servers[i]);
	nl_close(s->nl);
	for (int p = 0; p < STANDIN_PLACES; p++)
		cleanup_close_p(&s->ns[p]);
}

void standin_world(const struct standin *s, struct drill_world *ret)
{
	*ret = (struct drill_world){
		.box = { { "drill-a", TAP_A, MAC_A, "", 0x0a580002 },
			{ "drill-b", TAP_B, MAC_B, "", 0x0a580003 } },
		.net = s->rules.config,
		.bridge = NET_BRIDGE,
		.gateway_mac = NET_GATEWAY_MAC,
		.silence_ms = 300,
		.answer_ms = 3000,
	};
}

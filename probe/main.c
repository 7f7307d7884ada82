/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box-probe: a static program that the drill pushes into a box, and that the packet tests run in their
 * namespaces. It sends one thing, or watches for it, and prints what it saw in one word. Exit status:
 * 0 the probe ran (whatever it saw), 1 it could not run, 2 asked wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/parse.h"
#include "probe/credentials.h"
#include "probe/facts.h"
#include "probe/packet.h"
#include "probe/reach.h"
#include "probe/serve.h"
#include "probe/stranger.h"
#include "probe/verdict.h"
#include "probe/watch-token.h"
#include "probe/watch.h"

enum { TIMEOUT_MAX = 600000 }; /* ten minutes: nothing here runs for ever */

static int number(
	const char *text, const char *what, unsigned max, unsigned *ret, struct error *err)
{
	uint64_t value = 0;

	if (parse_u64(text, 0, max, what, &value, err) < 0)
		return -1;
	*ret = (unsigned)value;
	return 0;
}

static int verb_connect(char **argv, struct error *err)
{
	enum verdict verdict = VERDICT_SILENT;
	unsigned port = 0, timeout = 0;
	uint32_t addr = 0;
	int ret;

	if (parse_ipv4(argv[1], "address", &addr, err) < 0 ||
		number(argv[2], "port", 65535, &port, err) < 0 ||
		number(argv[3], "timeout", TIMEOUT_MAX, &timeout, err) < 0)
		return -1;
	if (str_equal(argv[0], "tcp"))
		ret = probe_tcp(addr, (uint16_t)port, timeout, &verdict, err);
	else
		ret = probe_udp(addr, (uint16_t)port, timeout, &verdict, err);
	if (ret == 0)
		printf("%s\n", verdict_name(verdict));
	return ret;
}

/* reach tcp|udp|icmp: as tcp, udp and icmp, with a token, and with who it was that said "no way". */
static int verb_reach(char **argv, struct error *err)
{
	static const struct {
		const char *name;
		int (*probe)(const struct reach_target *, struct reach *, struct error *);
	} kinds[] = { { "tcp", reach_tcp }, { "udp", reach_udp }, { "icmp", reach_icmp } };
	struct reach_target to = { .token = argv[5] };
	struct reach reach = { VERDICT_SILENT, 0 };
	unsigned port = 0;

	if (parse_ipv4(argv[2], "address", &to.addr, err) < 0 ||
		number(argv[3], "port", 65535, &port, err) < 0 ||
		number(argv[4], "timeout", TIMEOUT_MAX, &to.timeout, err) < 0)
		return -1;
	to.port = (uint16_t)port;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!str_equal(argv[1], kinds[i].name))
			continue;
		if (kinds[i].probe(&to, &reach, err) < 0)
			return -1;
		printf("%s", verdict_name(reach.verdict));
		if (reach.by)
			printf(" %u.%u.%u.%u", reach.by >> 24, reach.by >> 16 & 255,
				reach.by >> 8 & 255, reach.by & 255);
		printf("\n");
		return 0;
	}
	return error_set(err, ERROR_USAGE, "reach takes tcp, udp or icmp, not '%.20s'", argv[1]);
}

static int verb_icmp(char **argv, struct error *err)
{
	enum verdict verdict = VERDICT_SILENT;
	unsigned timeout = 0;
	uint32_t addr = 0;

	if (parse_ipv4(argv[1], "address", &addr, err) < 0 ||
		number(argv[2], "timeout", TIMEOUT_MAX, &timeout, err) < 0 ||
		probe_icmp(addr, timeout, &verdict, err) < 0)
		return -1;
	printf("%s\n", verdict_name(verdict));
	return 0;
}

static int verb_arp(char **argv, struct error *err)
{
	enum verdict verdict = VERDICT_SILENT;
	unsigned timeout = 0;
	uint32_t addr = 0;
	uint8_t m[6] = { 0 };

	if (parse_ipv4(argv[2], "address", &addr, err) < 0 ||
		number(argv[3], "timeout", TIMEOUT_MAX, &timeout, err) < 0 ||
		probe_arp(argv[1], addr, timeout, &verdict, m, err) < 0)
		return -1;
	if (verdict == VERDICT_OPEN)
		printf("open %02x:%02x:%02x:%02x:%02x:%02x\n", m[0], m[1], m[2], m[3], m[4], m[5]);
	else
		printf("%s\n", verdict_name(verdict));
	return 0;
}

static int verb_dns(char **argv, struct error *err)
{
	_cleanup_str_ struct str answers = STR_INIT;
	enum verdict verdict = VERDICT_SILENT;
	unsigned type = 0, timeout = 0;
	uint32_t server = 0;

	if (parse_ipv4(argv[1], "server", &server, err) < 0 ||
		number(argv[3], "type", 255, &type, err) < 0 ||
		number(argv[4], "timeout", TIMEOUT_MAX, &timeout, err) < 0 ||
		probe_dns(server, argv[2], type, timeout, &verdict, &answers, err) < 0)
		return -1;
	printf("%s%s%s\n", verdict_name(verdict), answers.len ? " " : "", str_get(&answers));
	return 0;
}

static int verb_sniff(char **argv, struct error *err)
{
	unsigned duration = 0, count = 0;

	if (number(argv[3], "duration", TIMEOUT_MAX, &duration, err) < 0 ||
		number(argv[4], "count", 1000000, &count, err) < 0)
		return -1;
	return watch_frames(argv[1], argv[2], duration, count, err);
}

static int verb_listen(char **argv, struct error *err)
{
	unsigned port = 0, duration = 0, count = 0;

	if (!str_equal(argv[1], "tcp") && !str_equal(argv[1], "udp"))
		return error_set(err, ERROR_USAGE, "listen takes tcp or udp, not '%.20s'", argv[1]);
	if (number(argv[2], "port", 65535, &port, err) < 0 ||
		number(argv[3], "duration", TIMEOUT_MAX, &duration, err) < 0 ||
		number(argv[4], "count", 1000000, &count, err) < 0)
		return -1;
	return watch_port(str_equal(argv[1], "tcp"), (uint16_t)port, duration, count, err);
}

/* One KEY=VALUE of send into the packet. */
static int packet_key(struct packet *p, const char *pair, struct error *err)
{
	const char *value = strchr(pair, '=');
	size_t len = value ? (size_t)(value - pair) : 0;
	const struct {
		const char *name;
		uint8_t *mac;
		uint32_t *ip;
		uint16_t *number;
	} keys[] = {
		{ .name = "smac", .mac = p->src_mac },
		{ .name = "dmac", .mac = p->dst_mac },
		{ .name = "arpmac", .mac = p->arp_mac },
		{ .name = "sip", .ip = &p->src_ip },
		{ .name = "dip", .ip = &p->dst_ip },
		{ .name = "sport", .number = &p->src_port },
		{ .name = "dport", .number = &p->dst_port },
		{ .name = "vlan", .number = &p->vlan },
		{ .name = "qinq", .number = &p->outer_vlan },
	};
	unsigned n = 0;

	for (size_t i = 0; value && i < ARRAY_LEN(keys); i++) {
		if (strlen(keys[i].name) != len || strncmp(keys[i].name, pair, len) != 0)
			continue;
		if (keys[i].mac)
			return parse_mac(value + 1, keys[i].name, keys[i].mac, err);
		if (keys[i].ip)
			return parse_ipv4(value + 1, keys[i].name, keys[i].ip, err);
		if (number(value + 1, keys[i].name, 65535, &n, err) < 0)
			return -1;
		*keys[i].number = (uint16_t)n;
		return 0;
	}
	if (value && strncmp(pair, "dip6=", 5) == 0) {
		if (inet_pton(AF_INET6, value + 1, p->dst_ip6) != 1)
			return error_set(err, ERROR_USAGE, "'%.50s' is no IPv6 address", value + 1);
		return 0;
	}
	if (value && strncmp(pair, "token=", 6) == 0) {
		p->token = value + 1;
		return 0;
	}
	return error_set(err, ERROR_USAGE, "send does not know '%.40s'", pair);
}

static int verb_send(char **argv, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct packet p = { .src_port = 40000, .dst_port = 7 };
	struct sockaddr_ll on = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex(argv[1]),
	};
	uint8_t frame[PACKET_MAX];
	size_t len;

	if (packet_kind_parse(argv[2], &p.kind, err) < 0)
		return -1;
	if (p.kind == PACKET_DHCP_DISCOVER || p.kind == PACKET_DHCP_OFFER) {
		p.src_port = p.kind == PACKET_DHCP_OFFER ? 67 : 68;
		p.dst_port = p.kind == PACKET_DHCP_OFFER ? 68 : 67;
	}
	for (char **pair = argv + 3; *pair; pair++)
		if (packet_key(&p, *pair, err) < 0)
			return -1;
	len = packet_build(&p, frame);
	if (!len)
		return error_set(err, ERROR_USAGE, "the packet is too large");
	if (fd < 0 || sendto(fd, frame, len, 0, (struct sockaddr *)&on, sizeof(on)) < 0)
		return error_errno(err, errno, "cannot send on '%s'", argv[1]);
	printf("sent %zu\n", len);
	return 0;
}

/* watch PREFIX MS [IFACE] */
static int verb_watch(char **argv, struct error *err)
{
	unsigned duration = 0;

	if (strlen(argv[1]) > TOKEN_PREFIX_MAX)
		return error_set(err, ERROR_USAGE, "the prefix is too long");
	if (number(argv[2], "duration", TIMEOUT_MAX, &duration, err) < 0)
		return -1;
	return watch_tokens(argv[3], argv[1], duration, err);
}

/* catch PREFIX PORT MS [DEVICE] */
static int verb_catch(char **argv, struct error *err)
{
	unsigned duration = 0, port = 0;

	if (strlen(argv[1]) > TOKEN_PREFIX_MAX)
		return error_set(err, ERROR_USAGE, "the prefix is too long");
	if (number(argv[2], "port", 65535, &port, err) < 0 ||
		number(argv[3], "duration", TIMEOUT_MAX, &duration, err) < 0)
		return -1;
	return catch_tokens(argv[1], (uint16_t)port, argv[4], duration, err);
}

/* stranger KIND ADDR PORT TOKEN; the token's last two digits choose the subnet. */
static int verb_stranger(char **argv, struct error *err)
{
	struct packet p = { .src_port = 40000, .token = argv[4] };
	size_t len = strlen(argv[4]);
	unsigned port = 0;

	if (packet_kind_parse(argv[1], &p.kind, err) < 0 ||
		parse_ipv4(argv[2], "address", &p.dst_ip, err) < 0 ||
		number(argv[3], "port", 65535, &port, err) < 0)
		return -1;
	p.dst_port = (uint16_t)port;
	return stranger_send(
		&p, (unsigned)strtoul(argv[4] + (len > 2 ? len - 2 : 0), NULL, 16), err);
}

static int verb_facts(char **argv, struct error *err)
{
	(void)argv;
	return facts_print(err);
}

static int verb_credentials(char **argv, struct error *err)
{
	return credentials_print(argv + 1, err);
}

static int run_verb(int argc, char **argv);

static bool is_quick(const char *verb)
{
	return str_equal(verb, "send");
}

static int verb_serve(char **argv, struct error *err)
{
	static const struct serve_verbs served = { run_verb, is_quick };

	(void)argv;
	return serve(&served, err);
}

static const struct verb {
	const char *name, *args;
	int min, max;
	int (*run)(char **argv, struct error *err);
} verbs[] = {
	{ "tcp", "ADDR PORT MS", 3, 3, verb_connect },
	{ "udp", "ADDR PORT MS", 3, 3, verb_connect },
	{ "icmp", "ADDR MS", 2, 2, verb_icmp },
	{ "arp", "IFACE ADDR MS", 3, 3, verb_arp },
	{ "dns", "SERVER NAME TYPE MS", 4, 4, verb_dns },
	{ "send", "IFACE KIND [KEY=VALUE...]", 2, 20, verb_send },
	{ "sniff", "IFACE TOKEN MS COUNT", 4, 4, verb_sniff },
	{ "listen", "tcp|udp PORT MS COUNT", 4, 4, verb_listen },
	{ "reach", "tcp|udp|icmp ADDR PORT MS [TOKEN]", 4, 5, verb_reach },
	{ "watch", "PREFIX MS [IFACE]", 2, 3, verb_watch },
	{ "catch", "PREFIX PORT MS [DEVICE]", 3, 4, verb_catch },
	{ "stranger", "KIND ADDR PORT TOKEN", 4, 4, verb_stranger },
	{ "facts", "", 0, 0, verb_facts },
	{ "credentials", "PATH...", 1, 20, verb_credentials },
	{ "serve", "", 0, 0, verb_serve },
};

static int usage(void)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(stderr, "%s box-probe %s %s\n", i ? "      " : "usage:", verbs[i].name,
			verbs[i].args);
	return 2;
}

/* argv[0] is the verb. Returns the exit status; errors are printed. */
static int run_verb(int argc, char **argv)
{
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (!str_equal(argv[0], verbs[i].name))
			continue;
		if (argc - 1 < verbs[i].min || argc - 1 > verbs[i].max)
			return usage();
		if (verbs[i].run(argv, &err) == 0)
			return 0;
		fprintf(stderr, "box-probe: %s\n", err.text);
		return err.kind == ERROR_USAGE ? 2 : 1;
	}
	return usage();
}

int main(int argc, char **argv)
{
	return argc > 1 ? run_verb(argc - 1, argv + 1) : usage();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading the isolation rules for many boxes: one netlink batch against "nft -f" of the same text, in
 * the same run and in a network namespace of its own. Prints medians and the ratio. Fails when the
 * batch is the slower one. Needs root.
 *
 *	bench-rules [BOXES]     default 250
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/run.h"
#include "net/nft-check.h"
#include "net/nft.h"
#include "tests/bench/spread.h"

enum { RUNS = 15, BOXES_MAX = 60000, TARGET_US = 20000 };

static struct net_port ports[BOXES_MAX];

static void make_ports(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct net_port *p = &ports[i];

		(void)snprintf(p->tap, sizeof(p->tap), "bxt%08zx", i * 2654435761u & 0xffffffff);
		p->mac[0] = 0x52;
		p->mac[1] = 0x54;
		p->mac[4] = (uint8_t)(i >> 8);
		p->mac[5] = (uint8_t)i;
		p->addr = 0x0a580002 + (uint32_t)i;
		p->doors[0] = (struct net_door){ (uint16_t)(1024 + i), 80 };
		p->n_doors = i % 10 == 0;
	}
}

struct bench {
	struct nl *nl;
	struct ruleset rules;
	size_t n;
	const char *file;
};

static int run_batch(struct bench *b, struct error *err)
{
	return nft_apply(b->nl, &b->rules, ports, b->n, err);
}

static int run_nft(struct bench *b, struct error *err)
{
	const char *argv[] = { "nft", "-f", b->file, NULL };
	struct run run = { .argv = argv, .timeout_ms = 60000 };

	return run_program(&run, NULL, err);
}

static int run_check(struct bench *b, struct error *err)
{
	_cleanup_nft_differences_ struct nft_differences d = VEC_INIT;

	if (nft_check(b->nl, &b->rules, ports, b->n, &d, err) < 0)
		return -1;
	return d.len == 0 ? 0 : error_set(err, ERROR_FAILED, "%s", d.items[0]);
}

static int measure(struct bench *b, int (*fn)(struct bench *b, struct error *err), uint64_t *ret,
	struct error *err)
{
	uint64_t begin = spread_now_us();

	if (fn(b, err) < 0)
		return -1;
	*ret = spread_now_us() - begin;
	return 0;
}

static int bench(struct bench *b, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	uint64_t batch[RUNS], nft[RUNS], check[RUNS];
	char what[2][64];
	double ratio;

	rules_print(&b->rules, ports, b->n, &text);
	if (str_ok(&text, err) < 0 ||
		file_replace(AT_FDCWD, b->file, text.data, text.len, 0600, err) < 0)
		return -1;
	for (size_t i = 0; i < RUNS; i++) {
		if (measure(b, run_nft, &nft[i], err) < 0 ||
			measure(b, run_batch, &batch[i], err) < 0 ||
			measure(b, run_check, &check[i], err) < 0)
			return -1;
	}
	(void)snprintf(what[0], sizeof(what[0]), "rules of %zu boxes", b->n);
	(void)snprintf(
		what[1], sizeof(what[1]), "comparing the kernel with the rules of %zu boxes", b->n);
	ratio = spread_say(what[0], batch, "nft -f of the same text", nft, RUNS);
	(void)spread_say_alone(what[1], check, RUNS);
	if (ratio <= 1)
		return error_set(err, ERROR_FAILED, "the batch is slower than nft -f");
	if (b->n <= 250 && batch[RUNS / 2] > TARGET_US)
		return error_set(err, ERROR_FAILED, "the batch takes more than 20 ms");
	return 0;
}

int main(int argc, char **argv)
{
	char file[] = "/tmp/box-bench-rules-XXXXXX";
	struct bench b = { .n = 250, .file = file };
	struct error err = { 0 };
	struct net_config config;
	uint64_t n = 250;
	int fd, ret;

	if (argc > 1 && parse_u64(argv[1], 1, BOXES_MAX, "boxes", &n, &err) < 0) {
		printf("%s\n", err.text);
		return 2;
	}
	if (unshare(CLONE_NEWNET) < 0) {
		printf("skipped: cannot make a network namespace\n");
		return 77;
	}
	b.n = (size_t)n;
	net_config_default(&config);
	config.prefix = 16;
	fd = mkstemp(file);
	b.nl = nl_open(NETLINK_NETFILTER, &err);
	if (fd < 0 || !b.nl) {
		printf("error: %s\n", err.text);
		return 1;
	}
	(void)close(fd);
	rules_build(&config, nft_has_ibrname(b.nl), &b.rules);
	make_ports(b.n);
	ret = bench(&b, &err);
	if (ret < 0)
		printf("error: %s\n", err.text);
	nl_close(b.nl);
	(void)unlink(file);
	return ret < 0;
}

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
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/run.h"
#include "net/nft-check.h"
#include "net/nft.h"

enum { RUNS = 15, BOXES_MAX = 60000, TARGET_US = 20000 };

static struct net_port ports[BOXES_MAX];

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t us[RUNS])
{
	qsort(us, RUNS, sizeof(us[0]), order);
	return us[RUNS / 2];
}

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
	uint64_t us[RUNS];

	for (size_t i = 0; i < RUNS; i++) {
		uint64_t begin = now_us();

		if (fn(b, err) < 0)
			return -1;
		us[i] = now_us() - begin;
	}
	*ret = median(us);
	return 0;
}

static int bench(struct bench *b, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	uint64_t batch = 0, nft = 0, check = 0;

	rules_print(&b->rules, ports, b->n, &text);
	if (str_ok(&text, err) < 0 ||
		file_replace(AT_FDCWD, b->file, text.data, text.len, 0600, err) < 0 ||
		measure(b, run_nft, &nft, err) < 0 || measure(b, run_batch, &batch, err) < 0 ||
		measure(b, run_check, &check, err) < 0)
		return -1;
	printf("%zu boxes: batch %.2f ms, nft -f %.2f ms, ratio %.2f; comparing with the kernel %.2f ms\n",
		b->n, (double)batch / 1000, (double)nft / 1000, (double)batch / (double)nft,
		(double)check / 1000);
	if (batch >= nft)
		return error_set(err, ERROR_FAILED, "the batch is slower than nft -f");
	if (b->n <= 250 && batch > TARGET_US)
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

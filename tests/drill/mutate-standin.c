/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole drill, and each mutation of it, with network namespaces as boxes. Needs root. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/nft-check.h"
#include "net/nft.h"
#include "tests/drill/bench.h"
#include "tests/drill/standin.h"
#include "vmm/drill-host.h"

/* Claims about packets, and about what of the host a namespace has, too. */
static const char *const claims[] = { "egress-public", "dns-public", "dns-pinned", "egress-hidden",
	"host-gateway-tcp", "host-gateway-udp", "host-gateway-icmp", "host-addresses",
	"host-services", "host-loopback", "host-broadcast", "host-past-bridge", "range-10",
	"range-172-16", "range-192-168", "range-cgnat", "range-link-local", "range-metadata",
	"range-this-network", "range-protocol", "range-benchmark", "range-multicast",
	"range-reserved", "peer-tcp", "peer-udp", "peer-icmp", "peer-arp", "peer-raw",
	"peer-broadcast", "peer-multicast", "peer-vlan", "peer-routed", "peer-flood", "peer-name",
	"peer-reverse", "spoof-mac", "spoof-ip", "spoof-arp", "rogue-dhcp", "rogue-ra", "ipv6-peer",
	"ipv6-host", "ipv6-internet", "ipv6-address", "host-to-box", "outside-to-box", "door-open",
	"door-only-one", "door-loopback-only", "door-outside", "door-peer", "door-gone",
	"rules-intact", "port-flag", NULL };

struct fixture {
	struct standin standin;
	struct drill_world world;
	bool door;
};

static int counters(
	void *ctx, struct nft_counter *list, size_t max, size_t *ret_n, struct error *err)
{
	return nft_counters(((struct fixture *)ctx)->standin.nl, list, max, ret_n, err);
}

static int door(void *ctx, bool open, struct error *err)
{
	struct fixture *f = ctx;
	struct net_port old = f->standin.ports[1], *port = &f->standin.ports[1];

	port->n_doors = open;
	port->doors[0] = (struct net_door){ f->world.door, f->world.box_port };
	return nft_swap_port(f->standin.nl, &old, port, err);
}

static void check(void *ctx, const char *name, struct drill_finding *ret)
{
	_cleanup_nft_differences_ struct nft_differences differences = VEC_INIT;
	struct fixture *f = ctx;
	struct error err = { 0 };

	if (strcmp(name, "port-flag") == 0) {
		drill_check_port_flag(&f->world, ret);
	} else if (strcmp(name, "rules-intact") == 0) {
		if (nft_check(f->standin.nl, &f->standin.rules, f->standin.ports, 2, &differences,
			    &err) < 0)
			drill_find(ret, ANSWER_UNSEEN, "%.190s", err.text);
		else if (differences.len)
			drill_find(ret, ANSWER_NO, "%.190s", differences.items[0]);
		else
			drill_find(ret, ANSWER_YES, "as they should be");
	}
}

static int load(void *ctx, const struct ruleset *rules, struct error *err)
{
	struct fixture *f = ctx;

	return nft_apply(f->standin.nl, rules, f->standin.ports, 2, err);
}

static int on_host(void *ctx, const char *line, struct error *err)
{
	return standin_run(&((struct fixture *)ctx)->standin, STANDIN_HOST, line, err);
}

static int in_box(void *ctx, const char *line, struct error *err)
{
	return standin_run(&((struct fixture *)ctx)->standin, STANDIN_A, line, err);
}

static int names(void *ctx, const char *arguments, struct error *err)
{
	return standin_names(&((struct fixture *)ctx)->standin, arguments, err);
}

static int mend(void *ctx, struct error *err)
{
	return standin_mend(&((struct fixture *)ctx)->standin, err);
}

int main(int argc, char **argv)
{
	static struct fixture f;
	const char *const box_a[] = { "nsenter", f.standin.enter[STANDIN_A], "--", BOX_PROBE,
		"serve", NULL };
	const char *const box_b[] = { "nsenter", f.standin.enter[STANDIN_B], "--", BOX_PROBE,
		"serve", NULL };
	const char *const host[] = { BOX_PROBE, "serve", NULL };
	struct bench bench = {
		.world = &f.world,
		.argv = { box_a, box_b, host },
		.ops = { .counters = counters, .door = door, .check = check, .ctx = &f },
		.claims = claims,
		.kind = MUTATION_STANDIN,
		.load = load,
		.rules = &f.standin.rules,
		.on_host = on_host,
		.in_box = in_box,
		.names = names,
		.mend = mend,
	};
	struct error err = { 0 };
	int wrong = -1;

	(void)argc;
	if (geteuid() != 0) {
		printf("skipped: needs root, for network namespaces\n");
		return 77;
	}
	log_debug_enable(getenv("BOX_DEBUG") != NULL);
	if (standin_open(&f.standin, BOX_PROBE, &err) == 0) {
		standin_world(&f.standin, &f.world);
		if (drill_host_look(&f.world, true, &err) == 0)
			wrong = bench_run(&bench, (const char *const *)argv + 1, &err);
	}
	if (wrong < 0)
		printf("WRONG %s\n", err.text);
	drill_world_done(&f.world);
	standin_close(&f.standin);
	return wrong != 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mutate-real BOX PEER INTERFACE [WORD...]: the drill and each mutation of it with two real boxes, which run, in
 * the lab's host, as root. /tmp/box-probe is in both. See mutate-real.sh, which makes them.
 *
 * Doors are moved in the packet filter alone: asking libvirt for one has the whole rule set compared and
 * put right, which is what the product is to do, and would mend every mutation before its door claims.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/run.h"
#include "cli/drill-ownership.h"
#include "images/place.h"
#include "net/isolation.h"
#include "net/record.h"
#include "tests/drill/bench.h"
#include "vmm/drill-site.h"

enum { WORDS_MAX = 32 };

struct fixture {
	struct drill_site site;
	struct session session;
	struct bench bench;
	struct ruleset rules;
	struct net_ports ports;
	char names[2][BOX_NAME_MAX];
};

/* ---- the packet filter ---- */

static struct net_port *port_of_peer(struct fixture *f)
{
	vec_foreach(struct net_port, port, &f->ports) {
		if (str_equal(port->tap, f->site.world.box[DRILL_B].tap))
			return port;
	}
	return NULL;
}

static int counters(
	void *ctx, struct nft_counter *list, size_t max, size_t *ret_n, struct error *err)
{
	return drill_site_counters(&((struct fixture *)ctx)->site, list, max, ret_n, err);
}

static int door(void *ctx, bool open, struct error *err)
{
	struct fixture *f = ctx;
	struct net_port *port = port_of_peer(f), old;

	if (!port)
		return error_set(err, ERROR_FAILED, "the peer has no record");
	old = *port;
	port->n_doors = open;
	port->doors[0] = (struct net_door){ f->site.world.door, f->site.world.box_port };
	return nft_swap_port(f->site.nl, &old, port, err);
}

static int load(void *ctx, const struct ruleset *rules, struct error *err)
{
	struct fixture *f = ctx;

	return nft_apply(f->site.nl, rules, f->ports.items, f->ports.len, err);
}

/* ---- facts ---- */

static void check(void *ctx, const char *name, struct drill_finding *ret)
{
	struct fixture *f = ctx;
	const struct drill_facts *facts = bench_facts(&f->bench);

	if (str_equal(name, "ownership"))
		drill_check_ownership(
			&f->session, f->bench.program ? f->bench.program : "box", ret);
	else
		drill_site_check(&f->site, facts, name, ret);
}

/* ---- commands ---- */

/* Run the words of line behind the first n of argv. */
static int run_words(const char **argv, size_t n, const char *line, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(line, err);
	struct run run = { .argv = argv, .timeout_ms = 300000 };
	char *save = NULL;

	if (!copy)
		return -1;
	for (char *word = strtok_r(copy, " ", &save); word && n < WORDS_MAX - 1;
		word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	argv[n] = NULL;
	return run_program(&run, NULL, err);
}

static int on_host(void *ctx, const char *line, struct error *err)
{
	const char *argv[WORDS_MAX];

	(void)ctx;
	return run_words(argv, 0, line, err);
}

static int in_guest(struct fixture *f, size_t which, const char *line, struct error *err)
{
	const char *argv[WORDS_MAX] = { "box", "exec", "--user=root", f->names[which], "--" };

	return run_words(argv, 5, line, err);
}

static int in_box(void *ctx, const char *line, struct error *err)
{
	return in_guest(ctx, DRILL_A, line, err);
}

static int in_peer(void *ctx, const char *line, struct error *err)
{
	return in_guest(ctx, DRILL_B, line, err);
}

static int mend(void *ctx, struct error *err)
{
	struct fixture *f = ctx;
	struct net_port *port = port_of_peer(f);

	if (port)
		port->n_doors = 0;
	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *line = str_format(
			err, "bridge link set dev %s isolated on", f->site.world.box[i].tap);

		if (!line || on_host(f, line, err) < 0)
			return -1;
	}
	if (on_host(f, "ip neigh flush dev boxnet", err) < 0)
		return -1;
	return isolation_ensure(&isolation_paths, NULL, err);
}

/* ---- main ---- */

/* iface: of either box, as its guest names it. */
static int prepare(struct fixture *f, const char *iface, struct error *err)
{
	virConnectPtr conn = session_virt(&f->session, err);

	if (!conn || drill_site_open(conn, f->names[0], f->names[1], &f->site, err) < 0)
		return -1;
	if (!f->site.root)
		return error_set(err, ERROR_DENIED, "this is for root in the lab");
	for (int i = 0; i < 2; i++)
		(void)snprintf(f->site.world.box[i].iface, sizeof(f->site.world.box[i].iface), "%s",
			iface);
	rules_build(&f->site.world.net, nft_has_ibrname(f->site.nl), &f->rules);
	return record_load(isolation_paths.ports, &f->ports, err);
}

int main(int argc, char **argv)
{
	static struct fixture f;
	const char *const box_a[] = { "box", "exec", "--user=root", f.names[0], "--",
		"/tmp/box-probe", "serve", NULL };
	const char *const box_b[] = { "box", "exec", "--user=root", f.names[1], "--",
		"/tmp/box-probe", "serve", NULL };
	struct error err = { 0 };
	_cleanup_free_ char *probe = place_libexec("box-probe", &err);
	const char *const host[] = { probe, "serve", NULL };
	int wrong = -1;

	if (argc < 4 || !probe) {
		fprintf(stderr, "usage: mutate-real BOX PEER INTERFACE [WORD...]\n");
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN); /* as in box: a probe may end early */
	log_debug_enable(getenv("BOX_DEBUG") != NULL);
	(void)snprintf(f.names[0], BOX_NAME_MAX, "%s", argv[1]);
	(void)snprintf(f.names[1], BOX_NAME_MAX, "%s", argv[2]);
	if (prepare(&f, argv[3], &err) == 0) {
		f.bench = (struct bench){
			.world = &f.site.world,
			.argv = { box_a, box_b, host },
			.ops = { .counters = counters, .door = door, .check = check, .ctx = &f },
			.kind = MUTATION_REAL,
			.load = load,
			.rules = &f.rules,
			.on_host = on_host,
			.in_box = in_box,
			.in_peer = in_peer,
			.mend = mend,
		};
		wrong = bench_run(&f.bench, (const char *const *)argv + 4, &err);
	}
	if (wrong < 0)
		printf("WRONG %s\n", err.text);
	net_ports_done(&f.ports);
	drill_site_done(&f.site);
	session_done(&f.session);
	return wrong != 0;
}

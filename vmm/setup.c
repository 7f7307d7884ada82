/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Order. Up: rules and hooks before there is a network that a guest could use. Down: boxes, network, pool,
 * and rules last, so that at no moment a guest has a network without rules.
 */
#include "vmm/setup.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "images/inventory.h"
#include "images/place.h"
#include "net/firewalls.h"
#include "net/host.h"
#include "net/network-def.h"
#include "vmm/box.h"
#include "vmm/layer-read.h"
#include "vmm/network.h"
#include "vmm/pool.h"
#include "vmm/recover.h"
#include "vmm/remove.h"
#include "vmm/stray.h"

struct setup {
	const struct setup_request *request;
	struct setup_report *report;
	struct host host; /* owned */
	char *program; /* owned: path of box-hook */
	char *units; /* owned: folder of what systemd gets */
	virConnectPtr conn; /* owned */
};

static void setup_done(struct setup *s)
{
	host_done(&s->host);
	free(s->program);
	free(s->units);
	if (s->conn)
		(void)virConnectClose(s->conn);
}

static int connect_here(struct setup *s, struct error *err)
{
	if (s->conn)
		(void)virConnectClose(s->conn);
	s->conn = virt_open(s->request->uri, err);
	if (!s->conn)
		return -1;
	if (!virt_is_local(s->conn))
		return error_set(err, ERROR_USAGE,
			"'%s' is another machine; run this command there",
			virt_uri(s->request->uri));
	return 0;
}

static int begin(struct setup *s, struct error *err)
{
	s->program = place_libexec("box-hook", err);
	s->units = place_data("net/systemd", err);
	if (!s->program || !s->units)
		return -1;
	s->host.root = "";
	s->host.program = s->program;
	s->host.units = s->units;
	s->host.subnet = s->request->subnet;
	s->host.dns = s->request->dns;
	s->host.paths = &isolation_paths;
	return connect_here(s, err);
}

/* ---- up ---- */

static int do_host(void *ctx, struct error *err)
{
	struct setup *s = ctx;

	if (host_setup(&s->host, s->request->observer, err) < 0)
		return -1;
	s->report->changed |= s->host.changed;
	s->report->restart_libvirt = s->host.restart_libvirt;
	/* its daemons may have been restarted */
	return connect_here(s, err);
}

static int do_network(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	_cleanup_free_ char *def = network_def_xml(&s->host.config, err);
	bool changed = false;

	if (!def || network_setup(s->conn, def, &changed, err) < 0)
		return -1;
	s->report->changed |= changed;
	return 0;
}

static int reserve_again(
	struct setup *s, virNetworkPtr net, const struct box_row *row, struct error *err)
{
	_cleanup_box_ struct box box = { 0 };
	struct box_hardware hardware = { 0 };
	int done = 0;

	if (box_find(s->conn, row->name, &box, err) < 0 || box_hardware(&box, &hardware, err) < 0)
		return -1;
	if (*hardware.mac)
		done = network_reserve_again(net, hardware.mac, row->meta.address, err);
	s->report->changed |= done > 0;
	return MIN(done, 0);
}

/* Boxes that outlived the network, by a teardown that kept the pool, get the addresses that they had. */
static int do_addresses(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	_cleanup_(virNetworkFree_p) virNetworkPtr net = network_open(s->conn, err);
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;

	if (!net || box_list(s->conn, &rows, err) < 0)
		return -1;
	vec_foreach(const struct box_row, row, &rows) {
		if (!row->damaged && row->meta.address && reserve_again(s, net, row, err) < 0)
			return -1;
	}
	return 0;
}

static int do_pool(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	bool changed = false;

	if (pool_setup(s->conn, &changed, err) < 0)
		return -1;
	s->report->changed |= changed;
	return 0;
}

/* Not what was done counts, but what is there. */
static int do_check(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	bool changed = false;

	if (isolation_ensure(s->host.paths, &changed, err) < 0)
		return -1;
	s->report->changed |= changed;
	return 0;
}

static void describe(const struct net_config *c, struct setup_report *report)
{
	char addr[16];

	snprintf(report->subnet, sizeof(report->subnet), "%s/%u", net_format_ipv4(c->subnet, addr),
		c->prefix);
}

int setup_host(const struct setup_request *request, struct setup_report *ret, struct error *err)
{
	static const struct step steps[] = {
		{ "host", NULL, do_host, NULL },
		{ "network", "setting up the network", do_network, NULL },
		{ "addresses", NULL, do_addresses, NULL },
		{ "pool", "setting up the storage pool", do_pool, NULL },
		{ "check", "checking the rules", do_check, NULL },
	};
	struct setup_report report = { 0 };
	_cleanup_(setup_done) struct setup s = { .request = request, .report = &report };

	if (begin(&s, err) < 0 || host_plan(&s.host, err) < 0)
		return -1;
	describe(&s.host.config, &report);
	if (steps_run("setup", steps, ARRAY_LEN(steps), &s, request->observer, err) < 0)
		return -1;
	*ret = report;
	return 0;
}

/* ---- down ---- */

static int do_boxes(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;

	if (box_list(s->conn, &rows, err) < 0)
		return -1;
	vec_foreach(struct box_row, row, &rows) {
		if (!s->request->purge && row->state != BOX_STOPPED)
			return error_set(err, ERROR_BUSY,
				"box '%s' runs; stop it first: box down %s", row->name, row->name);
	}
	if (!s->request->purge) {
		s->report->boxes_kept = (unsigned)rows.len;
		return 0;
	}
	vec_foreach(struct box_row, row, &rows) {
		if (box_remove(s->conn, row->name, s->request->observer, err) < 0)
			return -1;
		s->report->changed = true;
	}
	return 0;
}

static int do_network_away(void *ctx, struct error *err)
{
	struct setup *s = ctx;

	return network_teardown(s->conn, err);
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), tail = strlen(end);

	return len > tail && str_equal(name + len - tail, end);
}

/* What we can make again, or nobody misses: images, locks, the drill's records. */
static bool is_ours(const char *name)
{
	return image_part(name) != PART_OTHER ||
	       (str_starts(name, "lock-") && !ends_in(name, ".qcow2")) ||
	       (str_starts(name, "drill-") && ends_in(name, ".json"));
}

static int may_go(virStorageVolPtr volume, const char *name, void *data, struct error *err)
{
	struct setup *s = data;
	_cleanup_free_ char *path = virStorageVolGetPath(volume);
	char uuid[VIR_UUID_STRING_BUFLEN];
	int used;

	if (!path)
		return error_virt(err, "cannot ask for the path of the volume '%s'", name);
	used = layer_path_used(s->conn, path, NULL, err);
	if (used < 0)
		return -1;
	if (!used && (is_ours(name) || (s->request->purge && stray_owner(name, uuid))))
		return 1;
	(void)snprintf(s->report->volume_kept, sizeof(s->report->volume_kept), "%s", name);
	return 0;
}

static int do_pool_away(void *ctx, struct error *err)
{
	struct setup *s = ctx;

	if (s->report->boxes_kept)
		return 0;
	return pool_teardown(s->conn, may_go, s, err) < 0 ? -1 : 0;
}

static int do_host_away(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	bool changed = false;

	if (host_teardown(&s->host, &changed, err) < 0 || firewalls_take_back(err) < 0)
		return -1;
	s->report->changed |= changed;
	return 0;
}

static int do_prove(void *ctx, struct error *err)
{
	struct setup *s = ctx;
	_cleanup_str_ struct str text = STR_INIT;
	struct host_names names = VEC_INIT;
	int ret = host_leftovers(&s->host, &names, err);

	vec_foreach(char *, name, &names) {
		str_printf(&text, "%s%s", text.len ? ", " : "", *name);
	}
	if (ret == 0 && names.len)
		ret = error_set(
			err, ERROR_FAILED, "still there after the teardown: %s", str_get(&text));
	host_names_free(&names);
	return ret;
}

int setup_teardown(const struct setup_request *request, struct setup_report *ret, struct error *err)
{
	static const struct step steps[] = {
		{ "boxes", NULL, do_boxes, NULL },
		{ "network", "taking the network away", do_network_away, NULL },
		{ "pool", "taking the storage pool away", do_pool_away, NULL },
		{ "host", "taking rules and hooks away", do_host_away, NULL },
		{ "prove", NULL, do_prove, NULL },
	};
	struct setup_report report = { 0 };
	_cleanup_(setup_done) struct setup s = { .request = request, .report = &report };

	if (begin(&s, err) < 0 ||
		steps_run("teardown", steps, ARRAY_LEN(steps), &s, request->observer, err) < 0)
		return -1;
	*ret = report;
	return 0;
}

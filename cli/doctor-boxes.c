/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's checks of the boxes: on the isolation stack, in the kernel's own view, addresses, disks, agents. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "cli/box-text.h"
#include "cli/doctor.h"
#include "net/config.h"
#include "net/isolation.h"
#include "vmm/guest-pulse.h"
#include "vmm/layer-read.h"
#include "vmm/network.h"
#include "vmm/stray.h"

/* Several things that are wrong in one line: the first few, and how many more. */
struct complaints {
	struct str text;
	unsigned told, more;
};
enum { COMPLAINTS_TOLD = 3 };

static void complain(struct complaints *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void complain(struct complaints *c, const char *fmt, ...)
{
	va_list ap;

	if (c->told == COMPLAINTS_TOLD) {
		c->more++;
		return;
	}
	str_append(&c->text, c->told++ ? "; " : "");
	va_start(ap, fmt);
	str_vprintf(&c->text, fmt, ap);
	va_end(ap);
}

static void complaints_done(struct complaints *c)
{
	str_done(&c->text);
}
#define _cleanup_complaints_ _cleanup_(complaints_done)

/* 0 when there are none. */
static int complaints_tell(struct complaints *c, struct error *err)
{
	if (c->more)
		str_printf(&c->text, "; and %u more", c->more);
	return c->told ? error_set(err, ERROR_FAILED, "%s", str_get(&c->text)) : 0;
}

/* ---- the stack, as their definitions have it ---- */

#define CONFINE "box virsh BOX -- edit {}: one NIC, on boxnet, isolated, and no device of the host"

int doctor_look_boxes(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;
	_cleanup_complaints_ struct complaints c = { STR_INIT, 0, 0 };
	unsigned damaged = 0, unconfined;

	finding_repair(ret, CONFINE);
	if (box_list(d->conn, &rows, err) < 0)
		return -1;
	vec_foreach(const struct box_row, row, &rows) {
		if (!row->damaged && !row->confined)
			complain(&c, "box '%s' is UNCONFINED: it was moved off the isolation stack",
				row->name);
	}
	unconfined = c.told;
	vec_foreach(const struct box_row, row, &rows) {
		if (row->damaged && !damaged++)
			finding_repair(ret, BOX_DAMAGED_WAY_OUT "%s", row->name, row->name,
				row->uuid, unconfined ? "; for the unconfined: " CONFINE : "");
		if (row->damaged)
			complain(&c, "the metadata of box '%s' cannot be read", row->name);
	}
	if (complaints_tell(&c, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "all of %zu boxes are on the isolation stack", rows.len);
	return 0;
}

/* ---- the stack, as the kernel has it ---- */

#define PORTS "/sys/class/net/" NET_BRIDGE "/brif"

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* Call each for every port of the bridge; a bridge that is not there has none. */
static int each_port(
	int (*each)(const char *port, void *data, struct error *err), void *data, struct error *err)
{
	_cleanup_(close_dir) DIR *dir = opendir(PORTS);
	const struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "cannot open '" PORTS "'");
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && each(entry->d_name, data, err) < 0)
			return -1;
	}
	return 0;
}

struct ports_seen {
	struct complaints complaints;
	unsigned boxes;
};

static int look_at_port(const char *port, void *data, struct error *err)
{
	struct ports_seen *seen = data;
	int isolated;

	if (!str_starts(port, NET_TAP_PREFIX)) {
		complain(&seen->complaints, "the port '%s' of " NET_BRIDGE " is no box's", port);
		return 0;
	}
	isolated = isolation_port_flag(port, err);
	if (isolated < 0 && err->kind != ERROR_NOT_FOUND)
		return -1;
	if (isolated == 0)
		complain(&seen->complaints,
			"the kernel does not isolate the port '%s' from other boxes' ports", port);
	seen->boxes++;
	error_clear(err); /* gone meanwhile */
	return 0;
}

int doctor_look_ports(struct doctor *d, struct finding *ret, struct error *err)
{
	struct ports_seen seen = { .complaints = { STR_INIT, 0, 0 } };
	int result = each_port(look_at_port, &seen, err);

	(void)d;
	finding_repair(ret, "box doctor --fix; a port that is no box's: ip link set PORT nomaster");
	if (result == 0)
		result = complaints_tell(&seen.complaints, err);
	complaints_done(&seen.complaints);
	if (result == 0)
		finding_say(ret, VERDICT_OK,
			"the kernel isolates the ports of all %u running boxes", seen.boxes);
	return result;
}

static int fix_port(const char *port, void *data, struct error *err)
{
	_cleanup_close_ int fd = -1;
	char path[128];

	(void)data;
	if (!str_starts(port, NET_TAP_PREFIX))
		return 0;
	(void)snprintf(path, sizeof(path), PORTS "/%.16s/isolated", port);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "cannot open '%s'", path);
	return fd_write_all(fd, "1\n", 2, path, err);
}

int doctor_fix_ports(struct doctor *d, struct error *err)
{
	(void)d;
	return each_port(fix_port, NULL, err);
}

/* ---- addresses ---- */

static bool is_box_mac(const struct box_rows *rows, const struct box_hardware *all, const char *mac)
{
	for (size_t i = 0; i < rows->len; i++) {
		if (str_equal(all[i].mac, mac))
			return true;
	}
	return false;
}

/* A box's MAC has the address that its metadata says, and nobody else holds that one. */
static int look_at_box(const struct network_view *view, const struct box_row *row, const char *mac,
	struct complaints *c)
{
	const struct network_host *host = network_view_find(view, mac);
	char want[16], have[16];

	if (!host)
		complain(c, "box '%s' has no address reserved", row->name);
	else if (host->address != row->meta.address)
		complain(c, "box '%s' is to have %s, and %s is reserved for it", row->name,
			box_address_text(row->meta.address, want),
			box_address_text(host->address, have));
	return 0;
}

/* An old lease keeps an address from the box for which it is reserved. */
static void look_at_leases(virNetworkPtr net, const struct network_view *view, struct complaints *c)
{
	virNetworkDHCPLeasePtr *leases = NULL;
	int len = virNetworkGetDHCPLeases(net, NULL, &leases, 0);

	for (int i = 0; i < len; i++) {
		uint32_t address = 0;
		struct error ignored = { 0 };

		if (leases[i]->ipaddr && leases[i]->mac &&
			parse_ipv4(leases[i]->ipaddr, "lease", &address, &ignored) == 0) {
			vec_foreach(const struct network_host, h, &view->hosts) {
				if (h->address == address && !str_equal(h->mac, leases[i]->mac))
					complain(c,
						"the address %s of %s is lent to %s for up to %d minutes",
						leases[i]->ipaddr, h->mac, leases[i]->mac,
						NETWORK_LEASE_MINUTES);
			}
		}
		virNetworkDHCPLeaseFree(leases[i]);
	}
	free(leases);
}

static int read_hardware(virConnectPtr conn, const struct box_rows *rows, struct box_hardware *ret,
	struct error *err)
{
	for (size_t i = 0; i < rows->len; i++) {
		_cleanup_box_ struct box box = { 0 };

		if (!rows->items[i].damaged &&
			(box_find(conn, rows->items[i].name, &box, err) < 0 ||
				box_hardware(&box, &ret[i], err) < 0) &&
			err->kind != ERROR_NOT_FOUND)
			return -1;
		error_clear(err); /* gone meanwhile */
	}
	return 0;
}

int doctor_look_addresses(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = network_open(d->conn, err);
	_cleanup_network_view_ struct network_view view = { 0 };
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;
	_cleanup_complaints_ struct complaints c = { STR_INIT, 0, 0 };
	_cleanup_free_ struct box_hardware *all = NULL;

	finding_repair(ret,
		"box setup-host, which reserves what boxes lack; the rest: virsh net-update boxnet");
	if (!net || network_view_read(net, &view, err) < 0 || box_list(d->conn, &rows, err) < 0)
		return -1;
	all = calloc(rows.len + 1, sizeof(*all));
	if (!all)
		return error_oom(err);
	if (read_hardware(d->conn, &rows, all, err) < 0)
		return -1;
	for (size_t i = 0; i < rows.len; i++) {
		if (*all[i].mac && look_at_box(&view, &rows.items[i], all[i].mac, &c) < 0)
			return -1;
	}
	vec_foreach(const struct network_host, h, &view.hosts) {
		char text[16];

		if (!is_box_mac(&rows, all, h->mac))
			complain(&c, "%s is reserved for %s, which is no box's MAC",
				box_address_text(h->address, text), h->mac);
	}
	look_at_leases(net, &view, &c);
	if (complaints_tell(&c, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "each of %zu boxes has its address", rows.len);
	return 0;
}

/* ---- disks ---- */

int doctor_look_disks(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = pool_open(d->conn, err);
	_cleanup_(layer_graph_done) struct layer_graph graph = { 0 };
	_cleanup_complaints_ struct complaints c = { STR_INIT, 0, 0 };

	finding_repair(ret, "bring the missing layer back into the pool, or: box rm BOX");
	if (!pool || layer_graph_read(d->conn, pool, &graph, err) < 0)
		return -1;
	for (size_t i = 0; i < graph.boxes_len; i++) {
		struct error broken = { 0 };

		if (layer_graph_check(&graph, &graph.boxes[i], &broken) < 0)
			complain(&c, "%s", broken.text);
	}
	if (complaints_tell(&c, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "the disks of all %zu boxes are whole", graph.boxes_len);
	return 0;
}

/* ---- agents ---- */

/* All are asked at once, so this is what any number of dead ones takes. */
enum { AGENT_MS = 3000 };

struct agents {
	struct guest_pulse *pulses; /* owned, as are their domains */
	size_t count;
};

static void agents_done(struct agents *a)
{
	for (size_t i = 0; i < a->count; i++)
		(void)virDomainFree(a->pulses[i].dom);
	free(a->pulses);
}

/* A command is at work on it, which waits for its agent by itself. */
static bool is_busy(const struct meta_operation *op)
{
	return *op->name && !str_equal(op->name, OPERATION_EPHEMERAL);
}

/* Those that run, and with which no command is busy. */
static int agents_find(
	virConnectPtr conn, const struct box_rows *rows, struct agents *ret, struct error *err)
{
	ret->pulses = calloc(rows->len + 1, sizeof(*ret->pulses));
	if (!ret->pulses)
		return error_oom(err);
	vec_foreach(const struct box_row, row, rows) {
		virDomainPtr dom;

		if (row->damaged || row->state != BOX_RUNNING || is_busy(&row->meta.operation))
			continue;
		dom = virDomainLookupByUUIDString(conn, row->uuid);
		if (!dom && virt_last_code() == VIR_ERR_NO_DOMAIN) /* gone meanwhile */
			continue;
		if (!dom)
			return error_virt(err, "cannot look up box '%s'", row->name);
		ret->pulses[ret->count++] = (struct guest_pulse){ .dom = dom, .fd = -1 };
	}
	return 0;
}

/* One that was stopped meanwhile does not answer, and need not: 1 it runs, 0, -1. */
static int still_runs(virDomainPtr dom, struct error *err)
{
	int state = VIR_DOMAIN_NOSTATE;

	if (virDomainGetState(dom, &state, NULL, 0) == 0)
		return state == VIR_DOMAIN_RUNNING;
	if (virt_last_code() == VIR_ERR_NO_DOMAIN)
		return 0;
	return error_virt(err, "cannot see whether box '%s' runs", virDomainGetName(dom));
}

/* What came of one that gave no answer, and is not among those that were not asked. */
static int tell_silent(const struct guest_pulse *p, struct complaints *c, struct error *err)
{
	int runs = still_runs(p->dom, err);

	if (runs > 0)
		complain(c,
			p->err.kind == ERROR_UNREACHABLE ? "box '%s' runs, but %s" : "box '%s': %s",
			virDomainGetName(p->dom), p->err.text);
	return runs < 0 ? -1 : 0;
}

int doctor_look_agents(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;
	_cleanup_complaints_ struct complaints c = { STR_INIT, 0, 0 };
	_cleanup_(agents_done) struct agents agents = { NULL, 0 };
	size_t answered = 0, unasked = 0;

	finding_repair(ret,
		"wait if it is still booting; get in without its agent: box virsh BOX -- console, "
		"then Enter (Ctrl-] leaves); or: box restart BOX");
	if (box_list(d->conn, &rows, err) < 0 || agents_find(d->conn, &rows, &agents, err) < 0 ||
		guest_pulse(agents.pulses, agents.count, AGENT_MS, err) < 0)
		return -1;
	for (size_t i = 0; i < agents.count; i++) {
		const struct guest_pulse *p = &agents.pulses[i];

		if (p->err.kind == ERROR_NONE)
			answered++;
		else if (p->err.kind == ERROR_BUSY || p->err.kind == ERROR_TIMEOUT)
			unasked++;
		else if (tell_silent(p, &c, err) < 0)
			return -1;
	}
	if (complaints_tell(&c, err) < 0)
		return -1;
	if (unasked)
		finding_say(ret, VERDICT_UNSEEN,
			"the agents of %zu running boxes were not asked, since all ways in are in use or "
			"libvirt takes long; those of %zu answer",
			unasked, answered);
	else
		finding_say(
			ret, VERDICT_OK, "the agents of all %zu running boxes answer", answered);
	return 0;
}

/* ---- what nobody sees ---- */

static int find_strays(struct doctor *d, struct strays *ret, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = pool_open(d->conn, err);

	return pool ? stray_list(d->conn, pool, ret, err) : -1;
}

/* Whose they are cannot be known for sure: so they are told, and never taken away. */
int doctor_look_strays(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_strays_ struct strays strays = VEC_INIT;
	_cleanup_complaints_ struct complaints c = { STR_INIT, 0, 0 };
	char size[32];

	if (find_strays(d, &strays, err) < 0) {
		if (err->kind != ERROR_BUSY)
			return -1;
		finding_say(ret, VERDICT_UNSEEN, "%s", err->text);
		error_clear(err);
		return 0;
	}
	finding_repair(ret,
		"look: virsh vol-info --pool " POOL_NAME
		" VOLUME; when no disk outside the pool stands on it: virsh vol-delete --pool " POOL_NAME
		" VOLUME");
	vec_foreach(const struct stray, s, &strays)
		complain(&c, "volume '%s' (%s) is of a box that is gone, and nobody needs it",
			s->name, format_size(s->bytes, size, sizeof(size)));
	if (complaints_tell(&c, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "every volume of a box has its box");
	return 0;
}

int doctor_list_strays(struct doctor *d, json_t *into, struct error *err)
{
	_cleanup_strays_ struct strays strays = VEC_INIT;

	if (find_strays(d, &strays, err) < 0)
		return -1;
	vec_foreach(const struct stray, s, &strays) {
		json_t *object = json_object();

		if (json_add_new(into, object, err) < 0 ||
			json_set_text(object, "name", s->name, err) < 0 ||
			json_set_u64(object, "bytes", s->bytes, err) < 0)
			return -1;
	}
	return 0;
}

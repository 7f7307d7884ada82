/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Order: metadata (with the operation, in one write), then the network is nudged, then the record that
 * the hook wrote is read back, then the operation ends. Killed in between, the door is shut: that undoes an
 * opening and finishes a shutting.
 *
 * Two boxes that take one port of the host at the same moment hold different locks. Each looks again after
 * its write, and who then sees the other backs out; at worst both do.
 */
#include "vmm/door.h"

#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/steps.h"
#include "base/str.h"
#include "net/doors.h"
#include "net/isolation.h"
#include "net/record.h"
#include "vmm/network.h"

/* ---- what there is ---- */

static const struct meta_door *find(const struct box_meta *meta, uint16_t port)
{
	vec_foreach(struct meta_door, d, &meta->doors) {
		if (d->port == port)
			return d;
	}
	return NULL;
}

static int check_own(const struct box_row *row, const struct meta_door *door, struct error *err)
{
	const struct meta_door *same = find(&row->meta, door->port);

	if (same)
		return error_set(err, ERROR_EXISTS,
			"port %u of box '%s' has a door already, at 127.0.0.1:%u; to take it away: box expose %s --remove %u",
			door->port, row->name, same->host, row->name, door->port);
	if (row->meta.doors.len >= META_DOORS_MAX)
		return error_set(err, ERROR_NO_SPACE,
			"box '%s' has %d doors, and more it cannot have", row->name,
			META_DOORS_MAX);
	return 0;
}

static int check_host(const struct box_row *row, const struct meta_door *door, struct error *err)
{
	vec_foreach(struct meta_door, d, &row->meta.doors) {
		if (d->host == door->host)
			return error_set(err, ERROR_EXISTS,
				"127.0.0.1:%u is the door to port %u of box '%s'; choose another HOSTPORT",
				door->host, d->port, row->name);
	}
	return 0;
}

int door_check(const struct box_rows *rows, const char *uuid, const struct meta_door *door,
	struct error *err)
{
	vec_foreach(struct box_row, row, rows) {
		if (str_equal(row->uuid, uuid) && check_own(row, door, err) < 0)
			return -1;
	}
	vec_foreach(struct box_row, row, rows) {
		if (check_host(row, door, err) < 0)
			return -1;
	}
	return 0;
}

/* The record that the hook wrote has this door: 1, 0; -1 when the box has no record. */
static int in_force(const struct box *box, const struct meta_door *door)
{
	struct net_port port = { 0 };
	struct error err = { 0 };
	int found = record_read(isolation_paths.ports, box->uuid, &port, &err);

	if (found < 0)
		log_debug("%s", err.text);
	if (found <= 0)
		return -1;
	for (size_t i = 0; i < port.n_doors; i++)
		if (port.doors[i].host == door->host && port.doors[i].port == door->port)
			return 1;
	return 0;
}

enum door_state door_state(virConnectPtr conn, const struct box *box, const struct meta_door *door)
{
	if (virDomainIsActive(box->dom) != 1)
		return DOOR_SHUT;
	if (!virt_is_local(conn))
		return DOOR_UNKNOWN;
	return in_force(box, door) == 1 ? DOOR_OPEN : DOOR_SHUT;
}

/* ---- changing ---- */

/* A saved box starts from the metadata in its memory image, which nobody can change. */
static int refuse_saved(const struct box *box, struct error *err)
{
	int saved = virDomainHasManagedSaveImage(box->dom, 0);

	if (saved < 0)
		return error_virt(err, "cannot ask whether box '%s' is saved", box->name);
	return saved == 0
		       ? 0
		       : error_set(err, ERROR_BUSY,
				 "box '%s' is saved, and its doors with it; start it first: box start %s",
				 box->name, box->name);
}

struct changing {
	struct box_hold *hold; /* lent */
	struct meta_door door;
	bool open; /* else shut */
	bool running;
	struct box_meta before, after; /* owned */
	char mac[DOMAIN_MAC_TEXT];
};

static void changing_done(struct changing *c)
{
	meta_done(&c->before);
	meta_done(&c->after);
}

static void drop_door(struct meta_doors *doors, uint16_t port)
{
	size_t kept = 0;

	for (size_t i = 0; i < doors->len; i++)
		if (doors->items[i].port != port)
			doors->items[kept++] = doors->items[i];
	doors->len = kept;
}

static int prepare(struct changing *c, struct error *err)
{
	struct box_hardware hardware = { 0 };
	enum box_state state = BOX_STOPPED;
	struct meta_operation *op = &c->after.operation;

	if (box_get_state(&c->hold->box, &state, err) < 0 ||
		box_hardware(&c->hold->box, &hardware, err) < 0 ||
		meta_copy(&c->hold->box.meta, &c->before, err) < 0 ||
		meta_copy(&c->hold->box.meta, &c->after, err) < 0)
		return -1;
	c->running = state != BOX_STOPPED;
	(void)snprintf(c->mac, sizeof(c->mac), "%s", hardware.mac);
	(void)snprintf(op->name, sizeof(op->name), "%s", OPERATION_DOOR);
	(void)snprintf(op->holder, sizeof(op->holder), "%s", lock_who(c->hold->lock));
	(void)snprintf(op->subject, sizeof(op->subject), "%u", (unsigned)c->door.port);
	op->since = (int64_t)time(NULL);
	if (!c->open)
		drop_door(&c->after.doors, c->door.port);
	else if (meta_doors_push(&c->after.doors, c->door, err) < 0)
		return -1;
	return 0;
}

static int nudge(struct changing *c, struct error *err)
{
	return c->running ? network_nudge(c->hold->conn, c->mac, err) : 0;
}

static int do_metadata(void *ctx, struct error *err)
{
	struct changing *c = ctx;

	return box_save(&c->hold->box, &c->after, err);
}

static void undo_metadata(void *ctx)
{
	struct changing *c = ctx;
	struct error err = { 0 };

	if (box_save(&c->hold->box, &c->before, &err) < 0 || nudge(c, &err) < 0)
		log_debug("%s", err.text);
}

static int do_network(void *ctx, struct error *err)
{
	return nudge(ctx, err);
}

/* libvirt logs what the hook says, and hands it to nobody: the likely reason is looked for here. */
static int not_opened(struct changing *c, struct error *err)
{
	if (doors_check_free(c->door.host, err) < 0)
		return -1;
	return error_set(err, ERROR_FAILED,
		"the host did not open 127.0.0.1:%u for box '%s'; its libvirt log says why, and \"box doctor\" whether its hooks work",
		c->door.host, c->hold->box.name);
}

static int do_look(void *ctx, struct error *err)
{
	struct changing *c = ctx;
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;
	int there;

	if (c->open) {
		if (box_list(c->hold->conn, &rows, err) < 0)
			return -1;
		vec_foreach(struct box_row, row, &rows) {
			if (!str_equal(row->uuid, c->hold->box.uuid) &&
				check_host(row, &c->door, err) < 0)
				return -1;
		}
	}
	if (!c->running || !virt_is_local(c->hold->conn))
		return 0;
	there = in_force(&c->hold->box, &c->door);
	if (there < 0 && c->open)
		return error_set(err, ERROR_FAILED,
			"box '%s' was not let in by the isolation hook of this host, so it has no doors; see \"box doctor\"",
			c->hold->box.name);
	if (there == 0 && c->open)
		return not_opened(c, err);
	if (there == 1 && !c->open)
		return error_set(err, ERROR_FAILED,
			"the host did not shut 127.0.0.1:%u of box '%s'; its libvirt log says why, and \"box doctor\" whether its hooks work",
			c->door.host, c->hold->box.name);
	return 0;
}

static int do_end(void *ctx, struct error *err)
{
	struct changing *c = ctx;

	return box_hold_end(c->hold, err);
}

static int change(struct changing *c, struct door_report *ret, struct error *err)
{
	static const struct step steps[] = {
		{ "metadata", NULL, do_metadata, undo_metadata },
		{ "network", NULL, do_network, NULL },
		{ "look", NULL, do_look, NULL },
		{ "end", NULL, do_end, NULL },
	};

	if (prepare(c, err) < 0 || steps_run("door", steps, ARRAY_LEN(steps), c, NULL, err) < 0)
		return -1;
	*ret = (struct door_report){ .door = c->door, .running = c->running };
	ret->state = door_state(c->hold->conn, &c->hold->box, &c->door);
	return 0;
}

int door_open(virConnectPtr conn, const char *name, const struct meta_door *door,
	struct door_report *ret, struct error *err)
{
	_cleanup_hold_ struct box_hold hold = { 0 };
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;
	_cleanup_(changing_done) struct changing c = { .hold = &hold, .door = *door, .open = true };

	if (box_hold(conn, name, LOCK_WAIT_MS, &hold, err) < 0 || box_list(conn, &rows, err) < 0 ||
		door_check(&rows, hold.box.uuid, door, err) < 0 ||
		(virt_is_local(conn) && doors_check_free(door->host, err) < 0) ||
		refuse_saved(&hold.box, err) < 0)
		return -1;
	return change(&c, ret, err);
}

static int no_such_door(const struct box *box, uint16_t port, struct error *err)
{
	_cleanup_str_ struct str list = STR_INIT;

	vec_foreach(struct meta_door, d, &box->meta.doors) {
		str_printf(&list, "%s%u", list.len ? ", " : "; its doors are to ports ",
			(unsigned)d->port);
	}
	return error_set(err, ERROR_NOT_FOUND, "port %u of box '%s' has no door%s", port, box->name,
		list.len ? str_get(&list) : "; it has none");
}

int door_shut(virConnectPtr conn, const char *name, uint16_t port, struct door_report *ret,
	struct error *err)
{
	_cleanup_hold_ struct box_hold hold = { 0 };
	_cleanup_(changing_done) struct changing c = { .hold = &hold };
	const struct meta_door *door;

	if (box_hold(conn, name, LOCK_WAIT_MS, &hold, err) < 0)
		return -1;
	door = find(&hold.box.meta, port);
	if (!door)
		return no_such_door(&hold.box, port, err);
	c.door = *door;
	if (refuse_saved(&hold.box, err) < 0)
		return -1;
	return change(&c, ret, err);
}

int door_recover(struct box_hold *hold, bool *ret_gone, struct error *err)
{
	_cleanup_(changing_done) struct changing c = { .hold = hold };
	struct error unseen = { 0 };
	uint64_t port = 0;

	*ret_gone = false;
	if (parse_u64(hold->box.meta.operation.subject, 1, 65535, "the door's port", &port, err) <
		0)
		return -1;
	c.door.port = (uint16_t)port;
	if (prepare(&c, err) < 0)
		return -1;
	c.after.operation = (struct meta_operation){ 0 };
	if (box_save(&hold->box, &c.after, err) < 0)
		return -1;
	/* A network that is not there now runs its hook when it is there again. */
	if (nudge(&c, &unseen) < 0)
		log_debug("%s", unseen.text);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order is what makes it safe to be cut off anywhere: the metadata says "removing" before the first
 * change, and the domain, which carries it, goes last (invariants 3 and 4 of box.c). No step has an
 * undo: what was begun is finished, now or by the next command.
 */
#include "vmm/remove.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "vmm/console.h"
#include "vmm/layer-plan.h"
#include "vmm/layer-read.h"
#include "vmm/live.h"
#include "vmm/network.h"
#include "vmm/power.h"
#include "vmm/recover.h"

static int do_mark(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;

	if (str_equal(hold->box.meta.operation.name, OPERATION_REMOVING))
		return 0;
	return box_hold_begin(hold, OPERATION_REMOVING, NULL, NULL, err);
}

static int do_stop(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;

	return power_off(&hold->box, err);
}

/* Which layers are to go. */
static int plan_layers(struct box_hold *hold, struct layer_plan *plan, struct error *err)
{
	_cleanup_(layer_graph_done) struct layer_graph graph = { 0 };
	const struct layer_box *box;

	if (layer_graph_read(hold->conn, hold->pool, &graph, err) < 0)
		return -1;
	box = layer_graph_box(&graph, hold->box.uuid);
	if (!box)
		return error_set(err, ERROR_NOT_FOUND, "no such box: %s", hold->box.name);
	return layer_plan_remove(&graph, box, plan, err);
}

static int do_layers(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };

	if (plan_layers(hold, &plan, err) < 0)
		return -1;
	for (size_t i = 0; i < plan.len; i++)
		if (plan.items[i].kind == LAYER_DELETE &&
			pool_delete(hold->pool, plan.items[i].volume, err) < 0)
			return -1;
	return live_sweep(hold, true, err);
}

/* A seed that belongs to a box and that no other domain (a clone) has. */
static int delete_seed(struct box_hold *hold, const char *name, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	int there = pool_has(hold->pool, name, err);
	int used;

	if (there <= 0)
		return there;
	path = pool_path(hold->pool, name, err);
	if (!path)
		return -1;
	used = layer_path_used(hold->conn, path, hold->box.uuid, err);
	if (used != 0)
		return used < 0 ? -1 : 0;
	return pool_delete(hold->pool, name, err);
}

static int do_seed(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;
	struct box_hardware hw = { 0 };
	const char *base;
	char own[POOL_NAME_MAX];

	snprintf(own, sizeof(own), "seed-box-%s.iso", hold->box.uuid);
	if (delete_seed(hold, own, err) < 0 || box_hardware(&hold->box, &hw, err) < 0)
		return -1;
	/* a clone may be the last that has its source's */
	base = strrchr(hw.seed, '/');
	if (!base || !str_starts(base + 1, "seed-box-") || str_equal(base + 1, own))
		return 0;
	return delete_seed(hold, base + 1, err);
}

static int do_address(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;
	char mac[DOMAIN_MAC_TEXT];

	domain_mac(hold->box.uuid, mac);
	return network_release(hold->conn, mac, err);
}

static int do_console(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;

	(void)err;
	console_remove_logs(hold->conn, hold->box.name);
	return 0;
}

static int do_domain(void *ctx, struct error *err)
{
	struct box_hold *hold = ctx;
	virDomainPtr still;

	if (virDomainUndefineFlags(hold->box.dom, VIR_DOMAIN_UNDEFINE_MANAGED_SAVE |
							  VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
							  VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA |
							  VIR_DOMAIN_UNDEFINE_NVRAM) < 0 &&
		virt_last_code() != VIR_ERR_NO_DOMAIN)
		return error_virt(err, "cannot undefine box '%s'", hold->box.name);
	still = virDomainLookupByUUIDString(hold->conn, hold->box.uuid);
	if (still) {
		(void)virDomainFree(still);
		return error_set(err, ERROR_FAILED, "box '%s' is still there after it was removed",
			hold->box.name);
	}
	return 0;
}

int box_discard(struct box_hold *hold, const struct steps_observer *observer, struct error *err)
{
	static const struct step steps[] = {
		{ "mark", NULL, do_mark, NULL },
		{ "stop", "powering off", do_stop, NULL },
		{ "layers", "deleting its disk", do_layers, NULL },
		{ "seed", NULL, do_seed, NULL },
		{ "address", "giving back its address", do_address, NULL },
		{ "console", NULL, do_console, NULL },
		{ "domain", NULL, do_domain, NULL },
	};

	return steps_run("rm", steps, ARRAY_LEN(steps), hold, observer, err);
}

int box_remove(virConnectPtr conn, const char *name, const struct steps_observer *observer,
	struct error *err)
{
	_cleanup_hold_ struct box_hold hold = { 0 };
	_cleanup_box_ struct box before = { 0 };
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };

	if (box_find(conn, name, &before, err) < 0)
		return -1;
	if (box_hold(conn, name, LOCK_WAIT_MS, &hold, err) < 0) {
		/* one that was half made or half removed has just gone: that is what was asked for */
		if (err->kind != ERROR_NOT_FOUND || !*before.meta.operation.name)
			return -1;
		error_clear(err);
		return 0;
	}
	/* what will be refused is refused before anything is changed */
	if (plan_layers(&hold, &plan, err) < 0 || box_discard(&hold, observer, err) < 0)
		return error_wrap(err, "cannot remove box '%s'", name);
	return 0;
}

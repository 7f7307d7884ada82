/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/chain.h"

#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "base/parse.h"
#include "vmm/chain-job.h"
#include "vmm/chain-run.h"
#include "vmm/layer-read.h"
#include "vmm/live.h"

void chain_done(struct chain *chain)
{
	layer_graph_done(&chain->graph);
	*chain = (struct chain){ 0 };
}

static int read_chain(struct box_hold *hold, struct chain *ret, struct error *err)
{
	if (pool_free_bytes(hold->pool, &ret->pool_free, err) < 0 ||
		layer_graph_read(hold->conn, hold->pool, &ret->graph, err) < 0)
		return -1;
	ret->box = layer_graph_box(&ret->graph, hold->box.uuid);
	if (!ret->box)
		return error_set(err, ERROR_NOT_FOUND, "no such box: %s", hold->box.name);
	return 0;
}

int chain_refuse_saved(struct box_hold *hold, struct error *err)
{
	int saved = virDomainHasManagedSaveImage(hold->box.dom, 0);

	if (saved < 0)
		return error_virt(err, "cannot ask whether box '%s' is saved", hold->box.name);
	if (saved)
		return error_set(err, ERROR_BUSY,
			"box '%s' was saved with its memory (virsh managedsave); start it first, or forget that: virsh managedsave-remove %s",
			hold->box.name, hold->box.name);
	return 0;
}

int chain_open(struct box_hold *hold, struct chain *ret, struct error *err)
{
	_cleanup_chain_ struct chain chain = { 0 };

	if (chain_refuse_saved(hold, err) < 0 || read_chain(hold, &chain, err) < 0 ||
		layer_graph_check(&chain.graph, chain.box, err) < 0)
		return -1;
	*ret = chain;
	chain = (struct chain){ 0 };
	return 0;
}

/* ---- one operation ---- */

struct operation {
	const char *name; /* for steps: "snapshot" */
	const struct steps_observer *observer; /* lent; may be NULL */
	struct box_hold hold; /* owned */
	struct chain chain; /* owned */
	struct layer_plan plan; /* owned */
	struct chain_run run; /* owned */
	struct chain_report *report; /* lent */
};

static void operation_done(struct operation *op)
{
	chain_run_done(&op->run);
	layer_plan_done(&op->plan);
	chain_done(&op->chain);
	box_hold_done(&op->hold);
}

static int operation_begin(
	struct operation *op, virConnectPtr conn, const char *box, struct error *err)
{
	if (box_hold(conn, box, LOCK_WAIT_MS, &op->hold, err) < 0 ||
		chain_open(&op->hold, &op->chain, err) < 0)
		return -1;
	op->report->running = op->chain.box->running;
	return 0;
}

static int check_space(const struct chain *chain, const struct layer_plan *plan, struct error *err)
{
	char need[32], have[32];

	if (chain->pool_free >= plan->bytes)
		return 0;
	return error_set(err, ERROR_NO_SPACE,
		"the storage pool '" POOL_NAME
		"' is too full: %s left, %s needed; free some (box image prune, box rm)",
		format_size(chain->pool_free, have, sizeof(have)),
		format_size(plan->bytes, need, sizeof(need)));
}

/*
 * It failed, and what could be undone has been. If it was past that, finish it now if that can be;
 * else the next command for the box does.
 */
static int clean_up(struct box_hold *hold, struct error *err)
{
	struct error second = { 0 };
	bool gone = false;

	if (!*hold->box.meta.operation.name)
		return -1;
	if (chain_recover(hold, &gone, &second) == 0)
		return error_hint(err, "; what was half done is finished");
	log_debug("%s", second.text);
	return error_hint(err, "; the next command for '%s' finishes or undoes it", hold->box.name);
}

static int operation_run(struct operation *op, struct error *err)
{
	if (check_space(&op->chain, &op->plan, err) < 0)
		return -1;
	op->run.hold = &op->hold;
	op->run.plan = &op->plan;
	if (op->run.when == 0)
		op->run.when = (int64_t)time(NULL);
	if (chain_run(&op->run, op->name, op->observer, err) < 0)
		return clean_up(&op->hold, err);
	op->report->quiesced = op->run.quiesced;
	(void)snprintf(op->report->why, sizeof(op->report->why), "%s", op->run.why);
	(void)snprintf(op->report->note, sizeof(op->report->note), "%s", op->plan.note);
	return 0;
}

/* ---- long chains ---- */

/* Merge what makes the chain of the held box too long; *ret_merged layers less. */
static int flatten(struct box_hold *hold, const struct steps_observer *observer,
	unsigned *ret_merged, struct error *err)
{
	_cleanup_chain_ struct chain chain = { 0 };
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	_cleanup_chain_run_ struct chain_run run = {
		.hold = hold, .plan = &plan, .when = (int64_t)time(NULL)
	};
	unsigned deletes = 0;

	if (chain_open(hold, &chain, err) < 0 ||
		layer_plan_flatten(&chain.graph, chain.box, &plan, err) < 0 ||
		check_space(&chain, &plan, err) < 0)
		return -1;
	for (size_t i = 0; i < plan.len; i++)
		deletes += plan.items[i].kind == LAYER_DELETE;
	if (chain_run(&run, "flatten", observer, err) < 0)
		return clean_up(hold, err);
	*ret_merged = deletes;
	return 0;
}

/* True when the chain was long, so that what was read of it may be old. */
static bool flatten_if_long(const struct chain *before, struct box_hold *hold,
	const struct steps_observer *observer, struct chain_report *report)
{
	struct error err = { 0 };

	if (before->graph.layers[before->box->top].depth < LAYER_DEPTH_FLATTEN)
		return false;
	if (flatten(hold, observer, &report->merged, &err) < 0)
		(void)snprintf(report->not_merged, sizeof(report->not_merged),
			"the chain of layers is long and could not be shortened: %.400s", err.text);
	return true;
}

/* ---- the operations ---- */

static int refuse_live(const struct operation *op, struct error *err)
{
	if (op->chain.box->running)
		return 0;
	return error_set(err, ERROR_FAILED,
		"box '%s' does not run, so it has no memory; without --live its disk is snapshotted",
		op->hold.box.name);
}

/* A label that nobody has chosen: the time, and a number where that is taken. */
static void choose_label(const struct layer_box *box, int64_t when, char label[LAYER_LABEL_MAX])
{
	(void)snprintf(label, LAYER_LABEL_MAX, "manual-%lld", (long long)when);
	for (unsigned n = 2; layer_box_label(box, label) && n <= LAYER_LABELS_MAX + 1; n++)
		(void)snprintf(label, LAYER_LABEL_MAX, "manual-%lld-%u", (long long)when, n);
}

int chain_snapshot(virConnectPtr conn, const char *name, const struct chain_wish *wish,
	struct chain_report *report, struct error *err)
{
	_cleanup_(operation_done) struct operation op = {
		.name = "snapshot", .observer = wish->observer, .report = report
	};
	char chosen[LAYER_LABEL_MAX];
	const char *label = wish->label ? wish->label : chosen;

	op.run.when = (int64_t)time(NULL);
	op.run.live = wish->live;
	if ((wish->label && parse_label(label, err) < 0) ||
		operation_begin(&op, conn, name, err) < 0 ||
		(wish->live && refuse_live(&op, err) < 0))
		return -1;
	choose_label(op.chain.box, op.run.when, chosen);
	if (layer_plan_snapshot(&op.chain.graph, op.chain.box, label, &op.plan, err) < 0 ||
		operation_run(&op, err) < 0)
		return -1;
	(void)snprintf(report->label, sizeof(report->label), "%s", label);
	report->live = *op.run.memory;
	report->cold = op.run.cold;
	(void)flatten_if_long(&op.chain, &op.hold, wish->observer, report);
	return 0;
}

int chain_forget(virConnectPtr conn, const char *name, const char *label,
	const struct steps_observer *observer, struct chain_report *report, struct error *err)
{
	_cleanup_(operation_done) struct operation op = {
		.name = "forget", .observer = observer, .report = report
	};

	if (operation_begin(&op, conn, name, err) < 0 ||
		layer_plan_forget(&op.chain.graph, op.chain.box, label, &op.plan, err) < 0 ||
		operation_run(&op, err) < 0)
		return -1;
	(void)snprintf(report->label, sizeof(report->label), "%s", label);
	return 0;
}

/* It was stopped, so the plan does not start it; the snapshot was of a running one. */
static int wake_stopped(struct operation *op, struct error *err)
{
	if (!op->run.wake || op->run.woken || op->report->running)
		return 0;
	return chain_wake(&op->run, err);
}

int chain_restore(virConnectPtr conn, const char *name, const char *label,
	const struct start_watch *watch, struct str *tail, struct chain_report *report,
	struct error *err)
{
	_cleanup_(operation_done) struct operation op = {
		.name = "restore", .observer = watch->observer, .report = report
	};
	_cleanup_warm_ struct warm warm = { 0 };
	struct wake wake = { .warm = &warm, .as = ADOPT_SAME, .watch = watch };

	if (operation_begin(&op, conn, name, err) < 0)
		return -1;
	wake.pool = op.hold.pool;
	if (live_open(&op.hold, label, &warm, &report->cold) > 0)
		op.run.wake = &wake;
	if (layer_plan_restore(&op.chain.graph, op.chain.box, label, &op.plan, err) < 0 ||
		operation_run(&op, err) < 0 || wake_stopped(&op, err) < 0)
		return -1;
	(void)snprintf(report->label, sizeof(report->label), "%s", label);
	report->live = op.run.woken;
	if (op.run.cold.kind)
		report->cold = op.run.cold;
	if (!report->running || report->live)
		return 0;
	if (box_wait_usable(&op.hold.box, op.run.console, watch, tail, err) < 0)
		return error_wrap(err, "box '%s' was restored to '%s' and started", name, label);
	return 0;
}

int chain_freeze_top(struct box_hold *hold, const struct steps_observer *observer,
	char layer[META_VOLUME_MAX], struct chain_report *report, struct error *err)
{
	_cleanup_chain_ struct chain chain = { 0 };
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	_cleanup_chain_run_ struct chain_run run = {
		.hold = hold, .plan = &plan, .when = (int64_t)time(NULL)
	};

	if (chain_open(hold, &chain, err) < 0)
		return -1;
	/* before, since what is frozen now has no name and must not be merged away */
	if (flatten_if_long(&chain, hold, observer, report)) {
		chain_done(&chain);
		if (chain_open(hold, &chain, err) < 0)
			return -1;
	}
	if (layer_plan_snapshot(&chain.graph, chain.box, NULL, &plan, err) < 0 ||
		check_space(&chain, &plan, err) < 0)
		return -1;
	if (chain_run(&run, "freeze", observer, err) < 0)
		return clean_up(hold, err);
	layer_copy_name(layer, META_VOLUME_MAX, chain.graph.layers[chain.box->top].name);
	report->running = chain.box->running;
	report->quiesced = run.quiesced;
	(void)snprintf(report->why, sizeof(report->why), "%s", run.why);
	return 0;
}

/* ---- recovery ---- */

/* A box that cannot be started again must not be out of reach for that: it is told once. */
static void let_go_of(struct box_hold *hold, const struct chain_run *run)
{
	struct error second = { 0 };

	if (run->at < run->plan->len && run->plan->items[run->at].kind == LAYER_START &&
		box_set_operation(&hold->box, NULL, &second) < 0)
		log_debug("%s", second.text);
}

/*
 * libvirtd may have died between QEMU's move to a new layer and its own note of it. Then QEMU writes into a
 * layer of which libvirtd knows nothing: it must not be deleted, and when the box has stopped it is
 * its disk.
 */
static int check_lost_pivot(struct box_hold *hold, const struct chain *chain,
	const struct layer_intent *intent, struct error *err)
{
	size_t layer = layer_graph_find(&chain->graph, intent->layer);
	int used;

	if (intent->kind != LAYER_INTENT_SNAPSHOT || !chain->box->running || layer == LAYER_NONE ||
		layer == chain->box->top)
		return 0;
	used = chain_layer_in_use(hold->conn, hold->box.uuid, chain->graph.layers[layer].path, err);
	if (used <= 0)
		return used;
	return error_set(err, ERROR_BUSY,
		"a snapshot of '%s' was cut off by the end of libvirtd, and its QEMU goes on in layer '%s', of which libvirtd does not know; shut it down from within (box root %s, then poweroff), and the next command finishes the snapshot",
		hold->box.name, intent->layer, hold->box.name);
}

int chain_recover(struct box_hold *hold, bool *ret_gone, struct error *err)
{
	_cleanup_chain_ struct chain chain = { 0 };
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	_cleanup_chain_run_ struct chain_run run = {
		.hold = hold, .plan = &plan, .when = hold->box.meta.operation.since
	};
	struct layer_intent intent = { 0 };

	*ret_gone = false;
	if (!chain_intent(&hold->box.meta.operation, &intent))
		return error_set(err, ERROR_INVALID,
			"the metadata of box '%s' has an operation '%s' that cannot be",
			hold->box.name, hold->box.meta.operation.name);
	/* The end of a snapshot is no job that libvirtd tells of. A change of the domain, here to what it is, waits for it. */
	if (chain_jobs_end(hold->conn, hold->box.dom, hold->box.uuid, err) < 0 ||
		box_save(&hold->box, &hold->box.meta, err) < 0 ||
		pool_refresh(hold->pool, err) < 0 || read_chain(hold, &chain, err) < 0 ||
		check_lost_pivot(hold, &chain, &intent, err) < 0 ||
		layer_plan_recover(&chain.graph, chain.box, &intent, &plan, err) < 0)
		return -1;
	/* and a memory that has come to no snapshot */
	if (chain_run(&run, "recover", NULL, err) == 0)
		return box_reload(&hold->box, err) < 0 ? -1 : live_sweep(hold, false, err);
	let_go_of(hold, &run);
	return -1;
}

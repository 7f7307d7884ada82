/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/chain-run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "base/xml.h"
#include "vmm/chain-freeze.h"
#include "vmm/chain-job.h"
#include "vmm/domain-edit.h"
#include "vmm/layer-read.h"
#include "vmm/live.h"
#include "vmm/power.h"

const char *const chain_operations[] = {
	[LAYER_INTENT_NONE] = NULL,
	[LAYER_INTENT_SNAPSHOT] = "snapshotting",
	[LAYER_INTENT_RESTORE] = "restoring",
	[LAYER_INTENT_RESTORE_RUNNING] = "restoring-running",
	[LAYER_INTENT_MERGE] = "merging",
	[LAYER_INTENT_MERGE_DOWN] = "merging-down",
};

void chain_run_done(struct chain_run *run)
{
	free(run->before);
	console_free(run->console);
	*run = (struct chain_run){ 0 };
}

bool chain_intent(const struct meta_operation *operation, struct layer_intent *ret)
{
	struct layer_intent intent = { 0 };

	for (size_t i = 1; i <= LAYER_INTENT_MERGE_DOWN; i++)
		if (str_equal(operation->name, chain_operations[i]))
			intent.kind = (enum layer_intent_kind)i;
	if (intent.kind == LAYER_INTENT_NONE || strlen(operation->subject) >= LAYER_LABEL_MAX)
		return false;
	(void)snprintf(intent.label, sizeof(intent.label), "%.63s", operation->subject);
	(void)snprintf(intent.layer, sizeof(intent.layer), "%s", operation->layer);
	(void)snprintf(intent.old, sizeof(intent.old), "%s", operation->old);
	*ret = intent;
	return true;
}

static const struct layer_action *now(const struct chain_run *run)
{
	return &run->plan->items[run->at];
}

/* ---- metadata ---- */

static int run_intend(struct chain_run *run, struct error *err)
{
	const struct layer_intent *intent = &now(run)->intent;
	struct meta_operation op = { .since = run->when };

	(void)snprintf(op.name, sizeof(op.name), "%s", chain_operations[intent->kind]);
	(void)snprintf(op.holder, sizeof(op.holder), "%s", lock_who(run->hold->lock));
	(void)snprintf(op.subject, sizeof(op.subject), "%s", intent->label);
	layer_copy_name(op.layer, sizeof(op.layer), intent->layer);
	layer_copy_name(op.old, sizeof(op.old), intent->old);
	return box_set_operation(&run->hold->box, &op, err);
}

static int undo_intend(struct chain_run *run, struct error *err)
{
	return box_set_operation(&run->hold->box, NULL, err);
}

/*
 * Boxes that shared layers with this one may have gone since the plan was made. Once, before the first of the
 * plan's own layers goes: the uppermost leads to the others.
 */
static int sweep(struct chain_run *run, struct error *err)
{
	struct box_hold *hold = run->hold;
	_cleanup_(layer_graph_done) struct layer_graph graph = { 0 };
	_cleanup_layer_plan_ struct layer_plan plan = { 0 };
	struct layer_intent intent = { 0 };
	const struct layer_box *box;

	if (run->swept || !chain_intent(&hold->box.meta.operation, &intent))
		return 0;
	run->swept = true;
	if (layer_graph_read(hold->conn, hold->pool, &graph, err) < 0)
		return -1;
	box = layer_graph_box(&graph, hold->box.uuid);
	if (!box)
		return error_set(err, ERROR_NOT_FOUND, "no such box: %s", hold->box.name);
	if (layer_plan_sweep(&graph, box, &intent, &plan, err) < 0)
		return -1;
	for (size_t i = 0; i < plan.len; i++)
		if (pool_delete(hold->pool, plan.items[i].volume, err) < 0)
			return -1;
	return 0;
}

static int run_clear(struct chain_run *run, struct error *err)
{
	return sweep(run, err) < 0 ? -1 : box_set_operation(&run->hold->box, NULL, err);
}

/* The metadata as SWITCH and RECORD leave it. */
static int labelled_meta(struct chain_run *run, struct box_meta *ret, struct error *err)
{
	const struct layer_action *a = now(run);
	struct meta_snapshot snapshot = { .created = run->when, .quiesced = run->quiesced };

	if (meta_copy(&run->hold->box.meta, ret, err) < 0)
		return -1;
	if (a->clear)
		ret->operation = (struct meta_operation){ 0 };
	if (!a->label[0])
		return 0;
	static_assert((int)LAYER_LABELS_MAX == (int)META_SNAPSHOTS_MAX,
		"layer_plan_snapshot refuses what the metadata does not take");
	layer_copy_name(snapshot.label, sizeof(snapshot.label), a->label);
	layer_copy_name(snapshot.layer, sizeof(snapshot.layer), a->backing);
	layer_copy_name(snapshot.memory, sizeof(snapshot.memory), run->memory);
	return meta_snapshots_push(&ret->snapshots, snapshot, err);
}

/* The definition for the next start: its disk (NULL: as it is) and metadata, changed at once. */
static int define(
	struct chain_run *run, const char *disk, const struct box_meta *meta, struct error *err)
{
	struct box *box = &run->hold->box;
	struct domain_change change = { .disk = disk, .meta = meta };
	_cleanup_free_ char *xml = virDomainGetXMLDesc(
		box->dom, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
	_cleanup_free_ char *edited = NULL;
	_cleanup_(virDomainFree_p) virDomainPtr defined = NULL;

	if (!xml)
		return error_virt(err, "cannot read the definition of box '%s'", box->name);
	edited = domain_edit(xml, &change, err);
	if (!edited)
		return error_wrap(err, "cannot change box '%s'", box->name);
	defined = virDomainDefineXML(run->hold->conn, edited);
	if (!defined)
		return error_virt(err, "cannot change the definition of box '%s'", box->name);
	if (disk && !run->before)
		run->before = TAKE(xml);
	return box_reload(box, err);
}

/*
 * The definition first: libvirt has put the chain into it at the pivot, which must go before a layer of
 * it does. The label is in the live domain's metadata, which is what counts while it runs, only
 * after that; so recovery comes here again if this is cut off.
 */
static int run_record(struct chain_run *run, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };

	if (labelled_meta(run, &meta, err) < 0 || define(run, NULL, &meta, err) < 0)
		return -1;
	return box_save(&run->hold->box, &meta, err);
}

static int run_forget(struct chain_run *run, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	const char *label = now(run)->label;
	struct meta_snapshot *s;

	if (meta_copy(&run->hold->box.meta, &meta, err) < 0)
		return -1;
	s = meta_snapshot_find(&meta, label);
	if (!s)
		return 0;
	/* before the label that names it */
	if (*s->memory && live_delete(run->hold, s->memory, err) < 0)
		return -1;
	memmove(s, s + 1,
		(size_t)(meta.snapshots.items + meta.snapshots.len - (s + 1)) * sizeof(*s));
	meta.snapshots.len--;
	return box_save(&run->hold->box, &meta, err);
}

static int run_move(struct chain_run *run, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	const struct layer_action *a = now(run);

	if (meta_copy(&run->hold->box.meta, &meta, err) < 0)
		return -1;
	vec_foreach(struct meta_snapshot, s, &meta.snapshots) {
		if (str_equal(s->layer, a->volume))
			layer_copy_name(s->layer, sizeof(s->layer), a->backing);
	}
	return box_save(&run->hold->box, &meta, err);
}

/* ---- volumes and the disk ---- */

static int run_create(struct chain_run *run, struct error *err)
{
	const struct layer_action *a = now(run);

	return pool_create_layer(run->hold->pool, a->volume, a->backing, a->capacity, err);
}

static int delete_now(struct chain_run *run, struct error *err)
{
	return pool_delete(run->hold->pool, now(run)->volume, err);
}

static int run_delete(struct chain_run *run, struct error *err)
{
	return sweep(run, err) < 0 ? -1 : delete_now(run, err);
}

/* 1 the box has it as its disk, now or at its next start, 0, -1. */
static int is_disk(struct chain_run *run, const char *path, unsigned flags, struct error *err)
{
	_cleanup_free_ char *text = virDomainGetXMLDesc(run->hold->box.dom, flags);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	_cleanup_free_ char *disk = NULL;

	if (!text)
		return error_virt(
			err, "cannot read the definition of box '%s'", run->hold->box.name);
	x = xml_parse(text, strlen(text), "the box's definition", err);
	if (!x || xml_str(x, NULL, "/domain/devices/disk[target/@dev='vda']/source/@file", 4096,
			  &disk, err) < 0)
		return -1;
	return str_equal(disk, path);
}

/* A step that failed may have done its work all the same: the layer is the box's disk then, and stays. */
static int undo_create(struct chain_run *run, struct error *err)
{
	_cleanup_free_ char *path = pool_path(run->hold->pool, now(run)->volume, err);
	int live = path ? is_disk(run, path, 0, err) : -1;
	int next = live == 0 ? is_disk(run, path, VIR_DOMAIN_XML_INACTIVE, err) : live;

	if (next < 0)
		return -1;
	if (next)
		return error_set(err, ERROR_BUSY, "box '%s' has '%s' as its disk already",
			run->hold->box.name, now(run)->volume);
	return delete_now(run, err);
}

static int undo_switch(struct chain_run *run, struct error *err)
{
	_cleanup_(virDomainFree_p) virDomainPtr defined = NULL;

	assert(run->before);
	defined = virDomainDefineXML(run->hold->conn, run->before);
	if (!defined)
		return error_virt(err, "cannot undo the change of box '%s'", run->hold->box.name);
	return box_reload(&run->hold->box, err);
}

/* Somebody (virsh) may have started the box since it was looked at: then it runs on the disk of before. */
static int check_switched(struct chain_run *run, const char *path, struct error *err)
{
	int active = virDomainIsActive(run->hold->box.dom);
	int moved = active > 0 ? is_disk(run, path, 0, err) : 1;

	if (active < 0)
		return error_virt(err, "cannot ask whether box '%s' runs", run->hold->box.name);
	if (moved != 0)
		return moved < 0 ? -1 : 0;
	return error_set(err, ERROR_BUSY,
		"box '%s' was started by another program in the midst of this; its disk is as it was",
		run->hold->box.name);
}

static int run_switch(struct chain_run *run, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	_cleanup_free_ char *path = pool_path(run->hold->pool, now(run)->volume, err);
	struct error second = { 0 };

	if (!path)
		return -1;
	run->quiesced = true;
	if (labelled_meta(run, &meta, err) < 0 || define(run, path, &meta, err) < 0)
		return -1;
	if (check_switched(run, path, err) == 0)
		return 0;
	if (undo_switch(run, &second) < 0)
		log_debug("%s", second.text);
	return -1;
}

/* With its memory. That which cannot be recorded is not kept: the snapshot is of the disk alone then. */
static int pivot_live(struct chain_run *run, const char *path, struct error *err)
{
	struct box_hold *hold = run->hold;
	char memory[META_VOLUME_MAX];
	_cleanup_free_ char *into = NULL;
	struct chain_freeze freeze = { 0 };
	struct error ignored = { 0 };

	if (live_prepare(hold, memory, err) < 0)
		return -1;
	into = pool_path(hold->pool, memory, err);
	if (!into || chain_pivot(&hold->box, path, into, &freeze, err) < 0) {
		(void)!live_delete(hold, memory, &ignored);
		return -1;
	}
	if (live_record(hold, memory, now(run)->backing, run->live, &run->cold) < 0) {
		(void)!live_delete(hold, memory, &ignored);
		return 0;
	}
	layer_copy_name(run->memory, sizeof(run->memory), memory);
	return 0;
}

static int run_pivot(struct chain_run *run, struct error *err)
{
	_cleanup_free_ char *path = pool_path(run->hold->pool, now(run)->volume, err);
	struct chain_freeze freeze = { 0 };

	if (path && run->live)
		return pivot_live(run, path, err);
	if (!path || chain_pivot(&run->hold->box, path, NULL, &freeze, err) < 0)
		return -1;
	run->quiesced = freeze.quiesced;
	(void)snprintf(run->why, sizeof(run->why), "%s", freeze.why);
	return 0;
}

/* ---- power ---- */

int chain_wake(struct chain_run *run, struct error *err)
{
	struct wake wake = *run->wake;
	struct box_hardware hw = { 0 };
	const char *top;

	wake.box = &run->hold->box;
	run->woken = wake_box(&wake, &run->cold) == 0;
	if (run->woken)
		return 0;
	if (run->cold.kind == ERROR_INTERRUPTED) {
		*err = run->cold;
		return -1;
	}
	if (power_off(wake.box, err) < 0 || box_hardware(wake.box, &hw, err) < 0)
		return -1;
	top = strrchr(hw.disk, '/');
	return wake_undo(&wake, top ? top + 1 : hw.disk, wake.warm->names.layer, 0, err);
}

static int run_stop(struct chain_run *run, struct error *err)
{
	return power_off(&run->hold->box, err);
}

static int run_start(struct chain_run *run, struct error *err)
{
	if (run->wake && (chain_wake(run, err) < 0 || run->woken))
		return run->woken ? 0 : -1;
	return power_on(run->hold->conn, &run->hold->box, &run->console, err);
}

static int undo_stop(struct chain_run *run, struct error *err)
{
	return power_on(run->hold->conn, &run->hold->box, NULL, err);
}

/* ---- the steps ---- */

static const struct {
	const char *doing;
	int (*run)(struct chain_run *run, struct error *err);
	int (*undo)(struct chain_run *run, struct error *err); /* NULL: nothing to undo */
} acts[] = {
	[LAYER_INTEND] = { NULL, run_intend, undo_intend },
	[LAYER_CLEAR] = { NULL, run_clear, NULL },
	[LAYER_CREATE] = { "creating a layer", run_create, undo_create },
	[LAYER_SWITCH] = { "changing its disk", run_switch, undo_switch },
	[LAYER_PIVOT] = { "freezing its disk", run_pivot, NULL },
	[LAYER_RECORD] = { NULL, run_record, NULL },
	[LAYER_FORGET] = { NULL, run_forget, NULL },
	[LAYER_MOVE] = { NULL, run_move, NULL },
	[LAYER_STOP] = { "powering off", run_stop, undo_stop },
	[LAYER_START] = { "starting", run_start, run_stop },
	[LAYER_PULL] = { "merging layers", chain_run_pull, NULL },
	[LAYER_COMMIT] = { "merging layers", chain_run_commit, NULL },
	[LAYER_DELETE] = { NULL, run_delete, NULL },
};

static int step_run(void *ctx, struct error *err)
{
	struct chain_run *run = ctx;

	if (acts[now(run)->kind].run(run, err) < 0)
		return -1;
	run->at++;
	return 0;
}

/*
 * Steps are undone in reverse; once the commit is passed, none is. What could not be undone ends it: a
 * layer must not go while the box may still have it as its disk. The intent stays, and recovery looks
 * at the world as it is.
 */
static void step_undo(void *ctx)
{
	struct chain_run *run = ctx;
	struct error err = { 0 };

	if (run->stuck || run->at >= run->plan->commit)
		return;
	run->at--;
	if (acts[now(run)->kind].undo && acts[now(run)->kind].undo(run, &err) < 0) {
		log_debug("%s", err.text);
		run->stuck = true;
	}
}

struct step_name {
	char text[24];
};

/* "delete", "delete-2", ...: each step of an operation can be told from the others. */
static void name_steps(const struct layer_plan *plan, struct step_name *names, struct step *steps)
{
	unsigned seen[ARRAY_LEN(acts)] = { 0 };

	for (size_t i = 0; i < plan->len; i++) {
		enum layer_action_kind kind = plan->items[i].kind;
		unsigned nth = ++seen[kind];

		if (nth == 1)
			(void)snprintf(names[i].text, sizeof(names[i].text), "%s",
				layer_action_name(kind));
		else
			(void)snprintf(names[i].text, sizeof(names[i].text), "%s-%u",
				layer_action_name(kind), nth);
		steps[i] = (struct step){ names[i].text, acts[kind].doing, step_run, step_undo };
	}
}

int chain_run(struct chain_run *run, const char *operation, const struct steps_observer *observer,
	struct error *err)
{
	_cleanup_free_ struct step_name *names = calloc(run->plan->len + 1, sizeof(*names));
	_cleanup_free_ struct step *steps = calloc(run->plan->len + 1, sizeof(*steps));

	if (!names || !steps)
		return error_oom(err);
	run->at = 0;
	run->stuck = false;
	run->swept = false;
	name_steps(run->plan, names, steps);
	return steps_run(operation, steps, run->plan->len, run, observer, err);
}

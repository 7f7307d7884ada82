/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a plan that merge layers: of a running box by its QEMU, of a stopped one by a QEMU of their own. */
#include "vmm/chain-run.h"

#include <string.h>

#include "base/str.h"
#include "base/xml.h"
#include "vmm/chain-job.h"

/* What the volume stands on, as libvirt says; given, NULL: nothing. */
static int read_backing(virStoragePoolPtr pool, const char *name, char **ret, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr vol = pool_volume(pool, name, err);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	_cleanup_free_ char *text = NULL;

	if (!vol)
		return -1;
	text = virStorageVolGetXMLDesc(vol, 0);
	if (!text)
		return error_virt(err, "cannot read the volume '%s'", name);
	x = xml_parse(text, strlen(text), "a volume's XML", err);
	if (!x)
		return -1;
	return xml_str(x, NULL, "/volume/backingStore/path", 4096, ret, err) < 0 ? -1 : 0;
}

/*
 * libvirt reads what a volume stands on only when it reads the whole pool. It must, before a layer
 * goes: a graph read from what it remembers would otherwise end at the layer that is gone, and those
 * below would look as if nobody needed them.
 */
static int check_backing(
	struct chain_run *run, const char *volume, const char *wanted, struct error *err)
{
	_cleanup_free_ char *backing = NULL;

	if (pool_refresh(run->hold->pool, err) < 0 ||
		read_backing(run->hold->pool, volume, &backing, err) < 0)
		return -1;
	if (!str_equal(backing, wanted))
		return error_set(err, ERROR_FAILED,
			"layer '%s' stands on '%s' after it was merged, where it should on '%s'",
			volume, backing ? backing : "nothing", wanted ? wanted : "nothing");
	return 0;
}

int chain_run_pull(struct chain_run *run, struct error *err)
{
	const struct layer_action *a = &run->plan->items[run->at];
	struct box_hold *hold = run->hold;
	_cleanup_free_ char *base = NULL;
	_cleanup_free_ char *layer = pool_path(hold->pool, a->volume, err);
	int ret;

	if (!layer)
		return -1;
	if (a->backing[0]) {
		base = pool_path(hold->pool, a->backing, err);
		if (!base)
			return -1;
	}
	ret = a->live ? chain_pull_live(hold->conn, hold->box.dom, base, err)
		      : chain_pull_stopped(hold->conn, hold->box.uuid, layer, base, err);
	return ret < 0 ? -1 : check_backing(run, a->volume, base, err);
}

/* The layer that stands on volume in the running chain changes; which one it is, QEMU knows. */
int chain_run_commit(struct chain_run *run, struct error *err)
{
	const struct layer_action *a = &run->plan->items[run->at];
	struct box_hold *hold = run->hold;
	_cleanup_free_ char *layer = pool_path(hold->pool, a->volume, err);
	_cleanup_free_ char *below = layer ? pool_path(hold->pool, a->backing, err) : NULL;

	if (!below || chain_commit_live(hold->conn, hold->box.dom, layer, below, err) < 0)
		return -1;
	return pool_refresh(hold->pool, err);
}

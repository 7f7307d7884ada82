/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/clone.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "vmm/guest.h"

void clone_done(struct clone *clone)
{
	box_hold_done(&clone->hold);
	*clone = (struct clone){ 0 };
}

/* The volume's name in a path of the hypervisor. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The layer of the snapshot, or the box's top, and how large its disk is. */
static int find_layer(struct clone *clone, const char *label, struct error *err)
{
	_cleanup_chain_ struct chain chain = { 0 };
	const struct layer_label *found = NULL;
	const struct layer *layer;

	if (chain_open(&clone->hold, &chain, err) < 0)
		return -1;
	if (label) {
		found = layer_plan_label(chain.box, label, err);
		if (!found)
			return -1;
	}
	layer = &chain.graph.layers[found ? found->layer : chain.box->top];
	if (layer->depth >= LAYER_DEPTH_MAX)
		return error_set(err, ERROR_FAILED,
			"'%s' stands on %d layers, the most there may be", clone->from,
			LAYER_DEPTH_MAX);
	layer_copy_name(clone->layer, sizeof(clone->layer), layer->name);
	clone->resources.disk = layer->capacity;
	clone->as_it_is = !label;
	(void)snprintf(clone->label, sizeof(clone->label), "%.63s", label ? label : "");
	return 0;
}

static int copy_lineage(struct clone *clone, struct error *err)
{
	const struct box *source = &clone->hold.box;
	struct new_image *image = &clone->image;
	struct box_hardware hw = { 0 };

	if (box_hardware(source, &hw, err) < 0)
		return -1;
	(void)snprintf(image->template, sizeof(image->template), "%s", source->meta.template);
	(void)snprintf(image->user, sizeof(image->user), "%s", source->meta.user);
	(void)snprintf(image->volume, sizeof(image->volume), "%s", source->meta.image);
	(void)snprintf(image->digest, sizeof(image->digest), "%s", source->meta.digest);
	(void)snprintf(image->agent, sizeof(image->agent), "%s", source->meta.agent);
	(void)snprintf(image->seed, sizeof(image->seed), "%.127s", last_part(hw.seed));
	clone->resources.cpus = hw.cpus;
	clone->resources.memory = hw.memory;
	return 0;
}

int clone_open(virConnectPtr conn, const char *from, struct clone *ret, struct error *err)
{
	_cleanup_clone_ struct clone clone = { 0 };
	_cleanup_free_ char *name = str_dup(from, err);
	char *label = name ? strchr(name, '/') : NULL;

	if (!name)
		return -1;
	if (label)
		*label++ = '\0';
	if (box_hold(conn, name, LOCK_WAIT_MS, &clone.hold, err) < 0)
		return -1;
	(void)snprintf(clone.from, sizeof(clone.from), "%.159s", from);
	if (find_layer(&clone, label, err) < 0 || copy_lineage(&clone, err) < 0)
		return -1;
	*ret = clone;
	clone = (struct clone){ 0 };
	return 0;
}

int clone_freeze(struct clone *clone, const struct steps_observer *observer, struct error *err)
{
	if (!clone->as_it_is)
		return 0;
	return chain_freeze_top(&clone->hold, observer, clone->layer, &clone->report, err);
}

/* ---- identity ---- */

static int expect(const struct guest_items *items, const char *item, const char *wanted,
	const char *box, struct error *err)
{
	const char *value = guest_items_get(items, item);

	if (str_equal(value, wanted))
		return 0;
	return error_set(err, ERROR_FAILED,
		"the guest of '%s' has not taken its own identity: its %s is '%s', not '%s'", box,
		item, value ? value : "unknown", wanted);
}

int clone_verify(struct box *box, struct error *err)
{
	_cleanup_guest_items_ struct guest_items items = VEC_INIT;
	struct guest_wait wait = { 0 };
	_cleanup_(guest_close_p) struct guest *g = guest_open(box->dom, &wait, err);
	char instance[DOMAIN_UUID_TEXT + 2];

	if (!g || guest_info(g, &wait, &items, err) < 0)
		return -1;
	(void)snprintf(instance, sizeof(instance), "i-%s", box->uuid);
	if (expect(&items, "identity.uuid", box->uuid, box->name, err) < 0 ||
		expect(&items, "hostname", box->name, box->name, err) < 0)
		return -1;
	/* an image without cloud-init has none */
	if (!guest_items_get(&items, "identity.instance-id"))
		return 0;
	return expect(&items, "identity.instance-id", instance, box->name, err);
}

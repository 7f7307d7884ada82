/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/image-store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/xml.h"
#include "images/recipe.h"
#include "vmm/layer-read.h"

void image_store_done(struct image_store *store)
{
	for (size_t i = 0; i < store->view.manifest_count; i++)
		manifest_done(&store->manifests[i]);
	free(store->manifests);
	free(store->volumes);
	layer_graph_done(&store->graph);
	virt_volumes_done(&store->others);
	*store = (struct image_store){ 0 };
}

static const char *backing_name(const struct layer_graph *g, const struct layer *layer)
{
	return layer->backing < g->len ? g->layers[layer->backing].name : NULL;
}

static void add_layers(struct image_store *store)
{
	const struct layer_graph *g = &store->graph;

	for (size_t i = 0; i < g->len; i++)
		store->volumes[store->view.volume_count++] = (struct inventory_volume){
			.name = g->layers[i].name,
			.backing = backing_name(g, &g->layers[i]),
			.bytes = g->layers[i].allocation,
			.in_use = g->layers[i].tops > 0 || g->layers[i].labels > 0,
		};
}

/* A seed or a manifest. Of a seed the domains are asked who has it as a disk. */
static int add_other(
	virConnectPtr conn, struct image_store *store, virStorageVolPtr volume, struct error *err)
{
	const char *name = virStorageVolGetName(volume);
	_cleanup_free_ char *path = NULL;
	virStorageVolInfo info;
	int used = 0;

	if (virStorageVolGetInfo(volume, &info) < 0) {
		if (virt_last_code() == VIR_ERR_NO_STORAGE_VOL)
			return 0; /* deleted since it was listed */
		return error_virt(err, "cannot look at the volume '%s'", name);
	}
	if (image_part(name) == PART_SEED) {
		path = virStorageVolGetPath(volume);
		if (!path)
			return error_virt(err, "cannot find the volume '%s'", name);
		used = layer_path_used(conn, path, "", err);
		if (used < 0)
			return -1;
	}
	store->volumes[store->view.volume_count++] = (struct inventory_volume){
		.name = name,
		.bytes = info.allocation,
		.in_use = used > 0,
	};
	return 0;
}

static int read_volumes(
	virConnectPtr conn, virStoragePoolPtr pool, struct image_store *store, struct error *err)
{
	if (pool_list(pool, &store->others, err) < 0)
		return -1;
	store->volumes = calloc(
		store->graph.len + (size_t)store->others.len + 1, sizeof(*store->volumes));
	if (!store->volumes)
		return error_oom(err);
	store->view.volumes = store->volumes;
	add_layers(store);
	for (int i = 0; i < store->others.len; i++) {
		enum image_part part = image_part(virStorageVolGetName(store->others.items[i]));

		if (part != PART_SEED && part != PART_MANIFEST && part != PART_WARM_MEMORY &&
			part != PART_WARM_RECORD)
			continue;
		if (add_other(conn, store, store->others.items[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_manifest(virStoragePoolPtr pool, const char *name, struct manifest *ret,
	bool *ret_newer, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	*ret_newer = false;
	if (pool_read(pool, name, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	if (manifest_parse(str_get(&text), text.len, name, ret, err) == 0)
		return 0;
	*ret_newer = manifest_is_newer(str_get(&text), text.len);
	return -1;
}

/* Its volume is known by its name, what that stands on by the layers; which seed it has nobody can say. */
static void keep_newer(struct image_store *store, const char *manifest)
{
	char volume[VOLUME_NAME_MAX];

	(void)snprintf(volume, sizeof(volume), "%.*sqcow2",
		(int)(strlen(manifest) - strlen("json")), manifest);
	store->newer++;
	for (size_t i = 0; i < store->view.volume_count; i++) {
		struct inventory_volume *v = &store->volumes[i];

		v->in_use |= str_equal(v->name, volume) || str_equal(v->name, manifest) ||
			     image_part(v->name) == PART_SEED;
	}
}

/* A manifest that went away meanwhile, or that says nothing to us, is no image. */
static int read_manifests(virStoragePoolPtr pool, struct image_store *store, struct error *err)
{
	size_t count = 0;

	store->manifests = calloc(store->view.volume_count + 1, sizeof(*store->manifests));
	if (!store->manifests)
		return error_oom(err);
	for (size_t i = 0; i < store->view.volume_count; i++) {
		struct error why = { 0 };
		bool newer;

		if (!store->volumes[i].name || image_part(store->volumes[i].name) != PART_MANIFEST)
			continue;
		if (read_manifest(pool, store->volumes[i].name, &store->manifests[count], &newer,
			    &why) == 0) {
			store->view.manifest_count = ++count;
			continue;
		}
		if (why.kind != ERROR_NOT_FOUND && why.kind != ERROR_INVALID) {
			*err = why;
			return -1;
		}
		log_debug("%s", why.text);
		store->unreadable++;
		if (newer)
			keep_newer(store, store->volumes[i].name);
	}
	store->view.manifests = store->manifests;
	return 0;
}

int image_store_read(
	virConnectPtr conn, virStoragePoolPtr pool, struct image_store *ret, struct error *err)
{
	_cleanup_image_store_ struct image_store store = { 0 };

	if (layer_graph_read(conn, pool, &store.graph, err) < 0)
		return -1;
	if (read_volumes(conn, pool, &store, err) < 0 || read_manifests(pool, &store, err) < 0)
		return -1;
	*ret = store;
	store = (struct image_store){ 0 };
	return 0;
}

/* Seconds since the epoch of the volume's last change, on the host's clock: 1, 0 when not known, -1. */
static int changed_at(virStoragePoolPtr pool, const char *name, uint64_t *ret, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	_cleanup_free_ char *text = NULL;
	_cleanup_(xml_free_p) struct xml *x = NULL;
	_cleanup_free_ char *when = NULL;
	int found;

	if (!volume)
		return -1;
	text = virStorageVolGetXMLDesc(volume, 0);
	if (!text)
		return error_virt(err, "cannot read about the volume '%s'", name);
	x = xml_parse(text, strlen(text), "the volume's XML", err);
	if (!x)
		return -1;
	/* "1700000000.123456789" */
	found = xml_str(x, NULL, "/volume/target/timestamps/mtime", 64, &when, err);
	if (found > 0)
		*ret = strtoull(when, NULL, 10);
	return found;
}

bool image_is_young(const char *volume, void *pool)
{
	struct error ignored = { 0 };
	uint64_t when = 0, now = (uint64_t)time(NULL);

	/* Unknown is taken as young: then it stays. A change in the future is another clock. */
	if (changed_at(pool, volume, &when, &ignored) <= 0)
		return ignored.kind != ERROR_NOT_FOUND;
	return when + IMAGE_YOUNG_SECONDS > now;
}

struct deletion {
	virStoragePoolPtr pool;
	const struct inventory_plan *plan;
	size_t next;
};

static int delete_next(void *ctx, struct error *err)
{
	struct deletion *d = ctx;

	return pool_delete(d->pool, d->plan->items[d->next++].volume, err);
}

int image_delete(virStoragePoolPtr pool, const struct inventory_plan *plan,
	const struct steps_observer *observer, struct error *err)
{
	static const struct step one = { "volume", "removing what nobody needs", delete_next,
		NULL };
	struct deletion d = { .pool = pool, .plan = plan };

	/* One at a time, since each leaves whole images: nothing is to be undone. */
	while (d.next < plan->len)
		if (steps_run("image-delete", &one, 1, &d, observer, err) < 0)
			return -1;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/layer-read.h"

#include <string.h>

#include "base/str.h"
#include "base/xml.h"
#include "vmm/metadata.h"
#include "vmm/pool.h"

#define PATH_BYTES 4096

/* A disk names its file, or a volume of a pool; of what pool a file is, its path says. */
#define FILES "/domain/devices/disk/source/@file"
/* And what those stand on, as far as libvirt says: of a domain that runs. */
#define BELOW "/domain/devices/disk//backingStore/source/@file"
#define VOLUMES "/domain/devices/disk/source[@pool='" POOL_NAME "']/@volume"

/* ---- volumes ---- */

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), tail = strlen(end);

	return len > tail && str_equal(name + len - tail, end);
}

/*
 * Locks, seeds, manifests, records and memory images, by our own names for them. Anything else may stand on
 * a layer, whatever it is called, and protects it.
 */
static bool is_no_layer(const char *name)
{
	if (ends_in(name, ".mem"))
		return str_starts(name, "warm-") || str_starts(name, "live-");
	return (str_starts(name, "lock-") && !ends_in(name, ".qcow2")) || ends_in(name, ".iso") ||
	       ends_in(name, ".json");
}

static int add_volume_xml(
	struct layer_graph *graph, const char *name, const char *text, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(text, strlen(text), "a volume's XML", err);
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ char *backing = NULL;
	struct layer_volume v = { .name = name };

	if (!x || xml_str(x, NULL, "/volume/target/path", PATH_BYTES, &path, err) < 0 ||
		xml_str(x, NULL, "/volume/backingStore/path", PATH_BYTES, &backing, err) < 0 ||
		xml_u64(x, NULL, "/volume/capacity", UINT64_MAX, &v.capacity, err) < 0 ||
		xml_u64(x, NULL, "/volume/allocation", UINT64_MAX, &v.allocation, err) < 0)
		return -1;
	v.path = path ? path : "";
	v.backing = backing;
	return layer_graph_add_volume(graph, &v, err);
}

/* What a volume stands on is what libvirt found when it last read the whole pool. */
static int add_volumes(virStoragePoolPtr pool, struct layer_graph *graph, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };

	if (pool_list(pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);
		_cleanup_free_ char *text = NULL;

		if (is_no_layer(name))
			continue;
		text = virStorageVolGetXMLDesc(volumes.items[i], 0);
		if (!text && virt_last_code() == VIR_ERR_NO_STORAGE_VOL)
			continue; /* deleted since it was listed */
		if (!text)
			return error_virt(err, "cannot read the volume '%s'", name);
		if (add_volume_xml(graph, name, text, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- domains ---- */

/* A domain as it is being added. */
struct reading {
	struct layer_graph *graph;
	struct xml *x;
	const char *name;
	char uuid[VIR_UUID_STRING_BUFLEN];
	bool running;
	struct error *err;
};

/* Pin each layer that the domain's disks name as a volume. */
static int pin_volumes(struct reading *r)
{
	_cleanup_xml_nodes_ struct xml_nodes names = { 0 };

	if (xml_nodes(r->x, NULL, VOLUMES, &names, r->err) < 0)
		return -1;
	xml_foreach(n, &names) {
		_cleanup_free_ char *name = NULL;
		size_t i;

		if (xml_str(r->x, n, ".", PATH_BYTES, &name, r->err) < 0)
			return -1;
		i = name ? layer_graph_find(r->graph, name) : LAYER_NONE;
		if (i != LAYER_NONE &&
			layer_graph_add_pin(r->graph, r->graph->layers[i].path, true, r->err) < 0)
			return -1;
	}
	return 0;
}

/* Pin the files of the XPath, but not the one that is the box's top. */
static int pin_files(struct reading *r, const char *xpath, const char *top, bool written)
{
	_cleanup_xml_nodes_ struct xml_nodes sources = { 0 };

	if (xml_nodes(r->x, NULL, xpath, &sources, r->err) < 0)
		return -1;
	xml_foreach(n, &sources) {
		_cleanup_free_ char *path = NULL;

		if (xml_str(r->x, n, ".", PATH_BYTES, &path, r->err) < 0)
			return -1;
		if (path && !str_equal(path, top) &&
			layer_graph_add_pin(r->graph, path, written, r->err) < 0)
			return -1;
	}
	return 0;
}

static int pin_disks(struct reading *r, const char *top)
{
	return pin_files(r, FILES, top, true) < 0 ? -1 : pin_volumes(r);
}

/* What cannot be read in the metadata may name any of the box's layers; clones that stand on them are sound. */
static int pin_all_of(struct reading *r)
{
	for (size_t i = 0; i < r->graph->len; i++)
		if (str_equal(r->graph->layers[i].uuid, r->uuid) &&
			layer_graph_add_pin(r->graph, r->graph->layers[i].path, false, r->err) < 0)
			return -1;
	return 0;
}

static int add_box(struct reading *r, const struct box_meta *meta)
{
	_cleanup_free_ struct layer_snapshot *snapshots = calloc(
		meta->snapshots.len + 1, sizeof(*snapshots));
	_cleanup_free_ char *top = NULL;
	struct layer_owner owner = { .uuid = r->uuid, .name = r->name, .running = r->running };

	if (!snapshots)
		return error_oom(r->err);
	for (size_t i = 0; i < meta->snapshots.len; i++)
		snapshots[i] = (struct layer_snapshot){ .label = meta->snapshots.items[i].label,
			.volume = meta->snapshots.items[i].layer };
	if (xml_str(r->x, NULL, "/domain/devices/disk[target/@dev='vda']/source/@file", PATH_BYTES,
		    &top, r->err) < 0)
		return -1;
	owner.top_path = top ? top : "";
	owner.leaving = str_equal(meta->operation.name, OPERATION_REMOVING);
	owner.snapshots = snapshots;
	owner.snapshots_len = meta->snapshots.len;
	if (layer_graph_add_box(r->graph, &owner, r->err) < 0 || pin_disks(r, owner.top_path) < 0)
		return -1;
	return meta->schema > META_SCHEMA ? pin_all_of(r) : 0;
}

static int add_domain_xml(struct reading *r, const char *text)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(
		text, strlen(text), "a domain's XML", r->err);
	_cleanup_meta_ struct box_meta meta = { 0 };
	int found;

	if (!x)
		return -1;
	r->x = x;
	found = meta_parse_domain(x, &meta, r->err);
	if (found == 1)
		return add_box(r, &meta);
	if (pin_disks(r, NULL) < 0 || pin_files(r, BELOW, NULL, false) < 0)
		return -1;
	if (found == 0)
		return 0;
	error_clear(r->err);
	return pin_all_of(r);
}

/* A running domain's definition for the next start may name other files than it has open now. */
static int pin_definition(virDomainPtr dom, struct reading *r, const char *live)
{
	_cleanup_free_ char *text = virDomainGetXMLDesc(dom, VIR_DOMAIN_XML_INACTIVE);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	_cleanup_(xml_free_p) struct xml *now = NULL;
	_cleanup_free_ char *top = NULL;

	if (!text)
		return 0; /* gone, or transient: then there is none */
	now = xml_parse(live, strlen(live), "a domain's XML", r->err);
	x = xml_parse(text, strlen(text), "a domain's XML", r->err);
	if (!now || !x)
		return -1;
	if (xml_str(now, NULL, "/domain/devices/disk[target/@dev='vda']/source/@file", PATH_BYTES,
		    &top, r->err) < 0)
		return -1;
	r->x = x;
	return pin_disks(r, top);
}

static int add_domain(virDomainPtr dom, struct layer_graph *graph, struct error *err)
{
	struct reading r = { .graph = graph, .name = virDomainGetName(dom), .err = err };
	_cleanup_free_ char *text = NULL;

	r.running = virDomainGetID(dom) != (unsigned)-1;
	if (virDomainGetUUIDString(dom, r.uuid) < 0)
		return error_virt(err, "cannot read the UUID of '%s'", r.name);
	text = virDomainGetXMLDesc(dom, 0);
	if (!text && virt_last_code() == VIR_ERR_NO_DOMAIN)
		return 0;
	if (!text)
		return error_virt(err, "cannot read the domain '%s'", r.name);
	if (add_domain_xml(&r, text) < 0)
		return -1;
	return r.running ? pin_definition(dom, &r, text) : 0;
}

static int list_domains(virConnectPtr conn, struct virt_domains *ret, struct error *err)
{
	virDomainPtr *items = NULL;
	int len = virConnectListAllDomains(conn, &items, 0);

	if (len < 0)
		return error_virt(err, "cannot list domains");
	*ret = (struct virt_domains){ .items = items, .len = len };
	return 0;
}

static int read_once(
	virConnectPtr conn, virStoragePoolPtr pool, struct layer_graph *graph, struct error *err)
{
	_cleanup_domains_ struct virt_domains domains = { 0 };
	struct layer_graph g;
	int ret;

	layer_graph_init(&g);
	ret = add_volumes(pool, &g, err);
	if (ret == 0)
		ret = list_domains(conn, &domains, err);
	for (int i = 0; ret == 0 && i < domains.len; i++)
		ret = add_domain(domains.items[i], &g, err);
	if (ret == 0)
		ret = layer_graph_resolve(&g, err);
	if (ret < 0)
		layer_graph_done(&g);
	else
		*graph = g;
	return ret;
}

static bool has_gap(const struct layer_graph *graph)
{
	for (size_t i = 0; i < graph->len; i++)
		if (graph->layers[i].backing == LAYER_ABSENT)
			return true;
	return false;
}

/*
 * libvirt does not notice that QEMU moves a volume to another backing. It then names a layer that was
 * needed once, which does no harm, unless that layer is gone: then the chain would end there, and
 * what is below would look as if nobody needed it.
 */
int layer_graph_read(
	virConnectPtr conn, virStoragePoolPtr pool, struct layer_graph *graph, struct error *err)
{
	if (read_once(conn, pool, graph, err) < 0)
		return -1;
	if (!has_gap(graph))
		return 0;
	layer_graph_done(graph);
	if (pool_refresh(pool, err) < 0)
		return -1;
	return read_once(conn, pool, graph, err);
}

/* 1, 0, -1 */
/* One of those attributes is that text: 1, 0, -1. */
static int any_is(struct xml *x, const char *xpath, const char *text, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(x, NULL, xpath, &nodes, err) < 0)
		return -1;
	xml_foreach(n, &nodes) {
		_cleanup_free_ char *value = NULL;

		if (xml_str(x, n, ".", PATH_BYTES, &value, err) < 0)
			return -1;
		if (str_equal(value, text))
			return 1;
	}
	return 0;
}

static int names_path(virDomainPtr dom, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *text = virDomainGetXMLDesc(dom, 0);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	int found;

	if (!text)
		return virt_last_code() == VIR_ERR_NO_DOMAIN
			       ? 0
			       : error_virt(err, "cannot read a domain");
	x = xml_parse(text, strlen(text), "a domain's XML", err);
	found = x ? any_is(x, FILES, path, err) : -1;
	return found == 0 && slash ? any_is(x, VOLUMES, slash + 1, err) : found;
}

int layer_path_used(
	virConnectPtr conn, const char *path, const char *except_uuid, struct error *err)
{
	_cleanup_domains_ struct virt_domains domains = { 0 };
	int used = 0;

	if (list_domains(conn, &domains, err) < 0)
		return -1;
	for (int i = 0; used == 0 && i < domains.len; i++) {
		char uuid[VIR_UUID_STRING_BUFLEN];

		if (virDomainGetUUIDString(domains.items[i], uuid) < 0)
			return error_virt(err, "cannot read a domain's UUID");
		if (!str_equal(uuid, except_uuid))
			used = names_path(domains.items[i], path, err);
	}
	return used;
}

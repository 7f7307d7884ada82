/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/stray.h"

#include <stdio.h>
#include <string.h>

#include "vmm/layer-read.h"

/* "<prefix><uuid>" and then what, or, when number is true, "-<number>" and then what. */
static bool is_named(const char *name, const char *prefix, bool number, const char *what,
	char uuid[VIR_UUID_STRING_BUFLEN])
{
	enum { UUID_LEN = VIR_UUID_STRING_BUFLEN - 1 };
	char layer[LAYER_NAME_MAX];
	size_t digits;

	if (!str_starts(name, prefix) || strnlen(name + strlen(prefix), UUID_LEN) < UUID_LEN)
		return false;
	name += strlen(prefix);
	(void)snprintf(layer, sizeof(layer), "box-%.*s-1.qcow2", UUID_LEN, name);
	name += UUID_LEN;
	digits = number && *name == '-' ? strspn(name + 1, "0123456789") : 0;
	if (number && !digits)
		return false;
	return str_equal(name + (number ? digits + 1 : 0), what) &&
	       layer_name_parse(layer, uuid, NULL) == LAYER_BOX;
}

bool stray_owner(const char *name, char uuid[VIR_UUID_STRING_BUFLEN])
{
	return layer_name_parse(name, uuid, NULL) == LAYER_BOX ||
	       is_named(name, "seed-box-", false, ".iso", uuid) ||
	       is_named(name, "live-", true, ".mem", uuid) ||
	       is_named(name, "live-", true, ".json", uuid);
}

/* Something that can be seen needs it: 1, 0, -1. */
static int is_needed(virConnectPtr conn, virStorageVolPtr volume, const struct layer_graph *g,
	const bool *needed, struct error *err)
{
	size_t layer = layer_graph_find(g, virStorageVolGetName(volume));
	_cleanup_free_ char *path = NULL;

	if (layer != LAYER_NONE && needed[layer])
		return 1;
	path = virStorageVolGetPath(volume);
	return path ? layer_path_used(conn, path, "", err) : 0;
}

/* A domain with that UUID is there, a box or not. */
static int has_domain(virConnectPtr conn, const char *uuid, struct error *err)
{
	virDomainPtr dom = virDomainLookupByUUIDString(conn, uuid);

	if (!dom)
		return virt_last_code() == VIR_ERR_NO_DOMAIN
			       ? 0
			       : error_virt(err, "cannot look up the domain %s", uuid);
	(void)virDomainFree(dom);
	return 1;
}

static int add_if_stray(virConnectPtr conn, virStorageVolPtr volume, const struct layer_graph *g,
	const bool *needed, struct strays *ret, struct error *err)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	struct stray stray = { 0 };
	virStorageVolInfo info;
	int seen;

	(void)snprintf(stray.name, sizeof(stray.name), "%s", virStorageVolGetName(volume));
	if (!stray_owner(stray.name, uuid))
		return 0;
	seen = has_domain(conn, uuid, err);
	if (seen == 0) /* dear: it may read all domains */
		seen = is_needed(conn, volume, g, needed, err);
	if (seen != 0)
		return seen < 0 ? -1 : 0;
	if (virStorageVolGetInfo(volume, &info) < 0) /* its box was being removed */
		return virt_last_code() == VIR_ERR_NO_STORAGE_VOL
			       ? 0
			       : error_virt(err, "cannot look at the volume '%s'", stray.name);
	stray.bytes = info.allocation;
	return strays_push(ret, stray, err);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct stray *)a)->name, ((const struct stray *)b)->name);
}

/* The volumes first: of a box that is being made the domain comes before them. */
int stray_list(virConnectPtr conn, virStoragePoolPtr pool, struct strays *ret, struct error *err)
{
	_cleanup_(layer_graph_done) struct layer_graph g = { 0 };
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	_cleanup_strays_ struct strays found = VEC_INIT;
	_cleanup_free_ bool *needed = NULL;

	if (pool_list(pool, &volumes, err) < 0 || layer_graph_read(conn, pool, &g, err) < 0 ||
		layer_graph_check_others(&g, NULL, err) < 0)
		return -1;
	needed = calloc(g.len + 1, sizeof(*needed));
	if (!needed)
		return error_oom(err);
	layer_graph_needed(&g, needed);
	for (int i = 0; i < volumes.len; i++)
		if (add_if_stray(conn, volumes.items[i], &g, needed, &found, err) < 0)
			return -1;
	if (found.len)
		qsort(found.items, found.len, sizeof(*found.items), by_name);
	*ret = found;
	found = (struct strays)VEC_INIT;
	return 0;
}

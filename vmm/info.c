/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/info.h"

#include <string.h>

#include "vmm/layer-read.h"
#include "vmm/network.h"
#include "vmm/pool.h"

void box_info_done(struct box_info *info)
{
	info_snapshots_done(&info->snapshots);
	*info = (struct box_info){ 0 };
}

static int read_snapshots(const struct layer_graph *graph, const struct box *box,
	struct box_info *info, struct error *err)
{
	vec_foreach(struct meta_snapshot, s, &box->meta.snapshots) {
		size_t layer = layer_graph_find(graph, s->layer);
		struct info_snapshot row = { .present = layer != LAYER_NONE };

		if (row.present)
			row.bytes = layer_graph_own_bytes(graph, layer);
		if (info_snapshots_push(&info->snapshots, row, err) < 0)
			return -1;
	}
	return 0;
}

static int read_layers(
	virConnectPtr conn, const struct box *box, struct box_info *info, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = pool_open(conn, err);
	_cleanup_(layer_graph_done) struct layer_graph graph = { 0 };
	size_t top;

	if (!pool || layer_graph_read(conn, pool, &graph, err) < 0)
		return -1;
	top = layer_graph_find_path(&graph, info->hardware.disk);
	if (top != LAYER_NONE) {
		info->disk = graph.layers[top].capacity;
		info->own_bytes = layer_graph_own_bytes(&graph, top);
		info->depth = graph.layers[top].depth;
	}
	return read_snapshots(&graph, box, info, err);
}

static int read_address(
	virConnectPtr conn, const struct box *box, struct box_info *info, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = network_open(conn, err);
	_cleanup_network_view_ struct network_view view = { 0 };
	const struct network_host *host;

	if (!net || network_view_read(net, &view, err) < 0)
		return -1;
	host = network_view_find(&view, info->hardware.mac);
	info->address_reserved = host && host->address == box->meta.address;
	return 0;
}

int box_info(virConnectPtr conn, const struct box *box, struct box_info *ret, struct error *err)
{
	_cleanup_box_info_ struct box_info info = { 0 };

	if (box_get_state(box, &info.state, err) < 0 || box_hardware(box, &info.hardware, err) < 0)
		return -1;
	/* what is not set up can say nothing; everything else is worth showing */
	if (read_layers(conn, box, &info, err) < 0) {
		if (err->kind != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	if (read_address(conn, box, &info, err) < 0) {
		if (err->kind != ERROR_NOT_FOUND && err->kind != ERROR_FAILED)
			return -1;
		error_clear(err);
	}
	while (info.snapshots.len < box->meta.snapshots.len)
		if (info_snapshots_push(&info.snapshots, (struct info_snapshot){ 0 }, err) < 0)
			return -1;
	*ret = info;
	info = (struct box_info){ 0 };
	return 0;
}

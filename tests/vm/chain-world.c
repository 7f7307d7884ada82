/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/vm/chain-world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/str.h"
#include "vmm/domain-edit.h"
#include "vmm/layer-read.h"
#include "vmm/network.h"

static virConnectPtr conn;
static virStoragePoolPtr pool;
static uint64_t pool_bytes; /* of its file system, when it is not full */
static size_t others; /* reservations of the network that are not ours */

static size_t reservations(void)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = NULL;
	_cleanup_network_view_ struct network_view view = { 0 };
	struct error err = { 0 };

	net = network_open(conn, &err);
	if (!net || network_view_read(net, &view, &err) < 0)
		bare_die("%s", err.text);
	return view.hosts.len;
}

static struct statvfs look_at_pool(void)
{
	struct statvfs fs;

	if (statvfs(BARE_FOLDER, &fs) < 0)
		bare_die("cannot look at " BARE_FOLDER);
	return fs;
}

static void connect_again(void)
{
	struct error err = { 0 };

	world_close();
	conn = virt_open(NULL, &err);
	pool = conn ? pool_open(conn, &err) : NULL;
	if (!pool)
		bare_die("%s", err.text);
}

void world_open(void)
{
	struct statvfs fs = look_at_pool();

	connect_again();
	pool_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	others = reservations();
}

void world_close(void)
{
	if (pool)
		(void)virStoragePoolFree(pool);
	if (conn)
		(void)virConnectClose(conn);
	pool = NULL;
	conn = NULL;
}

/* ---- breaking ---- */

static pid_t libvirtd_pid(void)
{
	FILE *f = fopen("/run/libvirtd.pid", "re");
	long pid = 0;

	if (!f || fscanf(f, "%ld", &pid) != 1 || pid <= 1)
		bare_die("libvirtd's pid is not known");
	(void)fclose(f);
	return (pid_t)pid;
}

static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&pause, NULL);
}

void world_restart_libvirtd(void)
{
	const char *const argv[] = { "reaper.py", "libvirtd", "-d", "--timeout", "0", NULL };
	pid_t pid = libvirtd_pid();

	if (kill(pid, SIGKILL) < 0)
		bare_die("cannot kill libvirtd");
	for (int i = 0; kill(pid, 0) == 0; i++) {
		if (i == 1000)
			bare_die("libvirtd does not die");
		pause_ms(10);
	}
	if (bare_run(argv, NULL, false) != 0)
		bare_die("libvirtd does not start");
	connect_again();
}

/* A tmpfs: as large as what is in it. */
static void resize_pool(uint64_t bytes)
{
	char options[64];

	(void)snprintf(options, sizeof(options), "size=%llu", (unsigned long long)bytes);
	if (mount(NULL, BARE_FOLDER, NULL, MS_REMOUNT, options) < 0)
		bare_die("cannot change the size of the pool's file system");
}

void world_fill_pool(void)
{
	struct statvfs fs = look_at_pool();

	resize_pool((uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize);
	if (look_at_pool().f_bfree > 0)
		bare_die("the pool is not full");
}

void world_empty_pool(void)
{
	resize_pool(pool_bytes);
}

/* ---- making ---- */

static void switch_on(const char *name)
{
	virDomainPtr dom = virDomainLookupByName(conn, name);

	if (!dom || virDomainCreate(dom) < 0)
		bare_die("cannot start %s: %s", name, virGetLastErrorMessage());
	(void)virDomainFree(dom);
}

static void box_must(const char *verb, const char *name, const char *argument)
{
	const char *const argv[] = { "box", verb, name, argument, "--quiet", NULL };

	if (bare_run(argv, NULL, false) != 0)
		bare_die("box %s %s failed", verb, name);
}

static void must(const char *const *argv)
{
	if (bare_run(argv, NULL, false) != 0)
		bare_die("%s %s failed", argv[0], argv[1]);
}

/* Slots but the first have the markers of layers that are spread over the chain. */
static unsigned marked_layer(unsigned slot, unsigned deep)
{
	return slot * deep / BARE_SLOTS;
}

static unsigned char marker_of(unsigned slot)
{
	return (unsigned char)(100 + slot);
}

/* Layer number nth of so many, by qemu-img. */
static void add_layer(const char *below, const char *path, unsigned nth, unsigned deep)
{
	char command[64];
	const char *const create[] = { "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2",
		"-b", below, path, NULL };
	const char *const mark[] = { "qemu-io", "-f", "qcow2", "-c", command, path, NULL };

	must(create);
	for (unsigned slot = 1; slot < BARE_SLOTS; slot++) {
		if (marked_layer(slot, deep) != nth)
			continue;
		(void)snprintf(command, sizeof(command), "write -P %u %uk %uk", marker_of(slot),
			slot * BARE_SLOT_KIB, BARE_SLOT_KIB);
		must(mark);
	}
}

static void set_disk(struct box *box, const char *path)
{
	const struct domain_change change = { .disk = path };
	_cleanup_free_ char *xml = virDomainGetXMLDesc(box->dom, VIR_DOMAIN_XML_INACTIVE);
	_cleanup_free_ char *edited = NULL;
	_cleanup_(virDomainFree_p) virDomainPtr dom = NULL;
	struct error err = { 0 };

	edited = xml ? domain_edit(xml, &change, &err) : NULL;
	dom = edited ? virDomainDefineXML(conn, edited) : NULL;
	if (!dom)
		bare_die("cannot change the disk of %s: %s", box->name, err.text);
}

/* As generations of clones that are gone leave it. The number of web's present layer is 3. */
static void deepen(unsigned deep)
{
	_cleanup_box_ struct box box = { 0 };
	struct error err = { 0 };
	char below[512], path[512] = "";

	if (box_find(conn, "web", &box, &err) < 0)
		bare_die("%s", err.text);
	for (unsigned i = 0; i <= deep; i++) {
		char name[LAYER_NAME_MAX];

		layer_name_format(box.uuid, 3 + i, name, sizeof(name));
		(void)memcpy(below, path, sizeof(below));
		(void)snprintf(path, sizeof(path), BARE_FOLDER "/%s", name);
		if (i > 0)
			add_layer(below, path, i, deep);
	}
	if (pool_refresh(pool, &err) < 0)
		bare_die("%s", err.text);
	set_disk(&box, path);
}

static bool is_there(const char *name)
{
	virDomainPtr dom = virDomainLookupByName(conn, name);

	if (dom)
		(void)virDomainFree(dom);
	return dom != NULL;
}

void world_remove(void)
{
	if (is_there("web"))
		box_must("rm", "web", "--force");
	if (is_there("api"))
		box_must("rm", "api", "--force");
}

void world_make(unsigned deep, bool running)
{
	world_remove();
	bare_new(conn, pool, "web", NULL);
	bare_put(conn, "web", 0, 1);
	box_must("snapshot", "web", "a");
	bare_put(conn, "web", 0, 2);
	box_must("snapshot", "web", "b");
	if (deep)
		deepen(deep);
	if (running)
		switch_on("web");
	bare_put(conn, "web", 0, 3);
}

/* ---- looking ---- */

/* The first slots of the disks that the program writes: the image's marker is where nothing was. */
static bool has_content(const char *path, unsigned char value, unsigned deep)
{
	struct bare_content content = { { value } };

	for (unsigned slot = 1; deep && slot < BARE_SLOTS; slot++)
		content.slot[slot] = marker_of(slot);
	return bare_same(path, &content);
}

/* The memory that a snapshot names is there with its record. */
static bool has_memory(const char *memory)
{
	struct error err = { 0 };
	char record[META_VOLUME_MAX];
	int there;

	if (!*memory)
		return true;
	(void)snprintf(record, sizeof(record), "%.*s.json", (int)strcspn(memory, "."), memory);
	there = pool_has(pool, memory, &err) == 1 && pool_has(pool, record, &err) == 1;
	if (*err.text)
		bare_die("%s", err.text);
	return there;
}

/* a and b are older than the deep layers. */
static bool has_labels(const struct box *box, const char *labels, unsigned deep)
{
	if (box->meta.snapshots.len != strlen(labels))
		return false;
	for (const char *c = labels; *c; c++) {
		char label[] = { *c, '\0' };
		struct meta_snapshot *s = meta_snapshot_find(&box->meta, label);
		_cleanup_free_ char *path = NULL;
		struct error err = { 0 };

		if (!s || !has_memory(s->memory))
			return false;
		path = pool_path(pool, s->layer, &err);
		if (!path || !has_content(path, (unsigned char)(*c - 'a' + 1), *c > 'b' ? deep : 0))
			return false;
	}
	return true;
}

bool world_is(const struct wanted *w, unsigned deep)
{
	_cleanup_box_ struct box box = { 0 };
	struct box_hardware hw = { 0 };
	struct error err = { 0 };
	enum box_state state = BOX_STOPPED;

	if (virConnectNumOfDomains(conn) != (w->name && w->running) ||
		virConnectNumOfDefinedDomains(conn) != (w->name && !w->running))
		return false;
	if (!w->name)
		return true;
	if (box_find(conn, w->name, &box, &err) < 0)
		return false;
	if (box_hardware(&box, &hw, &err) < 0 || box_get_state(&box, &state, &err) < 0)
		bare_die("%s", err.text);
	if (w->running != (state == BOX_RUNNING) || box.meta.operation.name[0])
		return false;
	if (w->running)
		bare_flush(w->name);
	return has_content(hw.disk, w->value, deep) && has_labels(&box, w->labels, deep);
}

bool world_has_memory(const char *name, const char *label)
{
	_cleanup_box_ struct box box = { 0 };
	const struct meta_snapshot *s = NULL;
	struct error err = { 0 };

	if (box_find(conn, name, &box, &err) == 0)
		s = meta_snapshot_find(&box.meta, label);
	return s && *s->memory && has_memory(s->memory);
}

/* Volumes that are no layers: the seed of all, and a memory with its record for each snapshot that names one. */
static size_t wanted_volumes(const struct wanted *w)
{
	_cleanup_box_ struct box box = { 0 };
	struct error err = { 0 };
	size_t count = 1;

	if (!w->name || box_find(conn, w->name, &box, &err) < 0)
		return count;
	vec_foreach(struct meta_snapshot, s, &box.meta.snapshots)
		count += *s->memory ? 2 : 0;
	return count;
}

static size_t count_volumes(void)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	struct error err = { 0 };
	size_t count = 0;

	if (pool_list(pool, &volumes, &err) < 0)
		bare_die("%s", err.text);
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);

		count += layer_name_parse(name, NULL, NULL) == LAYER_OTHER;
	}
	return count;
}

/* Each layer of a box is one that web needs. */
static const char *check_graph(
	const struct layer_graph *g, const struct wanted *w, size_t *ret_nameless)
{
	static char text[sizeof(struct error)];
	struct error err = { 0 };
	size_t layers = 0, named = w->name ? strlen(w->labels) + 1 : 0;

	if (g->boxes_len != (w->name != NULL))
		return "another number of boxes";
	if (g->boxes_len && layer_graph_check(g, &g->boxes[0], &err) < 0) {
		(void)snprintf(text, sizeof(text), "%s", err.text);
		return text;
	}
	for (size_t i = 0; i < g->len; i++) {
		if (g->layers[i].kind != LAYER_BOX)
			continue;
		layers++;
		if (g->boxes_len && layer_box_needs(g, &g->boxes[0], i))
			continue;
		(void)snprintf(text, sizeof(text), "nobody needs %s", g->layers[i].name);
		return text;
	}
	if (layers < named)
		return "layers are missing";
	*ret_nameless = layers - named;
	return NULL;
}

const char *world_leftover(const struct wanted *w, size_t *ret_nameless)
{
	struct layer_graph g = { 0 };
	struct error err = { 0 };
	const char *wrong;

	*ret_nameless = 0;
	if (pool_refresh(pool, &err) < 0 || layer_graph_read(conn, pool, &g, &err) < 0)
		bare_die("%s", err.text);
	wrong = check_graph(&g, w, ret_nameless);
	layer_graph_done(&g);
	if (!wrong && count_volumes() != wanted_volumes(w))
		wrong = "a seed, a memory or a lock is left over, or missing";
	if (!wrong && reservations() != others + (w->name != NULL))
		wrong = "an address is reserved for nobody, or none for the box";
	return wrong;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps, and why in this order. The domain comes first: its name and UUID are libvirt's to give out
 * once, and from then on there is a place where it says "creating" (invariant 3 of box.c). It is defined
 * before its disk exists, since the names of everything follow from the UUID. Undoing any prefix of the
 * steps is one thing, box_discard, which takes half-done ones; so it is the undo of the first step and
 * the others have none.
 */
#include "vmm/new.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/parse.h"
#include "vmm/clone.h"
#include "vmm/host.h"
#include "vmm/network.h"
#include "vmm/recover.h"
#include "vmm/remove.h"
#include "vmm/wake.h"

#define NAME_TRIES 100 /* others who choose a name at the same time */

void new_report_done(struct new_report *report)
{
	str_done(&report->console);
	box_hold_done(&report->hold);
	*report = (struct new_report){ 0 };
}

/* ---- the plan ---- */

void new_choose_name(
	const char *base, const char *const *names, size_t count, char name[BOX_NAME_MAX])
{
	for (unsigned n = 1;; n++) {
		bool taken = false;

		snprintf(name, BOX_NAME_MAX, "%.50s-%u", base, n);
		for (size_t i = 0; i < count && !taken; i++)
			taken = str_equal(names[i], name);
		if (!taken)
			return;
	}
}

/* Names of all domains: a foreign one blocks a name as well. */
static int choose_name(
	virConnectPtr conn, const char *base, char name[BOX_NAME_MAX], struct error *err)
{
	_cleanup_domains_ struct virt_domains domains = { 0 };
	_cleanup_free_ const char **names = NULL;
	virDomainPtr *items = NULL;
	int len = virConnectListAllDomains(conn, &items, 0);

	if (len < 0)
		return error_virt(err, "cannot list domains");
	domains = (struct virt_domains){ .items = items, .len = len };
	names = calloc((size_t)len + 1, sizeof(*names));
	if (!names)
		return error_oom(err);
	for (int i = 0; i < len; i++)
		names[i] = virDomainGetName(items[i]);
	new_choose_name(base, names, (size_t)len, name);
	return 0;
}

static int check_name(virConnectPtr conn, const char *name, struct error *err)
{
	virDomainPtr dom;

	if (parse_box_name(name, err) < 0)
		return -1;
	dom = virDomainLookupByName(conn, name);
	if (dom) {
		(void)virDomainFree(dom);
		return error_set(
			err, ERROR_EXISTS, "the name '%s' is taken; choose another one", name);
	}
	if (virt_last_code() != VIR_ERR_NO_DOMAIN)
		return error_virt(err, "cannot look up '%s'", name);
	return 0;
}

/* What a name of our choice begins with. */
static const char *named_after(const struct new_request *request)
{
	if (request->stem)
		return request->stem;
	return request->clone ? request->clone->hold.box.name : request->image->template;
}

static int plan_name(virConnectPtr conn, const struct new_request *request, char name[BOX_NAME_MAX],
	struct error *err)
{
	if (!request->name)
		return choose_name(conn, named_after(request), name, err);
	if (check_name(conn, request->name, err) < 0)
		return -1;
	snprintf(name, BOX_NAME_MAX, "%s", request->name);
	return 0;
}

/* The layer that the new box's disk stands on. */
static const char *stands_on(const struct new_request *request)
{
	return request->clone ? request->clone->layer : request->image->volume;
}

static int plan_resources(virConnectPtr conn, virStoragePoolPtr pool,
	const struct new_request *request, struct resources *ret, struct error *err)
{
	struct pool_size image = { 0 };
	struct host_facts facts = { 0 };
	struct resources_limits limits;
	virStoragePoolInfo info;

	if (pool_need(pool, NEW_POOL_RESERVE, "a new box", err) < 0 ||
		pool_volume_size(pool, stands_on(request), &image, err) < 0 ||
		host_facts(conn, &facts, err) < 0)
		return -1;
	if (virStoragePoolGetInfo(pool, &info) < 0)
		return error_virt(err, "cannot ask how large the storage pool is");
	limits = (struct resources_limits){ .cpus = facts.cpus,
		.memory = facts.memory,
		.pool = info.capacity,
		.image = image.capacity };
	return resources_resolve(&request->flags, request->template, &limits, ret, err);
}

int new_plan(virConnectPtr conn, const struct new_request *request, struct new_plan *ret,
	struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_(virNetworkFree_p) virNetworkPtr net = NULL;
	struct new_plan plan = { 0 };

	pool = pool_open(conn, err);
	if (!pool)
		return -1;
	net = network_open(conn, err);
	if (!net || plan_name(conn, request, plan.name, err) < 0 ||
		host_accel(conn, &plan.tcg, err) < 0 ||
		plan_resources(conn, pool, request, &plan.resources, err) < 0)
		return -1;
	*ret = plan;
	return 0;
}

/* ---- the making ---- */

struct making {
	virConnectPtr conn;
	const struct new_request *request;
	const struct new_plan *plan;
	struct new_report *report;
	virNetworkPtr net; /* owned */
	struct console *console; /* owned */
	struct box_hold hold; /* owned */
	char name[BOX_NAME_MAX];
	char uuid[DOMAIN_UUID_TEXT];
	char mac[DOMAIN_MAC_TEXT];
	char tap[DOMAIN_TAP_TEXT];
	char layer[META_VOLUME_MAX];
	char seed[META_VOLUME_MAX];
	bool warm; /* its guest runs, restored and with its own identity */
};

static void making_done(struct making *m)
{
	console_free(m->console);
	box_hold_done(&m->hold);
	if (m->net)
		(void)virNetworkFree(m->net);
}

/* A UUID whose MAC nobody has: its three bytes are few enough to meet twice some day. */
static int draw_identity(struct making *m, struct error *err)
{
	_cleanup_network_view_ struct network_view view = { 0 };

	if (network_view_read(m->net, &view, err) < 0)
		return -1;
	do {
		if (domain_uuid(m->uuid, err) < 0)
			return -1;
		domain_mac(m->uuid, m->mac);
	} while (network_view_find(&view, m->mac));
	domain_tap(m->uuid, m->tap);
	if (m->request->layer)
		snprintf(m->layer, sizeof(m->layer), "%s", m->request->layer);
	else
		snprintf(m->layer, sizeof(m->layer), "box-%s-1.qcow2", m->uuid);
	if (m->request->seed)
		snprintf(m->seed, sizeof(m->seed), "seed-box-%s.iso", m->uuid);
	else
		snprintf(m->seed, sizeof(m->seed), "%s", m->request->image->seed);
	return 0;
}

static void fill_meta(const struct making *m, struct box_meta *meta)
{
	const struct new_image *image = m->request->image;

	*meta = (struct box_meta){ .schema = META_SCHEMA, .created = (int64_t)time(NULL) };
	snprintf(meta->template, sizeof(meta->template), "%s", image->template);
	snprintf(meta->user, sizeof(meta->user), "%s", image->user);
	snprintf(meta->image, sizeof(meta->image), "%s", image->volume);
	snprintf(meta->digest, sizeof(meta->digest), "%s", image->digest);
	snprintf(meta->agent, sizeof(meta->agent), "%s", image->agent);
	snprintf(meta->tap, sizeof(meta->tap), "%s", m->tap);
	snprintf(meta->operation.name, sizeof(meta->operation.name), "%s", OPERATION_CREATING);
	snprintf(meta->operation.holder, sizeof(meta->operation.holder), "%s",
		lock_who(m->hold.lock));
	meta->operation.since = meta->created;
	if (!m->request->clone)
		return;
	meta->clone = true;
	meta->identity = META_IDENTITY_PENDING;
	snprintf(meta->source, sizeof(meta->source), "%s", m->request->clone->from);
}

/* The domain's XML, given (free it). */
static char *make_xml(struct making *m, const struct box_meta *meta, struct error *err)
{
	_cleanup_free_ char *folder = pool_folder(m->hold.pool, err);
	_cleanup_free_ char *disk = NULL;
	_cleanup_free_ char *seed = NULL;
	char instance[DOMAIN_UUID_TEXT + 2];
	struct domain_spec spec = {
		.name = m->name,
		.uuid = m->uuid,
		.instance = instance,
		.tcg = m->plan->tcg,
		.cpus = m->plan->resources.cpus,
		.memory = m->plan->resources.memory,
		.mac = m->mac,
		.tap = m->tap,
		.meta = meta,
	};

	if (!folder)
		return NULL;
	disk = str_format(err, "%s/%s", folder, m->layer);
	seed = disk ? str_format(err, "%s/%s", folder, m->seed) : NULL;
	if (!seed)
		return NULL;
	snprintf(instance, sizeof(instance), "i-%s", m->uuid);
	spec.disk = disk;
	spec.seed = seed;
	return domain_xml(&spec, err);
}

/* 1 defined, 0 the name is taken, -1 error. */
static int define_once(struct making *m, struct error *err)
{
	_cleanup_free_ char *xml = make_xml(m, &m->hold.box.meta, err);

	if (!xml)
		return -1;
	m->hold.box.dom = virDomainDefineXML(m->conn, xml);
	if (m->hold.box.dom)
		return 1;
	(void)error_virt(err, "cannot define box '%s'", m->name);
	if (err->kind != ERROR_EXISTS)
		return -1;
	error_clear(err);
	return 0;
}

static int do_define(void *ctx, struct error *err)
{
	struct making *m = ctx;
	struct box *box = &m->hold.box;
	int done;

	if (draw_identity(m, err) < 0)
		return -1;
	m->hold.lock = lock_take(m->hold.pool, m->uuid, m->name, 0, err);
	if (!m->hold.lock)
		return -1;
	fill_meta(m, &box->meta);
	done = define_once(m, err);
	/* a name of our choice that somebody else has taken since: the next one */
	for (int i = 0; done == 0 && !m->request->name && i < NAME_TRIES; i++) {
		if (choose_name(m->conn, named_after(m->request), m->name, err) < 0)
			return -1;
		done = define_once(m, err);
	}
	if (done == 0)
		return error_set(
			err, ERROR_EXISTS, "the name '%s' is taken; choose another one", m->name);
	if (done < 0)
		return -1;
	snprintf(box->name, sizeof(box->name), "%s", m->name);
	snprintf(box->uuid, sizeof(box->uuid), "%s", m->uuid);
	return 0;
}

static void undo_all(void *ctx)
{
	struct making *m = ctx;
	struct error err = { 0 };

	if (box_discard(&m->hold, NULL, &err) < 0)
		log_debug("undoing box %s: %s", m->name, err.text);
}

static int do_address(void *ctx, struct error *err)
{
	struct making *m = ctx;
	_cleanup_meta_ struct box_meta meta = { 0 };

	if (meta_copy(&m->hold.box.meta, &meta, err) < 0 ||
		network_reserve(m->net, m->mac, &meta.address, err) < 0)
		return -1;
	return box_save(&m->hold.box, &meta, err);
}

static int do_freeze(void *ctx, struct error *err)
{
	struct making *m = ctx;

	return m->request->clone ? clone_freeze(m->request->clone, m->request->watch.observer, err)
				 : 0;
}

/* From then on the layer is safe, since something stands on it: others may work on the source again. */
static int do_disk(void *ctx, struct error *err)
{
	struct making *m = ctx;
	const struct warm *warm = m->request->warm;
	/* a restored guest knows the disk's size already: it grows when it runs */
	const char *on = warm ? warm->names.layer : stands_on(m->request);
	uint64_t bytes = warm ? warm->record.disk : m->plan->resources.disk;

	if (pool_create_layer(m->hold.pool, m->layer, on, bytes, err) < 0)
		return -1;
	if (m->request->clone)
		box_hold_done(&m->request->clone->hold);
	return 0;
}

static int do_seed(void *ctx, struct error *err)
{
	struct making *m = ctx;

	if (!m->request->seed)
		return 0;
	return pool_write(m->hold.pool, m->seed, m->request->seed, m->request->seed_len, err);
}

static int start_warm(struct making *m, struct error *err)
{
	struct wake wake = {
		.pool = m->hold.pool,
		.warm = m->request->warm,
		.box = &m->hold.box,
		.disk = m->plan->resources.disk,
		.as = ADOPT_OTHER,
		.watch = &m->request->watch,
	};
	struct error *why = &m->report->cold;

	m->warm = wake_box(&wake, why) == 0;
	if (m->warm)
		return 0;
	if (why->kind == ERROR_INTERRUPTED) {
		*err = *why;
		return -1;
	}
	m->report->refused = !wake.restored && why->kind != ERROR_BUSY;
	return wake_undo(&wake, m->layer, stands_on(m->request), m->plan->resources.disk, err);
}

static int do_start(void *ctx, struct error *err)
{
	struct making *m = ctx;

	if (m->request->warm && (start_warm(m, err) < 0 || m->warm))
		return m->warm ? 0 : -1;
	return power_on(m->conn, &m->hold.box, &m->console, err);
}

static int do_ready(void *ctx, struct error *err)
{
	struct making *m = ctx;

	if (m->warm)
		return 0;
	return box_wait_usable(
		&m->hold.box, m->console, &m->request->watch, &m->report->console, err);
}

static int do_identity(void *ctx, struct error *err)
{
	struct making *m = ctx;
	_cleanup_meta_ struct box_meta meta = { 0 };

	if (!m->request->clone && !m->warm)
		return 0;
	if (clone_verify(&m->hold.box, err) < 0 || meta_copy(&m->hold.box.meta, &meta, err) < 0)
		return -1;
	meta.identity = META_IDENTITY_VERIFIED;
	return box_save(&m->hold.box, &meta, err);
}

static int do_record(void *ctx, struct error *err)
{
	struct making *m = ctx;

	if (m->request->ephemeral)
		return box_hold_begin(&m->hold, OPERATION_EPHEMERAL, NULL, NULL, err);
	return box_hold_end(&m->hold, err);
}

int new_box(virConnectPtr conn, const struct new_request *request, const struct new_plan *plan,
	struct new_report *report, struct error *err)
{
	static const struct step steps[] = {
		{ "define", "defining the box", do_define, undo_all },
		{ "address", "reserving an address", do_address, NULL },
		{ "freeze", NULL, do_freeze, NULL },
		{ "disk", "creating its disk", do_disk, NULL },
		{ "seed", NULL, do_seed, NULL },
		{ "start", "starting", do_start, NULL },
		{ "ready", "waiting until it is usable", do_ready, NULL },
		{ "identity", NULL, do_identity, NULL },
		{ "record", NULL, do_record, NULL },
	};
	_cleanup_(making_done) struct making m = {
		.conn = conn, .request = request, .plan = plan, .report = report
	};

	m.hold.conn = conn;
	snprintf(m.name, sizeof(m.name), "%s", plan->name);
	m.hold.pool = pool_open(conn, err);
	if (!m.hold.pool)
		return -1;
	m.net = network_open(conn, err);
	if (!m.net ||
		steps_run("new", steps, ARRAY_LEN(steps), &m, request->watch.observer, err) < 0)
		return -1;
	snprintf(report->name, sizeof(report->name), "%s", m.name);
	report->address = m.hold.box.meta.address;
	if (request->ephemeral) {
		report->hold = m.hold;
		m.hold = (struct box_hold){ 0 };
	}
	return 0;
}

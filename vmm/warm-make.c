/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: an ordinary box is made, with two differences. It is ephemeral: if this process dies, the next
 * command removes it. And its disk layer bears the warm image's name, not the box's, so that it stays when the
 * box goes. The record is written last; before that, layer and memory image are leftovers, which the next
 * warming removes.
 *
 * Before the memory is saved, the guest drops what it has cached and then does once what a restored box
 * will do: take an identity, run a command. What is free after that is given back. So the image is small, and has
 * just those pages that matter.
 */
#include "vmm/warm-make.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "vmm/adopt.h"
#include "vmm/layer-read.h"
#include "vmm/lock.h"
#include "vmm/remove.h"

struct making {
	virConnectPtr conn;
	const struct warm_request *request;
	virStoragePoolPtr pool; /* owned */
	struct box_lock *lock; /* owned */
	struct new_report report; /* owned: the box */
	struct warm warm; /* owned */
};

static void making_done(struct making *m)
{
	new_report_done(&m->report);
	warm_done(&m->warm);
	lock_release(m->lock);
	if (m->pool)
		(void)virStoragePoolFree(m->pool);
}

static int delete_volumes(virStoragePoolPtr pool, const struct warm_names *n, struct error *err)
{
	return warm_forget(pool, n, err) < 0 ? -1 : pool_delete(pool, n->layer, err);
}

/* ---- the steps ---- */

static int do_boot(void *ctx, struct error *err)
{
	struct making *m = ctx;
	const struct warm_fit *fit = &m->request->fit;
	const struct resources size = { fit->cpus, fit->memory, m->request->disk };
	char stem[BOX_NAME_MAX];
	const struct new_request request = {
		.stem = stem,
		.image = fit->image,
		.template = &size,
		.layer = m->warm.names.layer,
		.ephemeral = true,
		.watch = m->request->watch,
	};
	struct new_plan plan;
	int ret;

	(void)snprintf(stem, sizeof(stem), "warm-%.48s", fit->image->template);
	if (new_plan(m->conn, &request, &plan, err) < 0)
		return -1;
	plan.resources = size;
	plan.tcg = fit->tcg;
	ret = new_box(m->conn, &request, &plan, &m->report, err);
	if (ret < 0 && m->request->console) {
		str_done(m->request->console);
		*m->request->console = m->report.console;
		m->report.console = (struct str)STR_INIT;
	}
	return ret;
}

static void undo_boot(void *ctx)
{
	struct making *m = ctx;
	struct error err = { 0 };

	if (m->report.hold.box.dom && box_discard(&m->report.hold, NULL, &err) < 0)
		log_debug("undoing the warming: %s", err.text);
}

static int run_in(struct box *box, const char *const *argv, const char *user, unsigned flags)
{
	const struct guest_exec exec = {
		.argv = argv,
		.user = user,
		.flags = flags,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.timeout_ms = ADOPT_MS,
	};
	struct guest_wait wait = { .timeout_ms = ADOPT_MS };
	struct guest_result result = { 0 };
	struct error why = { 0 };
	_cleanup_(guest_close_p) struct guest *guest = guest_open(box->dom, &wait, &why);

	if (!guest || guest_exec(guest, &exec, &result, &why) < 0) {
		log_debug("%s: %s", argv[0], why.text);
		return -1;
	}
	return guest_result_status(&result);
}

/* Dropping caches makes the image smaller and is no condition; taking an identity is. */
static int do_rehearse(void *ctx, struct error *err)
{
	static const char *const sync[] = { "sync", NULL };
	static const char *const drop[] = { "sysctl", "-q", "vm.drop_caches=3", NULL };
	static const char *const nothing[] = { "true", NULL };
	struct making *m = ctx;
	struct box *box = &m->report.hold.box;

	(void)run_in(box, sync, NULL, 0);
	(void)run_in(box, drop, NULL, GUEST_LOGIN);
	if (box_adopt(box, ADOPT_OTHER, &m->request->watch, err) < 0)
		return -1;
	(void)run_in(box, nothing, box->meta.user, GUEST_LOGIN);
	(void)run_in(box, sync, NULL, 0);
	return 0;
}

/*
 * What is saved comes back in huge pages: a block of 2 MiB is resident in each box if one page of it is. So the
 * guest moves together what can be moved, and reports what is free then, down to single pages, to the host, which
 * forgets it; two seconds later, as is its kernel's way. Otherwise it reports whole blocks only, and none of
 * the 16 MiB at the bottom, which the boot loader has filled.
 *
 * Before that it empties its lists of free pages for each CPU, and again behind it, since they keep blocks
 * from being whole (55 MiB with two CPUs), and are what is used first. Refreshing the kernel's statistics
 * shortens them by an eighth each time. All of it is as it was in the end, and none of it is a condition.
 *
 * Rejected: the balloon, which did half of this in twice the time, and scattered what it gave back; a program that
 * overwrites what is free with zeros, which makes all of it resident for a moment.
 */
#define LISTS "/proc/sys/vm/percpu_pagelist_high_fraction"
#define ORDER "/sys/module/page_reporting/parameters/page_reporting_order"
#define SHORT_LISTS           \
	"echo 100000 >" LISTS \
	"; i=0; while [ $i -lt 40 ]; do echo 1 >/proc/sys/vm/stat_refresh; i=$((i + 1)); done; "
#define COMPACT "echo 1 >/proc/sys/vm/compact_memory; "

static int do_trim(void *ctx, struct error *err)
{
	static const char script[] = "order=$(cat " ORDER "); echo 0 >" ORDER
				     "; " SHORT_LISTS COMPACT "sleep 3; echo $order >" ORDER
				     "; " SHORT_LISTS COMPACT "echo 0 >" LISTS;
	static const char *const argv[] = { "sh", "-c", script, NULL };
	struct making *m = ctx;
	int status = run_in(&m->report.hold.box, argv, NULL, 0);

	(void)err;
	if (status != 0)
		log_debug("the memory of '%s' is not trimmed: status %d", m->report.hold.box.name,
			status);
	return 0;
}

static void fill_record(struct making *m, const struct memory_image *memory)
{
	struct warm_record *r = &m->warm.record;
	time_t now = time(NULL);

	(void)snprintf(r->image, sizeof(r->image), "%s", m->request->fit.image->volume);
	(void)snprintf(r->uuid, sizeof(r->uuid), "%s", m->report.hold.box.uuid);
	(void)snprintf(r->tool, sizeof(r->tool), "%s", m->request->tool);
	(void)meta_time_format((int64_t)now, r->created);
	r->cpus = m->request->fit.cpus;
	r->memory = m->request->fit.memory;
	r->bytes = memory->bytes;
	r->data_len = memory->data_len;
	r->compressed = memory->compressed;
}

static int do_save(void *ctx, struct error *err)
{
	struct making *m = ctx;
	struct memory_image memory = { 0 };
	struct pool_size size;

	if (memory_image_save(m->pool, m->report.hold.box.dom, m->warm.names.memory, &memory,
		    &m->warm.record.cookie, err) < 0 ||
		pool_volume_size(m->pool, m->warm.names.layer, &size, err) < 0)
		return -1;
	fill_record(m, &memory);
	m->warm.record.disk = size.capacity;
	return 0;
}

static int do_digest(void *ctx, struct error *err)
{
	struct making *m = ctx;

	return warm_digest(m->pool, &m->warm, NULL, NULL, err);
}

static int do_discard(void *ctx, struct error *err)
{
	struct making *m = ctx;

	if (box_discard(&m->report.hold, NULL, err) < 0)
		return -1;
	new_report_done(&m->report);
	return 0;
}

static int do_record(void *ctx, struct error *err)
{
	struct making *m = ctx;
	_cleanup_str_ struct str text = STR_INIT;

	if (warm_record_render(&m->warm.record, &text, err) < 0)
		return -1;
	return pool_write(m->pool, m->warm.names.record, text.data, text.len, err);
}

/* ---- all of it ---- */

static struct box_lock *lock_warm(struct making *m, struct error *err)
{
	char hex[DIGEST_HEX], uuid[DOMAIN_UUID_TEXT];
	const char *name = m->request->fit.image->volume;
	struct digest d;

	digest_init(&d);
	digest_field_text(&d, "warming", m->warm.record.key);
	digest_hex(&d, hex);
	(void)snprintf(uuid, sizeof(uuid), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
		hex + 16, hex + 20);
	return lock_take(m->pool, uuid, name, 0, err);
}

/* Another one of this template and key: the one that is about to be made replaces it. */
static bool is_replaced(const struct making *m, const char *volume, struct warm_names *ret)
{
	return warm_names_of(volume, ret) && !str_equal(ret->layer, m->warm.names.layer) &&
	       warm_names_fit(ret, m->request->fit.image->template, m->warm.record.key);
}

static int forget_others(struct making *m, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };

	if (pool_list(m->pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		struct warm_names names;

		if (is_replaced(m, virStorageVolGetName(volumes.items[i]), &names) &&
			warm_forget(m->pool, &names, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * Under the lock nothing of this template and key is anybody's work: what is there is damaged, or was left by a
 * warming that was killed. A layer that boxes stand on stays.
 */
static int sweep(struct making *m, struct error *err)
{
	_cleanup_(layer_graph_done) struct layer_graph graph = { 0 };

	if (forget_others(m, err) < 0 || layer_graph_read(m->conn, m->pool, &graph, err) < 0)
		return -1;
	for (size_t i = 0; i < graph.len; i++) {
		const struct layer *layer = &graph.layers[i];
		struct warm_names names;

		if (is_replaced(m, layer->name, &names) && !layer->children && !layer->tops &&
			!layer->labels && pool_delete(m->pool, names.layer, err) < 0)
			return -1;
	}
	return 0;
}

/* Names that nothing has. */
static int draw_names(struct making *m, struct error *err)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return error_set(err, ERROR_FAILED, "cannot draw a random number");
	warm_names_make(
		m->request->fit.image->template, m->warm.record.key, number, &m->warm.names);
	return 0;
}

static int make(struct making *m, struct error *err)
{
	static const struct step steps[] = {
		{ "boot", "booting the image once", do_boot, undo_boot },
		{ "rehearse", "rehearsing", do_rehearse, NULL },
		{ "trim", "trimming its memory", do_trim, NULL },
		{ "save", "saving its memory", do_save, NULL },
		{ "discard", NULL, do_discard, NULL },
		{ "digest", NULL, do_digest, NULL },
		{ "record", NULL, do_record, NULL },
	};

	struct error second = { 0 };

	if (steps_run("warm", steps, ARRAY_LEN(steps), m, m->request->watch.observer, err) == 0)
		return 0;
	/* a box that could not be made has left its layer too */
	if (delete_volumes(m->pool, &m->warm.names, &second) < 0)
		log_debug("undoing the warming: %s", second.text);
	return -1;
}

int warm_make(virConnectPtr conn, const struct warm_request *request, struct warm *ret,
	bool *ret_made, struct error *err)
{
	_cleanup_(making_done) struct making m = { .conn = conn, .request = request };
	int found;

	m.pool = pool_open(conn, err);
	if (!m.pool || warm_key(conn, &request->fit, m.warm.record.key, err) < 0)
		return -1;
	m.lock = lock_warm(&m, err);
	if (!m.lock)
		return -1;
	found = request->anew ? 0 : warm_find(conn, m.pool, &request->fit, &m.warm, err);
	if (found < 0 && err->kind != ERROR_INVALID)
		return -1;
	if (found < 0)
		log_debug("%s", err->text);
	error_clear(err);
	if (found <= 0 && (draw_names(&m, err) < 0 || sweep(&m, err) < 0 || make(&m, err) < 0))
		return error_wrap(err, "cannot warm the image '%s'", request->fit.image->volume);
	if (ret_made)
		*ret_made = found <= 0;
	*ret = m.warm;
	m.warm = (struct warm){ 0 };
	return 0;
}

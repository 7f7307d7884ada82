/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/making.h"

#include "cli/box-text.h"
#include "config.h"
#include "vmm/live.h"
#include "vmm/pool.h"
#include "vmm/warm-make.h"

void making_done(struct making *making)
{
	clone_done(&making->clone);
	template_done(&making->template);
}

/* A missing template, image, box or snapshot is told apart from a start that failed. */
static int missing(struct session *s, enum fault fault, const struct error *err)
{
	if (err->kind == ERROR_NOT_FOUND)
		s->fault = fault;
	return -1;
}

static int open_clone(struct session *s, const char *from, struct making *m, struct error *err)
{
	if (clone_open(s->conn, from, &m->clone, err) < 0)
		return missing(s, FAULT_BOX_MISSING, err);
	m->request.clone = &m->clone;
	m->request.image = &m->clone.image;
	m->request.template = &m->clone.resources;
	return 0;
}

static int open_image(struct session *s, struct making *m, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = pool_open(s->conn, err);
	const struct template *t = &m->template;

	if (!pool)
		return -1;
	if (golden_find(pool, t, &m->golden, err) < 0)
		return missing(s, FAULT_IMAGE_MISSING, err);
	if (m->golden.outdated)
		session_warn(s,
			"the image of '%s' is older than its template; for the present one: box image "
			"mint %s",
			t->name, t->name);
	m->wish = (struct resources){
		.cpus = (unsigned)t->cpu, .memory = t->memory, .disk = t->disk
	};
	m->request.image = &m->golden.image;
	m->request.template = &m->wish;
	return 0;
}

int making_open(struct session *s, const char *template, const char *from, struct making *ret,
	struct error *err)
{
	if (template && from)
		return error_set(err, ERROR_USAGE,
			"--from and --template exclude each other: a clone has its source's");
	/* Before anything on the host is looked at: a name that is wrong is wrong everywhere. */
	if (!from && template_load(template ? template : MAKING_DEFAULT_TEMPLATE, &ret->template,
			     err) < 0)
		return missing(s, FAULT_IMAGE_MISSING, err);
	if (session_change(s, err) < 0 ||
		(from ? open_clone(s, from, ret, err) : open_image(s, ret, err)) < 0)
		return -1;
	/* The watch comes last: interruption is noted only since session_change. */
	ret->request.watch = session_start_watch(s);
	return 0;
}

/* ---- warm ---- */

static struct warm_fit fit_of(const struct new_request *request, const struct new_plan *plan)
{
	return (struct warm_fit){
		.image = request->image,
		.cpus = plan->resources.cpus,
		.memory = plan->resources.memory,
		.tcg = plan->tcg,
	};
}

/* What a box gets for which nothing is asked. */
static int plain_plan(
	struct session *s, const struct making *making, struct new_plan *ret, struct error *err)
{
	struct new_request plain = making->request;

	plain.name = NULL;
	plain.flags = (struct resources_wish){ 0 };
	return new_plan(s->conn, &plain, ret, err);
}

int making_warm(struct session *s, const struct making *making, struct warm *ret, bool *ret_made,
	struct error *err)
{
	_cleanup_str_ struct str console = STR_INIT;
	struct warm_request request = { .watch = making->request.watch,
		.console = &console,
		.tool = BOX_VERSION,
		.anew = making->anew };
	struct new_plan plan;

	if (plain_plan(s, making, &plan, err) < 0)
		return -1;
	request.fit = fit_of(&making->request, &plan);
	request.disk = plan.resources.disk;
	if (warm_make(s->conn, &request, ret, ret_made, err) == 0)
		return 0;
	if (err->kind != ERROR_BUSY)
		session_show_console(s, &console);
	return -1;
}

/* The warm image of the template, or the memory of the snapshot: 1, 0 there is none, -1. */
static int find_warm(struct session *s, const struct making *making, const struct new_plan *plan,
	struct warm *ret, struct error *err)
{
	const struct new_request *request = &making->request;
	const struct warm_fit fit = fit_of(request, plan);
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;

	if (request->clone)
		return live_open(&request->clone->hold, request->clone->label, ret, err);
	pool = pool_open(s->conn, err);
	return pool ? warm_find(s->conn, pool, &fit, ret, err) : -1;
}

/* A memory image has the sizes that it has; only a disk can grow. */
static bool sizes_fit(struct session *s, const struct new_plan *plan, const struct warm *warm)
{
	const struct resources *r = &plan->resources;
	const char *other = NULL;

	if (r->cpus != warm->record.cpus)
		other = "another number of CPUs";
	else if (r->memory != warm->record.memory)
		other = "another size of memory";
	else if (r->disk < warm->record.disk)
		other = "a smaller disk";
	if (other)
		session_note(s, "with %s than its memory image's the box is booted", other);
	return !other;
}

/*
 * On first use: it takes little longer than the boot that would come otherwise, and those after it are spared
 * theirs. Only of the sizes that everybody gets who asks for nothing.
 */
static int warm_now(struct session *s, const struct making *making, const struct new_plan *plan,
	struct warm *ret, struct error *err)
{
	struct new_plan plain;

	if (plain_plan(s, making, &plain, err) < 0)
		return -1;
	if (plain.resources.cpus != plan->resources.cpus ||
		plain.resources.memory != plan->resources.memory) {
		session_note(s, "no warm image has these sizes: the box is booted");
		return 0;
	}
	session_note(s, "'%s' is booted once for all boxes to come: box help image",
		making->request.image->template);
	return making_warm(s, making, ret, NULL, err) < 0 ? -1 : 1;
}

/* 1: the box can start from *ret; 0: it is booted, having said why; -1: interrupted. */
static int want_warm(struct session *s, const struct making *making, const struct new_plan *plan,
	struct warm *ret, struct error *err)
{
	bool golden = !making->request.clone;
	struct error why = { 0 };
	int found;

	if (making->request.seed)
		return 0;
	found = find_warm(s, making, plan, ret, &why);
	if (found < 0 && golden && why.kind == ERROR_INVALID)
		session_warn(s, "the warm image is made anew: %s", why.text);
	if (golden && (found == 0 || (found < 0 && why.kind == ERROR_INVALID))) {
		warm_done(ret);
		error_clear(&why);
		found = warm_now(s, making, plan, ret, &why);
	}
	if (found < 0 && why.kind == ERROR_INTERRUPTED) {
		*err = why;
		return -1;
	}
	if (found < 0)
		session_warn(
			s, "its memory image cannot be used, so the box is booted: %s", why.text);
	return found > 0 && sizes_fit(s, plan, ret);
}

/* It was booted after all. A warm image that QEMU refuses would be refused again. */
static void tell_cold(struct session *s, const struct making *making,
	const struct new_report *report, const struct warm *warm)
{
	struct error why = { 0 };
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;

	if (!report->cold.kind || report->cold.kind == ERROR_INTERRUPTED)
		return;
	session_warn(s, "it could not start from its memory image, and was booted: %s",
		report->cold.text);
	if (!report->refused || making->request.clone)
		return;
	pool = pool_open(s->conn, &why);
	if (!pool || warm_forget(pool, &warm->names, &why) < 0)
		session_warn(s, "%s", why.text);
}

int making_run(struct session *s, const struct making *making, bool cold, struct new_report *report,
	struct error *err)
{
	struct new_request request = making->request;
	_cleanup_warm_ struct warm warm = { 0 };
	struct new_plan plan;
	int ret;

	if (new_plan(s->conn, &request, &plan, err) < 0)
		return -1;
	if (plan.tcg)
		session_warn(s, "BOX_ACCEL=tcg: the box is emulated; that is NO security boundary");
	ret = cold ? 0 : want_warm(s, making, &plan, &warm, err);
	if (ret < 0)
		return -1;
	if (ret > 0)
		request.warm = &warm;
	ret = new_box(s->conn, &request, &plan, report, err);
	tell_cold(s, making, report, &warm);
	if (ret < 0)
		session_show_console(s, &report->console);
	return ret;
}

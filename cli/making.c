/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/making.h"

#include "cli/box-text.h"
#include "vmm/pool.h"

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

int making_run(struct session *s, const struct new_request *request, struct new_report *report,
	struct error *err)
{
	struct new_plan plan;

	if (new_plan(s->conn, request, &plan, err) < 0)
		return -1;
	if (plan.tcg)
		session_warn(s, "BOX_ACCEL=tcg: the box is emulated; that is NO security boundary");
	if (new_box(s->conn, request, &plan, report, err) < 0) {
		session_show_console(s, &report->console);
		return -1;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory of operation
 *
 * A box lives in libvirt's objects alone: the domain, its metadata, its volumes in the pool "box", its
 * reservation in the network "boxnet". These are its states; an arrow is labelled with the function
 * that takes it.
 *
 *	              new_box                            box_start
 *	 (nothing) ------------> CREATING --------> RUNNING <-------- STOPPED
 *	     ^                      |                |  ^ |              ^
 *	     | box_discard          | box_discard    |  | |  box_down    |
 *	     |                      | (failed,       |  | +--------------+
 *	     |                      |  killed)       |  |  (also by itself: guest powers off,
 *	  REMOVING <----------------+                |  |   QEMU dies, host goes down)
 *	     ^                 box_remove            |  | virDomainResume
 *	     +---------------------------------------+  v
 *	                       (from any state)        PAUSED
 *
 * CREATING and REMOVING are not libvirt's states: they are metadata's operation. Others (a snapshot, a
 * rename ...) are recorded in the same way and do not change what libvirt's state is.
 *
 * Invariants
 *
 *	1. A domain is a box if and only if its metadata has our element. No function of ours changes
 *	   or removes a domain that has not.
 *	2. Everything that belongs to a box is named after its UUID, which never changes: volumes
 *	   box-<uuid>-<n>.qcow2 and seed-box-<uuid>.iso, tap, MAC and so the reservation. So all of it
 *	   can be found when only the UUID is known.
 *	3. The domain is the first thing that new_box makes (with operation "creating") and the last
 *	   that box_discard takes away. So there is nothing of a box without a domain that says so,
 *	   except the lock.
 *	4. An operation stands in the metadata from before its first change until after its last, and
 *	   its lock is held for as long. Operation without a live lock: its process died, and the next
 *	   one to take the lock finishes or undoes it (box_recover) before it does anything else.
 *	5. Whoever changes metadata holds the lock and has read the metadata after taking it.
 *	6. A box that runs has an address in its metadata, and the reservation for it exists.
 */
#include "vmm/box.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

static const char *const state_names[] = {
	[BOX_STOPPED] = "stopped",
	[BOX_RUNNING] = "running",
	[BOX_PAUSED] = "paused",
};

void box_done(struct box *box)
{
	if (box->dom)
		(void)virDomainFree(box->dom);
	meta_done(&box->meta);
	*box = (struct box){ 0 };
}

const char *box_state_name(enum box_state state)
{
	return state_names[state];
}

static int no_such_box(const char *name, struct error *err)
{
	_cleanup_str_ struct str safe = STR_INIT;

	str_append_escaped(&safe, name, strlen(name), false);
	return error_set(err, ERROR_NOT_FOUND, "no such box: %s", str_get(&safe));
}

/* Every command that works on a box needs its metadata: who cannot have it is told the way out. */
static int damaged(virDomainPtr dom, struct error *err)
{
	const char *name = virDomainGetName(dom);
	char uuid[DOMAIN_UUID_TEXT] = "<uuid>";

	(void)error_wrap(err, "box '%s'", name);
	if (err->kind != ERROR_INVALID)
		return -1;
	(void)virDomainGetUUIDString(dom, uuid);
	return error_hint(err, "; " BOX_DAMAGED_WAY_OUT, name, name, uuid);
}

/* The element of a domain: 1, 0 when it has none, -1 error. A domain that vanishes has none. */
static int read_meta(virDomainPtr dom, struct box_meta *ret, struct error *err)
{
	_cleanup_free_ char *text = virDomainGetMetadata(
		dom, VIR_DOMAIN_METADATA_ELEMENT, META_NAMESPACE, VIR_DOMAIN_AFFECT_CURRENT);

	if (!text) {
		int code = virt_last_code();

		if (code == VIR_ERR_NO_DOMAIN_METADATA || code == VIR_ERR_NO_DOMAIN)
			return 0;
		return error_virt(err, "cannot read the metadata of '%s'", virDomainGetName(dom));
	}
	if (meta_parse(text, ret, err) < 0)
		return damaged(dom, err);
	return 1;
}

/* Takes over dom. */
static int find(virDomainPtr dom, const char *name, struct box *ret, struct error *err)
{
	_cleanup_box_ struct box box = { .dom = dom };
	const char *real;
	int found;

	if (!dom && virt_last_code() != VIR_ERR_NO_DOMAIN)
		return error_virt(err, "cannot look up box '%s'", name);
	if (!dom)
		return no_such_box(name, err);
	found = read_meta(dom, &box.meta, err);
	if (found <= 0)
		return found < 0 ? -1 : no_such_box(name, err);
	real = virDomainGetName(dom);
	if (!real || virDomainGetUUIDString(dom, box.uuid) < 0)
		return error_virt(err, "cannot read the name of box '%s'", name);
	/* Another name than ours can be: someone renamed it through virsh. It is what it is called. */
	snprintf(box.name, sizeof(box.name), "%s", real);
	*ret = box;
	box = (struct box){ 0 };
	return 0;
}

int box_find(virConnectPtr conn, const char *name, struct box *ret, struct error *err)
{
	return find(virDomainLookupByName(conn, name), name, ret, err);
}

int box_find_uuid(virConnectPtr conn, const char *uuid, struct box *ret, struct error *err)
{
	return find(virDomainLookupByUUIDString(conn, uuid), uuid, ret, err);
}

int box_reload(struct box *box, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	int found = read_meta(box->dom, &meta, err);

	if (found <= 0)
		return found < 0 ? -1 : no_such_box(box->name, err);
	meta_done(&box->meta);
	box->meta = meta;
	meta = (struct box_meta){ 0 };
	return 0;
}

static enum box_state state_of(int virt_state)
{
	switch (virt_state) {
	case VIR_DOMAIN_RUNNING:
	case VIR_DOMAIN_BLOCKED:
	case VIR_DOMAIN_SHUTDOWN: /* being shut down: still there */
		return BOX_RUNNING;
	case VIR_DOMAIN_PAUSED:
	case VIR_DOMAIN_PMSUSPENDED:
		return BOX_PAUSED;
	default:
		return BOX_STOPPED;
	}
}

int box_get_state(const struct box *box, enum box_state *ret, struct error *err)
{
	int state = VIR_DOMAIN_NOSTATE;

	if (virDomainGetState(box->dom, &state, NULL, 0) < 0)
		return error_virt(err, "cannot ask for the state of box '%s'", box->name);
	*ret = state_of(state);
	return 0;
}

/* ---- changing metadata ---- */

static int write_meta(struct box *box, const char *text, unsigned flags)
{
	return virDomainSetMetadata(
		box->dom, VIR_DOMAIN_METADATA_ELEMENT, text, META_PREFIX, META_NAMESPACE, flags);
}

int box_save(struct box *box, const struct box_meta *meta, struct error *err)
{
	_cleanup_meta_ struct box_meta copy = { 0 };
	_cleanup_free_ char *text = NULL;
	int active = virDomainIsActive(box->dom);
	int ret;

	if (meta_check_writable(&box->meta, box->name, err) < 0 || meta_copy(meta, &copy, err) < 0)
		return -1;
	text = meta_format(meta, err);
	if (!text)
		return -1;
	ret = write_meta(box, text,
		active == 1 ? VIR_DOMAIN_AFFECT_CONFIG | VIR_DOMAIN_AFFECT_LIVE
			    : VIR_DOMAIN_AFFECT_CONFIG);
	/* it may have stopped since we asked */
	if (ret < 0 && active == 1 && virt_last_code() == VIR_ERR_OPERATION_INVALID)
		ret = write_meta(box, text, VIR_DOMAIN_AFFECT_CONFIG);
	if (ret < 0)
		return error_virt(err, "cannot change the metadata of box '%s'", box->name);
	meta_done(&box->meta);
	box->meta = copy;
	copy = (struct box_meta){ 0 };
	return 0;
}

int box_set_operation(struct box *box, const struct meta_operation *op, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };

	if (meta_copy(&box->meta, &meta, err) < 0)
		return -1;
	meta.operation = op ? *op : (struct meta_operation){ 0 };
	return box_save(box, &meta, err);
}

/* ---- lists ---- */

void box_rows_free(struct box_rows *rows)
{
	vec_foreach(struct box_row, row, rows) {
		meta_done(&row->meta);
	}
	box_rows_done(rows);
}

const char *box_row_state(const struct box_row *row)
{
	if (row->damaged)
		return "damaged";
	if (*row->meta.operation.name && !str_equal(row->meta.operation.name, OPERATION_EPHEMERAL))
		return row->meta.operation.name;
	return state_names[row->state];
}

/* What the domain's XML says of a box: 1; 0 for none of ours or gone; -1 error. */
static int read_row_xml(virDomainPtr dom, struct box_row *row, struct error *err)
{
	_cleanup_free_ char *text = virDomainGetXMLDesc(dom, 0);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	int found;

	if (!text && virt_last_code() == VIR_ERR_NO_DOMAIN)
		return 0;
	if (!text)
		return error_virt(err, "cannot read '%s'", virDomainGetName(dom));
	x = xml_parse(text, strlen(text), "a domain's XML", err);
	found = x ? meta_parse_domain(x, &row->meta, err) : -1;
	if (found == 1)
		found = box_confined(x, row->meta.tap, &row->confined, err) < 0 ? -1 : 1;
	if (found < 0) { /* shown as such: it must not hide the others */
		error_clear(err);
		meta_done(&row->meta);
		row->damaged = true;
		return 1;
	}
	return found;
}

/* 1 a box, 0 none of ours or gone, -1 error. */
static int read_row(virDomainPtr dom, struct box_row *ret, struct error *err)
{
	struct box_row row = { .state = BOX_STOPPED };
	int state = VIR_DOMAIN_NOSTATE;
	int found = read_row_xml(dom, &row, err);

	if (found <= 0)
		return found;
	snprintf(row.name, sizeof(row.name), "%s", virDomainGetName(dom));
	(void)virDomainGetUUIDString(dom, row.uuid);
	/* the id is in the object; only those that run need another call */
	if (virDomainGetID(dom) != (unsigned)-1 && virDomainGetState(dom, &state, NULL, 0) == 0)
		row.state = state_of(state);
	*ret = row;
	return 1;
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct box_row *)a)->name, ((const struct box_row *)b)->name);
}

int box_list(virConnectPtr conn, struct box_rows *ret, struct error *err)
{
	_cleanup_domains_ struct virt_domains domains = { 0 };
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;

	domains.len = virConnectListAllDomains(
		conn, &domains.items, VIR_CONNECT_LIST_DOMAINS_PERSISTENT);
	if (domains.len < 0) {
		domains.len = 0;
		return error_virt(err, "cannot list boxes");
	}
	for (int i = 0; i < domains.len; i++) {
		struct box_row row = { 0 };
		int found = read_row(domains.items[i], &row, err);

		if (found < 0)
			return -1;
		if (found && box_rows_push(&rows, row, err) < 0) {
			meta_done(&row.meta);
			return -1;
		}
	}
	if (rows.len)
		qsort(rows.items, rows.len, sizeof(rows.items[0]), compare_rows);
	*ret = rows;
	rows = (struct box_rows)VEC_INIT;
	return 0;
}

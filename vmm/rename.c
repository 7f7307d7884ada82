/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvirt gives the domain its new name in one step; hostname and console log, which have the name in
 * them, follow in one definition that also ends the operation. A killed rename is finished, unless
 * the new name has been taken since: then the box keeps the old one.
 */
#include "vmm/rename.h"

#include <stdio.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/str.h"
#include "vmm/chain.h"
#include "vmm/domain-edit.h"

struct renaming {
	struct box_hold *hold; /* lent */
	const char *new_name;
	char old_name[BOX_NAME_MAX];
};

static int do_mark(void *ctx, struct error *err)
{
	struct renaming *r = ctx;

	return box_hold_begin(r->hold, OPERATION_RENAMING, r->new_name, NULL, err);
}

static void undo_mark(void *ctx)
{
	struct renaming *r = ctx;
	struct error err = { 0 };

	if (box_hold_end(r->hold, &err) < 0)
		log_debug("%s", err.text);
}

static int rename_domain(struct box *box, const char *name, struct error *err)
{
	if (virDomainRename(box->dom, name, 0) < 0) {
		int code = virt_last_code();

		(void)error_virt(err, "cannot rename box '%s' to '%s'", box->name, name);
		if (code == VIR_ERR_OPERATION_INVALID || code == VIR_ERR_DOM_EXIST)
			err->kind = ERROR_BUSY;
		return -1;
	}
	(void)snprintf(box->name, sizeof(box->name), "%s", name);
	return 0;
}

static int do_name(void *ctx, struct error *err)
{
	struct renaming *r = ctx;

	return rename_domain(&r->hold->box, r->new_name, err);
}

static void undo_name(void *ctx)
{
	struct renaming *r = ctx;
	struct error err = { 0 };

	if (rename_domain(&r->hold->box, r->old_name, &err) < 0)
		log_debug("%s", err.text);
}

/* Everything that has the name in it becomes the domain's present name; the operation ends. */
static int define(struct box_hold *hold, struct error *err)
{
	struct box *box = &hold->box;
	_cleanup_meta_ struct box_meta meta = { 0 };
	struct domain_change change = { .meta = &meta, .name = box->name };
	_cleanup_free_ char *xml = virDomainGetXMLDesc(
		box->dom, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
	_cleanup_free_ char *edited = NULL;
	_cleanup_(virDomainFree_p) virDomainPtr defined = NULL;

	if (!xml)
		return error_virt(err, "cannot read the definition of box '%s'", box->name);
	if (meta_copy(&box->meta, &meta, err) < 0)
		return -1;
	meta.operation = (struct meta_operation){ 0 };
	edited = domain_edit(xml, &change, err);
	if (!edited)
		return error_wrap(err, "cannot change box '%s'", box->name);
	defined = virDomainDefineXML(hold->conn, edited);
	if (!defined)
		return error_virt(err, "cannot change the definition of box '%s'", box->name);
	return box_reload(box, err);
}

static int do_define(void *ctx, struct error *err)
{
	struct renaming *r = ctx;

	return define(r->hold, err);
}

/* Only a log, and only where the hypervisor is this machine. */
static int do_console(void *ctx, struct error *err)
{
	struct renaming *r = ctx;

	(void)err;
	console_remove_logs(r->hold->conn, r->old_name);
	return 0;
}

/* The name is checked by libvirt again, atomically; this is for the words. */
static int check_name(virConnectPtr conn, const char *name, struct error *err)
{
	virDomainPtr dom = virDomainLookupByName(conn, name);

	if (dom) {
		(void)virDomainFree(dom);
		return error_set(
			err, ERROR_EXISTS, "the name '%s' is taken; choose another one", name);
	}
	if (virt_last_code() != VIR_ERR_NO_DOMAIN)
		return error_virt(err, "cannot look up '%s'", name);
	return 0;
}

static int check_stopped(const struct box *box, struct error *err)
{
	enum box_state state = BOX_STOPPED;

	if (box_get_state(box, &state, err) < 0)
		return -1;
	if (state == BOX_STOPPED)
		return 0;
	return error_set(err, ERROR_BUSY, "box '%s' is %s; stop it first: box down %s", box->name,
		box_state_name(state), box->name);
}

int box_rename(virConnectPtr conn, const char *name, const char *new_name,
	const struct steps_observer *observer, struct error *err)
{
	static const struct step steps[] = {
		{ "mark", NULL, do_mark, undo_mark },
		{ "name", "renaming", do_name, undo_name },
		{ "define", NULL, do_define, NULL },
		{ "console", NULL, do_console, NULL },
	};
	_cleanup_hold_ struct box_hold hold = { 0 };
	struct renaming r = { .hold = &hold, .new_name = new_name };

	if (parse_box_name(new_name, err) < 0 || check_name(conn, new_name, err) < 0 ||
		box_hold(conn, name, LOCK_WAIT_MS, &hold, err) < 0 ||
		check_stopped(&hold.box, err) < 0 || chain_refuse_saved(&hold, err) < 0)
		return -1;
	(void)snprintf(r.old_name, sizeof(r.old_name), "%s", hold.box.name);
	return steps_run("rename", steps, ARRAY_LEN(steps), &r, observer, err);
}

int rename_recover(struct box_hold *hold, bool *ret_gone, struct error *err)
{
	char old_name[BOX_NAME_MAX], new_name[BOX_NAME_MAX];
	struct error taken = { 0 };

	*ret_gone = false;
	(void)snprintf(old_name, sizeof(old_name), "%s", hold->box.name);
	(void)snprintf(new_name, sizeof(new_name), "%.63s", hold->box.meta.operation.subject);
	if (parse_box_name(new_name, err) < 0)
		return -1;
	if (!str_equal(old_name, new_name) && rename_domain(&hold->box, new_name, &taken) < 0)
		log_debug("%s", taken.text);
	return define(hold, err);
}

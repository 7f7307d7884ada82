/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/recover.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "vmm/chain.h"
#include "vmm/door.h"
#include "vmm/remove.h"
#include "vmm/rename.h"

struct recovery {
	const char *operation;
	/* 0: recovered and the box is there, or it is gone (*ret_gone); -1 error */
	int (*run)(struct box_hold *hold, bool *ret_gone, struct error *err);
	const char *done; /* for people */
};

static int take_away(struct box_hold *hold, bool *ret_gone, struct error *err)
{
	*ret_gone = true;
	return box_discard(hold, NULL, err);
}

static const struct recovery recoveries[] = {
	{ OPERATION_CREATING, take_away, "removed the half-made box" },
	{ OPERATION_REMOVING, take_away, "finished removing box" },
	{ OPERATION_EPHEMERAL, take_away, "removed the box of a command that was killed:" },
	{ "snapshotting", chain_recover, "finished or undid the snapshot of box" },
	{ "restoring", chain_recover, "finished or undid the restoring of box" },
	{ "restoring-running", chain_recover, "finished or undid the restoring of box" },
	{ "merging", chain_recover, "finished or undid the merging of layers of box" },
	{ OPERATION_RENAMING, rename_recover, "finished renaming box" },
	{ OPERATION_DOOR, door_recover, "shut the half-made door of box" },
	{ "merging-down", chain_recover, "finished or undid the merging of layers of box" },
};

static const struct recovery *find_recovery(const char *operation)
{
	for (size_t i = 0; i < ARRAY_LEN(recoveries); i++)
		if (str_equal(recoveries[i].operation, operation))
			return &recoveries[i];
	return NULL;
}

static int recover(struct box_hold *hold, bool *ret_gone, struct error *err)
{
	const char *operation = hold->box.meta.operation.name;
	const struct recovery *r = find_recovery(operation);

	if (!*operation)
		return 0;
	if (!r)
		return error_set(err, ERROR_INVALID,
			"box '%s' was left in the middle of '%s', which this version of box does not know",
			hold->box.name, operation);
	log_debug("recover %s: %s", hold->box.name, operation);
	if (r->run(hold, ret_gone, err) < 0)
		return error_wrap(
			err, "cannot recover box '%s' from '%s'", hold->box.name, operation);
	return 0;
}

int box_recover(struct box_hold *hold, struct error *err)
{
	bool gone = false;

	if (recover(hold, &gone, err) < 0)
		return -1;
	if (gone)
		return error_set(err, ERROR_NOT_FOUND, "no such box: %s", hold->box.name);
	return 0;
}

/* ---- all of them ---- */

struct telling {
	void (*told)(const char *text, void *data);
	void *data;
};

static void tell(const struct telling *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void tell(const struct telling *t, const char *fmt, ...)
{
	_cleanup_str_ struct str text = STR_INIT;
	va_list ap;

	if (!t->told)
		return;
	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	t->told(str_get(&text), t->data);
}

/* The lock is ours and was a dead one's. */
static int recover_held(struct box_hold *hold, const struct telling *t, struct error *err)
{
	const struct recovery *r;
	bool gone = false;

	if (box_reload(&hold->box, err) < 0)
		return -1;
	r = find_recovery(hold->box.meta.operation.name);
	if (recover(hold, &gone, err) < 0)
		return -1;
	if (r)
		tell(t, "%s '%s'", r->done, hold->box.name);
	return 0;
}

static void recover_one(
	virConnectPtr conn, virStoragePoolPtr pool, const char *uuid, const struct telling *t)
{
	_cleanup_hold_ struct box_hold hold = { .conn = conn, .pool = pool };
	struct error err = { 0 };
	int found;

	(void)virStoragePoolRef(pool); /* box_hold_done gives it back */
	found = box_find_uuid(conn, uuid, &hold.box, &err);
	if (found < 0 && err.kind != ERROR_NOT_FOUND) {
		tell(t, "%s", err.text);
		return;
	}
	/* somebody else may be quicker: then it is theirs to do */
	hold.lock = lock_take(pool, uuid, found == 0 ? hold.box.name : uuid, 0, &err);
	if (hold.lock && found == 0 && recover_held(&hold, t, &err) < 0 &&
		err.kind != ERROR_NOT_FOUND)
		tell(t, "%s", err.text);
}

void recover_all(virConnectPtr conn, virStoragePoolPtr pool,
	void (*told)(const char *text, void *data), void *data)
{
	struct telling t = { .told = told, .data = data };
	struct lock_holders holders = VEC_INIT;
	struct error err = { 0 };

	if (lock_list(pool, &holders, &err) < 0) {
		log_debug("%s", err.text);
		return;
	}
	vec_foreach(struct lock_holder, h, &holders) {
		if (lock_judge(h) == LOCK_DEAD)
			recover_one(conn, pool, h->uuid, &t);
	}
	lock_holders_done(&holders);
}

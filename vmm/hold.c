/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/hold.h"

#include <stdio.h>
#include <time.h>

#include "base/str.h"
#include "vmm/recover.h"

void box_hold_done(struct box_hold *hold)
{
	box_done(&hold->box);
	lock_release(hold->lock);
	if (hold->pool)
		(void)virStoragePoolFree(hold->pool);
	*hold = (struct box_hold){ 0 };
}

/* While this one waited for the lock, the box may have been renamed, and another may have got its name. */
static int check_name(const struct box_hold *hold, const char *name, struct error *err)
{
	_cleanup_(virDomainFree_p)
		virDomainPtr dom = virDomainLookupByUUIDString(hold->conn, hold->box.uuid);
	const char *now = dom ? virDomainGetName(dom) : NULL;

	if (!dom && virt_last_code() == VIR_ERR_NO_DOMAIN)
		return error_set(err, ERROR_NOT_FOUND, "no such box: %s", name);
	if (!now)
		return error_virt(err, "cannot look up box '%s'", name);
	return str_equal(now, name)
		       ? 0
		       : error_set(err, ERROR_BUSY,
				 "box '%s' was renamed to '%s' while this waited for it, and nothing else was done",
				 name, now);
}

int box_hold(virConnectPtr conn, const char *name, uint64_t wait_ms, struct box_hold *ret,
	struct error *err)
{
	_cleanup_hold_ struct box_hold hold = { .conn = conn };

	if (box_find(conn, name, &hold.box, err) < 0 ||
		meta_check_writable(&hold.box.meta, hold.box.name, err) < 0)
		return -1;
	hold.pool = pool_open(conn, err);
	if (!hold.pool)
		return -1;
	hold.lock = lock_take(hold.pool, hold.box.uuid, name, wait_ms, err);
	if (!hold.lock || check_name(&hold, name, err) < 0 || box_reload(&hold.box, err) < 0)
		return -1;
	if (box_recover(&hold, err) < 0)
		return -1;
	*ret = hold;
	hold = (struct box_hold){ 0 };
	return 0;
}

int box_hold_begin(struct box_hold *hold, const char *operation, const char *subject,
	const char *layer, struct error *err)
{
	struct meta_operation op = { .since = (int64_t)time(NULL) };

	snprintf(op.name, sizeof(op.name), "%s", operation);
	snprintf(op.holder, sizeof(op.holder), "%s", lock_who(hold->lock));
	snprintf(op.subject, sizeof(op.subject), "%s", subject ? subject : "");
	snprintf(op.layer, sizeof(op.layer), "%s", layer ? layer : "");
	return box_set_operation(&hold->box, &op, err);
}

int box_hold_end(struct box_hold *hold, struct error *err)
{
	return box_set_operation(&hold->box, NULL, err);
}

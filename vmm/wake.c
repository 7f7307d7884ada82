/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/wake.h"

#include "vmm/power.h"

static int do_restore(void *ctx, struct error *err)
{
	struct wake *w = ctx;
	const struct memory_image memory = warm_memory(w->warm);

	if (memory_image_restore(w->pool, &memory, w->box, err) < 0)
		return -1;
	w->restored = true;
	return 0;
}

static int do_adopt(void *ctx, struct error *err)
{
	const struct wake *w = ctx;

	return box_adopt(w->box, w->as, w->watch, err);
}

static int do_grow(void *ctx, struct error *err)
{
	const struct wake *w = ctx;

	return w->disk > w->warm->record.disk ? box_grow_disk(w->box, w->disk, err) : 0;
}

int wake_box(struct wake *wake, struct error *err)
{
	static const struct step steps[] = {
		{ "restore", "restoring its memory", do_restore, NULL },
		{ "adopt", "giving it its identity", do_adopt, NULL },
		{ "grow", NULL, do_grow, NULL },
	};
	return steps_run("wake", steps, ARRAY_LEN(steps), wake, wake->watch->observer, err);
}

int wake_undo(const struct wake *wake, const char *layer, const char *backing, uint64_t disk,
	struct error *err)
{
	if (power_off(wake->box, err) < 0 || pool_delete(wake->pool, layer, err) < 0)
		return -1;
	return pool_create_layer(wake->pool, layer, backing, disk, err);
}

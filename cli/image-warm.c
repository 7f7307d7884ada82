/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box image warm: boot a golden image once, so that its boxes need not. */
#include "cli/image.h"
#include "cli/making.h"
#include "cli/mint.h"
#include "cli/output.h"
#include "vmm/warm-make.h"

static int tell(struct image_work *work, const char *template, const struct warm *warm, bool made,
	struct error *err)
{
	json_t *o;

	if (!work->s->global.json)
		return output_line(
			err, "%s: %s%s", template, warm->names.layer, made ? "" : " (was there)");
	o = json_object();
	if (json_set_u64(o, "schema", 1, err) < 0 ||
		json_set_text(o, "template", template, err) < 0 ||
		json_set_text(o, "image", warm->record.image, err) < 0 ||
		json_set_text(o, "warm", warm->names.layer, err) < 0 ||
		json_set_u64(o, "memory_bytes", warm->record.bytes, err) < 0 ||
		json_set_bool(o, "changed", made, err) < 0) {
		json_decref(o);
		return -1;
	}
	return mint_event(work->s, "done", o, err);
}

static int warm_one(struct image_work *work, const char *template, struct error *err)
{
	_cleanup_making_ struct making making = { 0 };
	_cleanup_warm_ struct warm warm = { 0 };
	const struct steps_observer observer = mint_observer(work->s);
	bool made = false;

	if (making_open(work->s, template, NULL, &making, err) < 0)
		return -1;
	making.anew = work->options->refresh;
	making.request.watch.observer = &observer;
	if (making_warm(work->s, &making, &warm, &made, err) < 0)
		return -1;
	return tell(work, template, &warm, made, err);
}

int image_warm_read(
	const struct image_work *work, const char *layer, struct warm *ret, struct error *err)
{
	struct warm_names names;

	if (!warm_names_of(layer, &names))
		return error_set(err, ERROR_INVALID, "'%s' is no warm image", layer);
	return warm_read(work->pool, names.record, ret, err);
}

int image_warm(struct image_work *work, struct error *err)
{
	for (size_t i = 0; i < work->count; i++)
		if (warm_one(work, work->args[i], err) < 0)
			return -1;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box image verify, box image prune, box image rm. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cli/image.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "images/template.h"

/* ---- verify ---- */

static void show_bytes(uint64_t done, uint64_t total, void *data)
{
	struct session *s = data;

	progress_bytes(&s->progress, done, total);
}

/* A line for one volume; *bad counts those that are not as their manifest says. */
static int verify_volume(
	struct image_work *work, const struct manifest *m, size_t *bad, struct error *err)
{
	struct session *s = work->s;
	char hex[DIGEST_HEX], doing[VOLUME_NAME_MAX + 16];
	int ret;

	if (interrupt_check(err) < 0)
		return -1;
	if (!inventory_find(&work->store.view, m->volume)) {
		++*bad;
		return output_line(err, "BROKEN  %s: it is not there", m->volume);
	}
	snprintf(doing, sizeof(doing), "reading %s", m->volume);
	progress_begin(&s->progress, "image", "verify", doing);
	ret = image_digest(work->pool, m->volume, show_bytes, s, hex, err);
	progress_end(&s->progress);
	if (ret < 0)
		return -1;
	if (str_equal(hex, m->sha256))
		return output_line(err, "OK      %s", m->volume);
	++*bad;
	return output_line(err, "BROKEN  %s: its content is not what was minted", m->volume);
}

static int verify_one_warm(
	struct image_work *work, const char *layer, size_t *bad, struct error *err)
{
	struct session *s = work->s;
	_cleanup_warm_ struct warm warm = { 0 };
	char doing[VOLUME_NAME_MAX + 16];
	int ret;

	if (interrupt_check(err) < 0)
		return -1;
	snprintf(doing, sizeof(doing), "reading %s", layer);
	progress_begin(&s->progress, "image", "verify", doing);
	ret = image_warm_read(work, layer, &warm, err);
	if (ret == 0)
		ret = warm_verify(work->pool, &warm, show_bytes, s, err);
	progress_end(&s->progress);
	if (ret == 0)
		return output_line(err, "OK      %s", layer);
	if (err->kind != ERROR_INVALID)
		return -1;
	++*bad;
	ret = output_line(&(struct error){ 0 }, "BROKEN  %s: %s", layer, err->text);
	error_clear(err);
	return ret;
}

/* Its warm images: one that is not as its record says is made anew by the next box. */
static int verify_warm(
	struct image_work *work, const struct manifest *m, size_t *bad, struct error *err)
{
	const struct inventory *view = &work->store.view;

	for (const struct inventory_volume *v = inventory_warm(view, m->volume, NULL); v;
		v = inventory_warm(view, m->volume, v)) {
		if (verify_one_warm(work, v->name, bad, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_asked_for(
	const struct manifest *m, const struct manifest *const *chosen, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (m == chosen[i] || str_equal(m->volume, chosen[i]->backing))
			return true;
	return count == 0;
}

int image_verify(struct image_work *work, struct error *err)
{
	_cleanup_free_ const struct manifest **chosen = calloc(work->count + 1, sizeof(*chosen));
	size_t bad = 0;

	if (!chosen)
		return error_oom(err);
	for (size_t i = 0; i < work->count; i++) {
		chosen[i] = image_named(work, work->args[i], err);
		if (!chosen[i])
			return -1;
	}
	for (size_t i = 0; i < work->store.view.manifest_count; i++) {
		const struct manifest *m = &work->store.manifests[i];

		if (is_asked_for(m, chosen, work->count) &&
			(verify_volume(work, m, &bad, err) < 0 ||
				verify_warm(work, m, &bad, err) < 0))
			return -1;
	}
	work->s->status = bad ? 1 : 0;
	return 0;
}

/* ---- what goes ---- */

static uint64_t plan_bytes(const struct inventory_plan *plan)
{
	uint64_t bytes = 0;

	vec_foreach(struct inventory_step, step, plan)
		bytes += step->bytes;
	return bytes;
}

static int plan_print(const struct inventory_plan *plan, const char *verb, struct error *err)
{
	char size[32];

	vec_foreach(struct inventory_step, step, plan)
		if (output_line(err, "%s %s (%s)", verb, step->volume,
			    format_size(step->bytes, size, sizeof(size))) < 0)
			return -1;
	return 0;
}

static int plan_preview(const struct inventory_plan *plan, struct error *err)
{
	char size[32];

	if (plan_print(plan, "would remove", err) < 0)
		return -1;
	return output_line(err, "would free %s in %zu volumes",
		format_size(plan_bytes(plan), size, sizeof(size)), plan->len);
}

/* What the pool holds decides what goes: word is the image that is asked for, NULL: all that nobody needs. */
typedef int plan_maker(
	struct image_work *work, const char *word, struct inventory_plan *ret, struct error *err);

static int plan_names(const struct inventory_plan *plan, struct text_vec *ret, struct error *err)
{
	vec_foreach(struct inventory_step, step, plan)
		if (text_vec_add(ret, step->volume, err) < 0)
			return -1;
	return 0;
}

static bool has_name(const struct text_vec *names, const char *volume)
{
	vec_foreach(char *, name, names)
		if (str_equal(*name, volume))
			return true;
	return false;
}

/* In whatever order libvirt lists volumes. */
static bool plan_is(const struct inventory_plan *plan, const struct text_vec *names)
{
	vec_foreach(struct inventory_step, step, plan)
		if (!has_name(names, step->volume))
			return false;
	return plan->len == names->len;
}

/*
 * Ask, remove, and say what went. While somebody thinks about the question, a box may have come to stand on what
 * was to go: so the plan is made again after the answer. That ends the first one, whose texts are the store's.
 */
static int plan_carry_out(struct image_work *work, plan_maker *make, const char *word,
	const struct inventory_plan *plan, struct error *err)
{
	_cleanup_(inventory_plan_done) struct inventory_plan again = VEC_INIT;
	_cleanup_texts_ struct text_vec names = VEC_INIT;
	_cleanup_str_ struct str act = STR_INIT;
	char size[32];

	format_size(plan_bytes(plan), size, sizeof(size));
	str_printf(&act, "remove %zu volumes of images (%s)", plan->len, size);
	if (str_ok(&act, err) < 0 || plan_names(plan, &names, err) < 0 ||
		session_confirm(work->s, str_get(&act), err) < 0 ||
		image_work_read(work, err) < 0 || make(work, word, &again, err) < 0)
		return -1;
	if (!plan_is(&again, &names))
		return error_set(err, ERROR_BUSY,
			"images or boxes have changed since you were asked, and nothing was removed; ask for it again");
	if (image_delete(work->pool, &again, &work->s->observer, err) < 0)
		return -1;
	return plan_print(&again, "removed", err);
}

/* The golden volumes of all templates' present recipes: they stay, used or not. */
static int current_names(const struct image_work *work, struct text_vec *ret, struct error *err)
{
	_cleanup_texts_ struct text_vec templates = VEC_INIT;

	if (template_names(&templates, err) < 0)
		return -1;
	vec_foreach(char *, template, &templates) {
		const struct manifest *image = image_current(work, *template);

		if (image && text_vec_add(ret, image->volume, err) < 0)
			return -1;
	}
	return 0;
}

static int plan_prune(
	struct image_work *work, const char *word, struct inventory_plan *ret, struct error *err)
{
	_cleanup_texts_ struct text_vec keep = VEC_INIT;
	struct inventory_wish wish = { .young = image_is_young, .data = work->pool };

	(void)word;
	if (current_names(work, &keep, err) < 0)
		return -1;
	wish.keep = (const char *const *)keep.items;
	wish.keep_count = keep.len;
	return inventory_prune(&work->store.view, &wish, ret, err);
}

int image_prune(struct image_work *work, struct error *err)
{
	_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;

	if (work->store.newer)
		session_warn(work->s,
			"%zu manifests are of a newer version of box: their images and all seeds are kept; "
			"update box",
			work->store.newer);
	if (plan_prune(work, NULL, &plan, err) < 0)
		return -1;
	if (!plan.len) {
		session_note(work->s, "there is nothing to remove");
		return 0;
	}
	if (work->options->dry_run)
		return plan_preview(&plan, err);
	if (!work->s->global.force && work->s->in_tty &&
		plan_print(&plan, "to be removed:", err) < 0)
		return -1;
	return plan_carry_out(work, plan_prune, NULL, &plan, err);
}

static int plan_rm(
	struct image_work *work, const char *word, struct inventory_plan *ret, struct error *err)
{
	const struct manifest *m = image_named(work, word, err);

	return m ? inventory_remove(&work->store.view, m->volume, ret, err) : -1;
}

int image_rm(struct image_work *work, struct error *err)
{
	for (size_t i = 0; i < work->count; i++) {
		_cleanup_(inventory_plan_done) struct inventory_plan plan = VEC_INIT;

		if (plan_rm(work, work->args[i], &plan, err) < 0 ||
			plan_carry_out(work, plan_rm, work->args[i], &plan, err) < 0 ||
			image_work_read(work, err) < 0)
			return -1;
	}
	return 0;
}

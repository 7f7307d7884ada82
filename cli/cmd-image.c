/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box image ACTION: golden images. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/str.h"
#include "cli/image.h"
#include "cli/mint.h"
#include "cli/output.h"
#include "images/recipe.h"
#include "images/template.h"

static const struct option_row rows[] = {
	{
		.name = "refresh",
		.help = "mint, warm: make it anew, with the packages that there are today",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct image_options, refresh),
	},
	{
		.name = "offline",
		.help = "mint: fetch nothing; fail if something is not in the cache",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct image_options, offline),
	},
	{
		.name = "compress",
		.help = "mint: take longer, make smaller volumes",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct image_options, compress),
	},
	{
		.name = "sbom",
		.help = "info: print the software bill of materials as SPDX",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct image_options, sbom),
	},
	{
		.name = "dry-run",
		.help = "prune: say what would go, and remove nothing",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct image_options, dry_run),
	},
};
const struct option_table cmd_image_options = OPTION_TABLE(struct image_options, rows);

static const struct action {
	const char *name;
	const char *args;
	size_t min_args, max_args;
	int (*run)(struct image_work *work, struct error *err);
} actions[] = {
	{ "mint", "TEMPLATE...", 1, ARGS_ANY, image_mint },
	{ "list", "", 0, 0, image_list },
	{ "info", "IMAGE", 1, 1, image_info },
	{ "verify", "[IMAGE...]", 0, ARGS_ANY, image_verify },
	{ "prune", "", 0, 0, image_prune },
	{ "rm", "IMAGE...", 1, ARGS_ANY, image_rm },
	{ "warm", "TEMPLATE...", 1, ARGS_ANY, image_warm },
};
const char *const cmd_image_actions[] = { "mint", "list", "info", "verify", "prune", "rm", "warm",
	NULL };

void image_work_done(struct image_work *work)
{
	image_store_done(&work->store);
	if (work->pool)
		(void)virStoragePoolFree(work->pool);
	work->pool = NULL;
}

int image_work_read(struct image_work *work, struct error *err)
{
	image_store_done(&work->store);
	return image_store_read(work->s->conn, work->pool, &work->store, err);
}

void image_work_suspend(struct image_work *work)
{
	image_work_done(work);
	if (work->s->conn)
		(void)virConnectClose(work->s->conn);
	work->s->conn = NULL;
}

int image_work_resume(struct image_work *work, struct error *err)
{
	if (!session_virt(work->s, err))
		return -1;
	work->pool = pool_open(work->s->conn, err);
	return work->pool ? image_work_read(work, err) : -1;
}

const struct manifest *image_named(
	const struct image_work *work, const char *name, struct error *err)
{
	const struct inventory *view = &work->store.view;
	const struct manifest *found = inventory_image(view, name, NULL);
	_cleanup_str_ struct str shown = STR_INIT;

	for (size_t i = 0; !found && i < view->manifest_count; i++) {
		const char *volume = view->manifests[i].volume;
		size_t len = strlen(name);

		if (view->manifests[i].kind == MANIFEST_GOLDEN && str_starts(volume, name) &&
			(!volume[len] || str_equal(volume + len, ".qcow2")))
			found = &view->manifests[i];
	}
	if (found)
		return found;
	str_append_escaped(&shown, name, strlen(name), false);
	error_set(
		err, ERROR_NOT_FOUND, "no such image: '%s'; see: box image list", str_get(&shown));
	return NULL;
}

const struct manifest *image_current(const struct image_work *work, const char *template)
{
	_cleanup_template_ struct template t = { 0 };
	struct error ignored = { 0 };
	struct recipe recipe;

	if (template_load(template, &t, &ignored) < 0 || t.shared ||
		recipe_of(&t, &recipe, &ignored) < 0)
		return NULL;
	return inventory_image(&work->store.view, template, recipe.golden);
}

bool image_template_known(const char *template)
{
	_cleanup_template_ struct template t = { 0 };
	struct error ignored = { 0 };

	return template_load(template, &t, &ignored) == 0 && !t.shared;
}

static const struct action *action_get(const char *name, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;
	const char *near;

	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (str_equal(actions[i].name, name))
			return &actions[i];
	str_append_escaped(&shown, name, strlen(name), false);
	error_set(err, ERROR_USAGE, "unknown action '%s' of box image", str_get(&shown));
	near = str_nearest(name, cmd_image_actions, ARRAY_LEN(actions));
	if (near)
		error_hint(err, "; did you mean '%s'?", near);
	return NULL;
}

int cmd_image(struct session *s, const struct call *call, struct error *err)
{
	const struct action *action = action_get(call->args[0], err);
	_cleanup_image_work_ struct image_work work = {
		.s = s,
		.options = call->options,
		.args = call->args + 1,
		.count = call->count - 1,
	};

	if (!action)
		return -1;
	if (work.count < action->min_args || work.count > action->max_args)
		return error_set(err, ERROR_USAGE, "%s: box image %s %s",
			work.count < action->min_args ? "an argument is missing"
						      : "there are too many arguments",
			action->name, action->args);
	return image_work_resume(&work, err) < 0 ? -1 : action->run(&work, err);
}

/* ---- mint ---- */

static int tell(struct image_work *work, const char *template, const char *volume, bool changed,
	struct error *err)
{
	json_t *o;

	if (!work->s->global.json)
		return output_line(
			err, "%s: %s%s", template, volume, changed ? "" : " (was there)");
	o = json_object();
	if (json_set_u64(o, "schema", 1, err) < 0 ||
		json_set_text(o, "template", template, err) < 0 ||
		json_set_text(o, "image", volume, err) < 0 ||
		json_set_bool(o, "changed", changed, err) < 0) {
		json_decref(o);
		return -1;
	}
	return mint_event(work->s, "done", o, err);
}

static int upload(struct image_work *work, const struct mint_outcome *made, size_t *ret_count,
	struct error *err)
{
	const struct steps_observer observer = mint_observer(work->s);
	const struct image_upload upload = {
		.files = made->files,
		.count = made->count,
		.observer = &observer,
		.progress = mint_progress,
		.data = work->s,
	};

	return image_upload(work->pool, &upload, ret_count, err);
}

static int mint_and_upload(
	struct image_work *work, const char *name, size_t *ret_count, struct error *err)
{
	_cleanup_mint_outcome_ struct mint_outcome made = { 0 };
	const struct mint_request request = {
		.template = name,
		.refresh = work->options->refresh,
		.build = work->build,
		.offline = work->options->offline,
		.compress = work->options->compress,
	};

	image_work_suspend(work);
	if (mint_template(work->s, &request, &made, err) < 0 || image_work_resume(work, err) < 0)
		return -1;
	return upload(work, &made, ret_count, err) < 0 ? -1 : image_work_read(work, err);
}

static int mint_one(struct image_work *work, const char *name, struct error *err)
{
	_cleanup_template_ struct template t = { 0 };
	const struct manifest *image;
	struct recipe recipe;
	size_t count = 0;

	if (template_load(name, &t, err) < 0)
		return -1;
	if (t.shared)
		return error_set(err, ERROR_USAGE,
			"template '%s' is for others to stand on; no image is made of it", name);
	if (recipe_of(&t, &recipe, err) < 0)
		return -1;
	image = inventory_image(&work->store.view, name, recipe.golden);
	if (!work->options->refresh && image)
		return tell(work, name, image->volume, false, err);
	if (mint_and_upload(work, name, &count, err) < 0)
		return -1;
	/* Read back: only what is whole in the pool was minted. */
	image = inventory_image(&work->store.view, name, recipe.golden);
	if (!image)
		return error_set(err, ERROR_FAILED,
			"the image of '%s' was uploaded, and is not whole in the storage pool",
			name);
	return tell(work, name, image->volume, count > 0, err);
}

int image_mint(struct image_work *work, struct error *err)
{
	unsigned long long random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	(void)snprintf(work->build, sizeof(work->build), "%016llx", random);
	for (size_t i = 0; i < work->count; i++)
		if (mint_one(work, work->args[i], err) < 0)
			return -1;
	return 0;
}

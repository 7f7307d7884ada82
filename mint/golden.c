/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The golden layer: a template's payload on its base. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/run.h"
#include "base/str.h"
#include "mint/appliance.h"
#include "mint/bootstrap.h"
#include "mint/event.h"
#include "mint/mint.h"
#include "mint/tree.h"

enum { VERIFIED_BYTES_MAX = 1 << 20 };

struct golden {
	struct mint *m;
	struct seed seed;
};

/* The work folder's payload exists only when there was something to install. */
static bool has_payload(const struct template *t)
{
	return t->packages.len || t->bake.len || t->verify.len;
}

/* ---- the seed ---- */

static int step_seed(void *ctx, struct error *err)
{
	struct golden *g = ctx;
	struct mint *m = g->m;
	const struct template *t = m->template;
	const struct seed_spec spec = {
		.template_data = t->user_data,
		.template_data_len = t->user_data ? strlen(t->user_data) : 0,
		.template_name = t->path,
		.user_name = "",
	};
	_cleanup_free_ char *path = mint_work_path(m, "seed.iso", err);

	if (!path || seed_make(&spec, &g->seed, err) < 0 || seed_image(&g->seed, &m->seed, err) < 0)
		return -1;
	digest_bytes(str_get(&m->seed), m->seed.len, m->golden.seed_sha256);
	recipe_seed_name(m->golden.seed_sha256, m->golden.seed);
	return file_replace(AT_FDCWD, path, str_get(&m->seed), m->seed.len, 0444, err);
}

/* ---- our files ---- */

/* home/USER/.claude/CLAUDE.md, and the folders on the way, as the user's. */
static int put_context(struct tree_writer *w, const struct template *t, struct error *err)
{
	_cleanup_free_ char *below = NULL, *name = NULL;
	struct tree_entry entry = {
		.mode = S_IFREG | 0644, .uid = APPLIANCE_UID, .gid = APPLIANCE_UID
	};

	if (!t->context_path)
		return 0;
	name = str_format(err, "home/%s/%s", t->user, t->context_path);
	if (!name)
		return -1;
	/* the home itself is useradd's */
	for (const char *slash = strchr(t->context_path, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		struct tree_entry folder = {
			.mode = S_IFDIR | 0755, .uid = APPLIANCE_UID, .gid = APPLIANCE_UID
		};

		free(below);
		below = str_format(err, "home/%s/%.*s", t->user, (int)(slash - t->context_path),
			t->context_path);
		folder.name = below;
		if (!below || tree_put(w, &folder, err) < 0)
			return -1;
	}
	entry.name = name;
	entry.bytes = t->context_text;
	entry.len = strlen(t->context_text);
	return tree_put(w, &entry, err);
}

static int put_sudo(struct tree_writer *w, const struct template *t, struct error *err)
{
	_cleanup_free_ char *rule = str_format(err, "%s ALL=(ALL:ALL) NOPASSWD: ALL\n", t->user);
	const struct tree_entry entry = {
		.name = "etc/sudoers.d/box",
		.mode = S_IFREG | 0440,
		.bytes = rule,
		.len = rule ? strlen(rule) : 0,
	};

	return rule ? tree_put(w, &entry, err) : -1;
}

/*
 * Enter on the serial console gives a shell, for when the agent is dead: docs/decisions/0302-console-without-a-password.md.
 * Nobody is logged in, and nothing of a login runs, before that key. A shell that ends at once is no reason to give up.
 */
static int put_console(struct tree_writer *w, const struct template *t, struct error *err)
{
	_cleanup_free_ char *unit = str_format(err,
		"[Unit]\n"
		"StartLimitIntervalSec=0\n"
		"\n"
		"[Service]\n"
		"ExecStart=\n"
		"ExecStart=-/sbin/agetty --wait-cr --autologin %s --keep-baud 115200,57600,38400,9600 - $TERM\n"
		"RestartSec=1\n",
		t->user);
	const struct tree_entry folder = {
		.name = "etc/systemd/system/serial-getty@ttyS0.service.d", .mode = S_IFDIR | 0755
	};
	const struct tree_entry entry = {
		.name = "etc/systemd/system/serial-getty@ttyS0.service.d/box.conf",
		.mode = S_IFREG | 0644,
		.bytes = unit,
		.len = unit ? strlen(unit) : 0,
	};

	return unit && tree_put(w, &folder, err) == 0 ? tree_put(w, &entry, err) : -1;
}

/* Units are switched on by what "systemctl enable" would make. */
static int put_agent(struct tree_writer *w, struct error *err)
{
	static const char *const wants[][2] = {
		{ "sysinit.target.wants", "box-agent.service" },
		{ "sysinit.target.wants", "box-identity.service" },
		{ "multi-user.target.wants", "box-ready.service" },
	};
	_cleanup_free_ char *agent = place_libexec("box-agent", err);
	const struct tree_entry folder = { .name = "usr/lib/box", .mode = S_IFDIR | 0755 };

	if (!agent || tree_put(w, &folder, err) < 0 ||
		tree_put_file(w, "usr/lib/box/box-agent", agent, 0755, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		_cleanup_free_ char *name = str_format(
			err, "etc/systemd/system/%s/%s", wants[i][0], wants[i][1]);
		_cleanup_free_ char *target = str_format(err, "../%s", wants[i][1]);
		const struct tree_entry link = {
			.name = name, .mode = S_IFLNK | 0777, .target = target
		};

		if (!name || !target || tree_put(w, &link, err) < 0)
			return -1;
	}
	return 0;
}

static int step_files(void *ctx, struct error *err)
{
	struct golden *g = ctx;
	_cleanup_free_ char *guest = place_data("mint/guest/golden", err);
	_cleanup_free_ char *path = mint_work_path(g->m, "files.tar", err);
	_cleanup_(tree_free_p) struct tree_writer *w = NULL;

	if (!guest || !path)
		return -1;
	w = tree_open(path, err);
	if (!w || tree_put_folder(w, guest, err) < 0 || put_agent(w, err) < 0 ||
		put_sudo(w, g->m->template, err) < 0 || put_console(w, g->m->template, err) < 0 ||
		put_context(w, g->m->template, err) < 0)
		return -1;
	return tree_close(w, err);
}

/* ---- the payload ---- */

/* apt's commands, the template's own, and last the one that must succeed. */
static int add_commands(const struct mint *m, struct error *err)
{
	static const char *const update[] = { "apt-get", "-q", "update" };
	static const char *const install[] = { "apt-get", "-q", "-y", "--no-install-recommends",
		"-o", "Dpkg::Options::=--force-unsafe-io", "install", "--" };
	const struct template *t = m->template;
	_cleanup_texts_ struct text_vec words = VEC_INIT;
	unsigned number = 0;

	if (t->packages.len) {
		for (size_t i = 0; i < ARRAY_LEN(install); i++)
			if (text_vec_add(&words, install[i], err) < 0)
				return -1;
		vec_foreach(char *, name, &t->packages)
			if (text_vec_add(&words, *name, err) < 0)
				return -1;
		if (bootstrap_add_command(m, number++, update, ARRAY_LEN(update), err) < 0 ||
			bootstrap_add_command(
				m, number++, (const char *const *)words.items, words.len, err) < 0)
			return -1;
	}
	vec_foreach(struct text_vec, argv, &t->bake)
		if (bootstrap_add_command(
			    m, number++, (const char *const *)argv->items, argv->len, err) < 0)
			return -1;
	if (!t->verify.len)
		return 0;
	return bootstrap_set_verify(m, (const char *const *)t->verify.items, t->verify.len, err);
}

static int step_payload(void *ctx, struct error *err)
{
	struct mint *m = ((struct golden *)ctx)->m;
	_cleanup_free_ char *name = str_dup(m->base.volume, err), *tar = NULL;

	if (!has_payload(m->template))
		return 0;
	if (!name || m->offline)
		return name ? error_set(err, ERROR_UNREACHABLE,
				      "the payload of '%s' must be installed, and --offline was "
				      "asked for",
				      m->template->name)
			    : -1;
	(void)strcpy(strrchr(name, '.'), ".tar");
	tar = cache_image(m->cache, name, err);
	if (!tar || add_commands(m, err) < 0)
		return -1;
	if (access(tar, R_OK) < 0)
		return error_errno(err, errno,
			"the tree of the base is not in the cache; use --refresh: '%s'", tar);
	return bootstrap_layer(m, tar, err);
}

static int step_check(void *ctx, struct error *err)
{
	struct mint *m = ((struct golden *)ctx)->m;
	_cleanup_free_ char *layer = mint_work_path(m, "layer.tar", err);
	_cleanup_free_ char *files = mint_work_path(m, "files.tar", err);

	if (!layer || !files)
		return -1;
	if (has_payload(m->template) &&
		(mint_read_packages(m, &m->golden.packages, err) < 0 ||
			mint_check_tree(m, layer, true, &m->golden.packages, err) < 0))
		return -1;
	return mint_check_own(m, files, err);
}

/* ---- the disk ---- */

/* The backing file is named without a folder, so that it is right in the cache and in the pool. */
static int step_disk(void *ctx, struct error *err)
{
	struct mint *m = ((struct golden *)ctx)->m;
	_cleanup_free_ char *disk = mint_work_path(m, "golden.qcow2", err);
	_cleanup_free_ char *link = mint_work_path(m, m->base.volume, err);
	_cleanup_free_ char *base = cache_image(m->cache, m->base.volume, err);
	const char *const argv[] = { "qemu-img", "create", "-q", "-f", "qcow2", "-b",
		m->base.volume, "-F", "qcow2", disk, NULL };
	const struct run run = { .argv = argv, .cwd = m->work.path };

	if (!disk || !link || !base)
		return -1;
	if (symlink(base, link) < 0)
		return error_errno(err, errno, "cannot link '%s'", link);
	return run_program(&run, NULL, err);
}

/* What the base holds is not copied: the layer stays as thin as it is. */
static int step_compress(void *ctx, struct error *err)
{
	struct mint *m = ((struct golden *)ctx)->m;
	_cleanup_free_ char *disk = mint_work_path(m, "golden.qcow2", err);
	_cleanup_free_ char *small = mint_work_path(m, "compressed.qcow2", err);
	const char *const argv[] = { "qemu-img", "convert", "-q", "-c", "-m", "4", "-W", "-f",
		"qcow2", "-O", "qcow2", "-o", "compression_type=zstd", "-B", m->base.volume, "-F",
		"qcow2", disk, small, NULL };
	const struct run run = { .argv = argv, .cwd = m->work.path };

	if (!disk || !small || !m->compress)
		return disk && small ? 0 : -1;
	if (run_program(&run, NULL, err) < 0)
		return -1;
	if (rename(small, disk) < 0)
		return error_errno(err, errno, "cannot rename '%s'", small);
	return 0;
}

/* The paths that the payload removed; none when there is no list. */
static int read_removed(const struct mint *m, struct text_vec *ret, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, "removed", err);
	_cleanup_str_ struct str text = STR_INIT;

	if (!path || file_read(AT_FDCWD, path, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
		if (text_vec_add(ret, text.data + at, err) < 0)
			return -1;
	return 0;
}

static int step_appliance(void *ctx, struct error *err)
{
	struct golden *g = ctx;
	struct mint *m = g->m;
	_cleanup_texts_ struct text_vec removed = VEC_INIT;
	_cleanup_free_ char *disk = mint_work_path(m, "golden.qcow2", err);
	_cleanup_free_ char *layer = mint_work_path(m, "layer.tar", err);
	_cleanup_free_ char *files = mint_work_path(m, "files.tar", err);
	_cleanup_free_ char *seed = mint_work_path(m, "seed.iso", err);
	const struct appliance_job job = {
		.disk = disk,
		.layer = has_payload(m->template) ? layer : NULL,
		.sample = { m->sample, m->sample_bytes },
		.removed = &removed,
		.files = files,
		.user = m->template->user,
		.seed = seed,
		.texts = &g->seed,
	};

	if (!disk || !layer || !files || !seed)
		return -1;
	if (job.layer && read_removed(m, &removed, err) < 0)
		return -1;
	return appliance_run(&job, err);
}

/* ---- storing ---- */

/* "box-agent 0.1.0" */
static int agent_version(char *version, size_t size, struct error *err)
{
	_cleanup_free_ char *agent = place_libexec("box-agent", err);
	_cleanup_str_ struct str out = STR_INIT;
	const char *const argv[] = { agent, "--version", NULL };
	const struct run run = { .argv = argv, .output = &out, .timeout_ms = 10000 };
	const char *space;

	if (!agent || run_program(&run, NULL, err) < 0)
		return -1;
	while (out.len && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	space = strrchr(str_get(&out), ' ');
	(void)snprintf(version, size, "%s", space ? space + 1 : str_get(&out));
	return 0;
}

/* The first line of what the template's own program says of itself. */
static int read_verified(struct mint *m, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, "verified", err);
	_cleanup_str_ struct str text = STR_INIT, line = STR_INIT;
	char *verified = m->golden.verified;

	if (!path)
		return -1;
	if (!m->template->verify.len)
		return 0;
	if (file_read(AT_FDCWD, path, VERIFIED_BYTES_MAX, &text, err) < 0)
		return -1;
	str_append_escaped(&line, str_get(&text), strcspn(str_get(&text), "\n"), false);
	(void)snprintf(verified, sizeof(m->golden.verified), "%s", str_get(&line));
	return str_ok(&line, err);
}

static int describe(struct mint *m, struct error *err)
{
	struct manifest *g = &m->golden;
	const struct template *t = m->template;

	g->kind = MANIFEST_GOLDEN;
	g->virtual_bytes = m->base.virtual_bytes;
	(void)snprintf(g->template, sizeof(g->template), "%s", t->name);
	(void)snprintf(g->user, sizeof(g->user), "%s", t->user);
	(void)snprintf(g->release, sizeof(g->release), "%s", m->base.release);
	(void)snprintf(g->volume, sizeof(g->volume), "%s", m->recipe.golden_volume);
	(void)snprintf(g->backing, sizeof(g->backing), "%s", m->base.volume);
	(void)snprintf(g->recipe, sizeof(g->recipe), "%s", m->recipe.golden);
	(void)snprintf(g->agent_sha256, sizeof(g->agent_sha256), "%s", m->recipe.agent);
	(void)snprintf(g->source_sha256, sizeof(g->source_sha256), "%s", m->base.source_sha256);
	(void)snprintf(g->signer, sizeof(g->signer), "%s", m->base.signer);
	g->source = str_dup(m->base.source, err);
	if (!g->source || read_verified(m, err) < 0)
		return -1;
	return agent_version(g->agent, sizeof(g->agent), err);
}

static int step_commit(void *ctx, struct error *err)
{
	struct mint *m = ((struct golden *)ctx)->m;
	_cleanup_free_ char *seed = mint_work_path(m, "seed.iso", err);

	if (!seed || describe(m, err) < 0 || cache_publish(m->cache, seed, m->golden.seed, err) < 0)
		return -1;
	return mint_commit(m, "golden.qcow2", &m->golden, err);
}

static const struct step steps[] = {
	{ "seed", "writing the seed", step_seed, NULL },
	{ "files", "collecting the files of an image", step_files, NULL },
	{ "payload", "installing the payload", step_payload, NULL },
	{ "check", "looking at what is in it", step_check, NULL },
	{ "disk", "making the layer", step_disk, NULL },
	{ "appliance", "putting the image together", step_appliance, NULL },
	{ "compress", NULL, step_compress, NULL },
	{ "commit", "storing the image", step_commit, NULL },
};

static void tell_wait(const char *volume)
{
	(void)volume;
	event_note("another mint is making the same image: waiting for it");
}

int mint_golden_find(struct mint *m, struct error *err)
{
	_cleanup_free_ char *prefix = str_format(err, "golden-%s-", m->template->name);

	return prefix ? mint_find(m, prefix, m->recipe.golden, &m->golden, err) : -1;
}

int mint_golden(struct mint *m, struct error *err)
{
	_cleanup_close_ int lock = cache_lock(m->cache, m->recipe.golden_volume, tell_wait, err);
	struct golden g = { .m = m };
	int there, ret;

	if (lock < 0)
		return -1;
	/* another mint may have made it while this one waited */
	there = m->refresh ? 0 : mint_golden_find(m, err);
	if (there)
		return there < 0 ? -1 : 0;
	if (cache_work_open(m->cache, &m->work, err) < 0)
		return -1;
	ret = steps_run("mint", steps, ARRAY_LEN(steps), &g, &event_steps, err);
	seed_done(&g.seed);
	cache_work_done(&m->work);
	return ret;
}

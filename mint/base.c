/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The base layer: from a Debian mirror, or from somebody's image. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/run.h"
#include "base/str.h"
#include "mint/bootstrap.h"
#include "mint/event.h"
#include "mint/mint.h"
#include "mint/node.h"
#include "mint/source.h"
#include "mint/tree.h"

/* Room for what is installed; a box's own disk is larger and the file system grows into it. */
#define PLAIN_DISK (4ull << 30)
#define SHARED_DISK (8ull << 30)

struct base {
	struct mint *m;
	struct source_file source; /* owned; when it is made from an image */
};

static const struct source *source_of(const struct mint *m)
{
	return m->template->base ? &m->template->base->source : &m->template->source;
}

static uint64_t disk_bytes(const struct mint *m)
{
	return m->template->base ? SHARED_DISK : PLAIN_DISK;
}

/* Files that have to be there before the first package is. */
static int step_files(void *ctx, struct error *err)
{
	struct mint *m = ((struct base *)ctx)->m;
	_cleanup_free_ char *guest = place_data("mint/guest/base", err);
	_cleanup_free_ char *path = mint_work_path(m, "files.tar", err);
	_cleanup_(tree_free_p) struct tree_writer *w = NULL;

	if (!guest || !path)
		return -1;
	w = tree_open(path, err);
	if (!w || tree_put_folder(w, guest, err) < 0)
		return -1;
	return tree_close(w, err);
}

/* ---- Node.js, fetched while Debian is fetched and unpacked ---- */

struct side {
	const struct mint *m; /* lent */
	pthread_t thread;
	bool running;
	int ready; /* the pipe that the stage reads from before it unpacks node.tar; open at both ends */
	struct error err;
};
#define SIDE_NONE           \
	{                   \
		.ready = -1 \
	}

static uint64_t node_of(const struct mint *m)
{
	return m->template->base ? m->template->base->node : 0;
}

static int write_node(const struct mint *m, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, "node.tar", err);
	_cleanup_(tree_free_p) struct tree_writer *w = path ? tree_open(path, err) : NULL;

	if (!w || node_put(m, node_of(m), w, err) < 0)
		return -1;
	return tree_close(w, err);
}

static void *run_side(void *data)
{
	struct side *side = data;
	const char *word = write_node(side->m, &side->err) < 0 ? "failed\n" : "done\n";

	(void)!write(side->ready, word, strlen(word));
	return NULL;
}

static int side_begin(struct side *side, const struct mint *m, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, "node.ready", err);

	if (!path)
		return -1;
	if (!node_of(m))
		return 0;
	if (m->offline)
		return error_set(err, ERROR_UNREACHABLE,
			"Node.js must be fetched, and --offline was asked for");
	side->m = m;
	if (mkfifo(path, 0600) < 0 || (side->ready = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return error_errno(err, errno, "cannot make '%s'", path);
	if (pthread_create(&side->thread, NULL, run_side, side) != 0)
		return error_set(err, ERROR_FAILED, "cannot start a thread");
	side->running = true;
	return 0;
}

/* Wait for its end. Why it failed is why the stage did, which waited for it. */
static int side_end(struct side *side, int ret, struct error *err)
{
	if (side->running)
		(void)pthread_join(side->thread, NULL);
	cleanup_close_p(&side->ready);
	if (side->err.kind == ERROR_NONE)
		return ret;
	*err = side->err;
	return -1;
}

/* ---- from an image ---- */

static int step_source(void *ctx, struct error *err)
{
	struct base *b = ctx;
	struct mint *m = b->m;

	if (source_get(m, source_of(m), &b->source, err) < 0)
		return -1;
	(void)snprintf(
		m->base.source_sha256, sizeof(m->base.source_sha256), "%s", b->source.sha256);
	(void)snprintf(m->base.signer, sizeof(m->base.signer), "%s", b->source.signer);
	return 0;
}

static int step_unpack(void *ctx, struct error *err)
{
	struct base *b = ctx;
	_cleanup_free_ char *tar = mint_work_path(b->m, "source.tar", err);

	return tar ? source_unpack(&b->source, tar, err) : -1;
}

/* ---- the tree ---- */

static int all_packages(const struct mint *m, struct text_vec *ret, struct error *err)
{
	const struct template *base = m->template->base;

	for (const char *const *p = recipe_base_packages; *p; p++)
		if (text_vec_add(ret, *p, err) < 0)
			return -1;
	if (base)
		vec_foreach(char *, name, &base->packages)
			if (text_vec_add(ret, *name, err) < 0)
				return -1;
	return 0;
}

static int add_commands(const struct mint *m, struct error *err)
{
	const struct template *base = m->template->base;
	unsigned number = 0;

	if (base)
		vec_foreach(struct text_vec, argv, &base->bake)
			if (bootstrap_add_command(m, number++, (const char *const *)argv->items,
				    argv->len, err) < 0)
				return -1;
	return 0;
}

/* A sparse raw disk for the file system. */
static int make_disk(const char *path, uint64_t bytes, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(err, errno, "cannot create '%s'", path);
	if (ftruncate(fd, (off_t)bytes) < 0)
		return error_errno(err, errno, "cannot size '%s'", path);
	return 0;
}

static int step_bootstrap(void *ctx, struct error *err)
{
	struct mint *m = ((struct base *)ctx)->m;
	_cleanup_texts_ struct text_vec packages = VEC_INIT;
	_cleanup_free_ char *files = mint_work_path(m, "files.tar", err);
	_cleanup_free_ char *image = mint_work_path(m, "base.raw", err);
	_cleanup_free_ char *tar = mint_work_path(m, "base.tar", err);
	_cleanup_free_ char *source = mint_work_path(m, "source.tar", err);
	struct side side = SIDE_NONE;
	int ret;
	struct bootstrap b = {
		.release = recipe_release(m->template),
		.packages = &packages,
		.files = files,
		.image = image,
		.tar = tar,
	};

	if (!files || !image || !tar || !source || all_packages(m, &packages, err) < 0 ||
		add_commands(m, err) < 0 || make_disk(image, disk_bytes(m), err) < 0)
		return -1;
	ret = side_begin(&side, m, err);
	if (ret == 0 && source_of(m)->kind == SOURCE_DEBIAN) {
		ret = bootstrap_base(m, &b, err);
	} else if (ret == 0) {
		b.source = source;
		ret = bootstrap_image(m, &b, err);
	}
	return side_end(&side, ret, err);
}

static int step_disk(void *ctx, struct error *err)
{
	struct mint *m = ((struct base *)ctx)->m;
	_cleanup_free_ char *raw = mint_work_path(m, "base.raw", err);
	_cleanup_free_ char *qcow2 = mint_work_path(m, "base.qcow2", err);
	const char *const plain[] = { "qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", raw,
		qcow2, NULL };
	const char *const small[] = { "qemu-img", "convert", "-q", "-c", "-m", "4", "-W", "-f",
		"raw", "-O", "qcow2", "-o", "compression_type=zstd", raw, qcow2, NULL };
	const struct run run = { .argv = m->compress ? small : plain };

	if (!raw || !qcow2)
		return -1;
	return run_program(&run, NULL, err);
}

static int step_check(void *ctx, struct error *err)
{
	struct mint *m = ((struct base *)ctx)->m;
	_cleanup_free_ char *tar = mint_work_path(m, "base.tar", err);

	if (!tar || mint_read_packages(m, &m->base.packages, err) < 0)
		return -1;
	return mint_check_tree(m, tar, false, &m->base.packages, err);
}

static int describe(struct mint *m, struct error *err)
{
	struct manifest *b = &m->base;
	const char *mirror = getenv("BOX_MIRROR");

	b->kind = MANIFEST_BASE;
	b->virtual_bytes = disk_bytes(m);
	(void)snprintf(b->release, sizeof(b->release), "%s", recipe_release(m->template));
	(void)snprintf(b->volume, sizeof(b->volume), "%s", m->recipe.base_volume);
	(void)snprintf(b->recipe, sizeof(b->recipe), "%s", m->recipe.base);
	if (source_of(m)->kind == SOURCE_DEBIAN)
		b->source = str_format(
			err, "%s/debian", mirror && *mirror ? mirror : "http://deb.debian.org");
	else
		b->source = str_dup(source_of(m)->location, err);
	return b->source ? 0 : -1;
}

static int step_commit(void *ctx, struct error *err)
{
	struct mint *m = ((struct base *)ctx)->m;
	_cleanup_free_ char *tar = mint_work_path(m, "base.tar", err);
	_cleanup_free_ char *name = str_dup(m->recipe.base_volume, err);

	if (!tar || !name || describe(m, err) < 0)
		return -1;
	(void)strcpy(strrchr(name, '.'), ".tar");
	if (cache_publish(m->cache, tar, name, err) < 0)
		return -1;
	return mint_commit(m, "base.qcow2", &m->base, err);
}

static const struct step from_image[] = {
	{ "source", "getting the image", step_source, NULL },
	{ "unpack", "unpacking the image", step_unpack, NULL },
};

static const struct step steps[] = {
	{ "files", "collecting the files of a base", step_files, NULL },
	{ "bootstrap", "unpacking Debian", step_bootstrap, NULL },
	{ "disk", "making the disk", step_disk, NULL },
	{ "check", "looking at what is in it", step_check, NULL },
	{ "commit", "storing the base", step_commit, NULL },
};

static void tell_wait(const char *volume)
{
	(void)volume;
	event_note("another mint is making the same base: waiting for it");
}

static int find_base(struct mint *m, struct error *err)
{
	_cleanup_free_ char *prefix = str_format(err, "base-%s-", recipe_release(m->template));

	return prefix ? mint_find(m, prefix, m->recipe.base, &m->base, err) : -1;
}

int mint_base(struct mint *m, struct error *err)
{
	_cleanup_close_ int lock = cache_lock(m->cache, m->recipe.base_volume, tell_wait, err);
	struct base b = { .m = m };
	int there, ret;

	if (lock < 0)
		return -1;
	/* a base of this very build is there when another template of it came first */
	there = m->refresh ? mint_look_up(m, m->recipe.base_volume, &m->base, err)
			   : find_base(m, err);
	if (there)
		return there < 0 ? -1 : 0;
	/* an image that is at hand, or in the cache, may have all that a base needs */
	if (m->offline && source_of(m)->kind == SOURCE_DEBIAN)
		return error_set(err, ERROR_UNREACHABLE,
			"the base '%s' is not in the cache, and --offline was asked for",
			m->recipe.base_volume);
	if (cache_work_open(m->cache, &m->work, err) < 0)
		return -1;
	ret = 0;
	if (source_of(m)->kind != SOURCE_DEBIAN)
		ret = steps_run(
			"mint-source", from_image, ARRAY_LEN(from_image), &b, &event_steps, err);
	if (ret == 0)
		ret = steps_run("mint-base", steps, ARRAY_LEN(steps), &b, &event_steps, err);
	source_file_done(&b.source);
	cache_work_done(&m->work);
	return ret < 0 ? error_wrap(err, "cannot make the base '%s'", m->recipe.base_volume) : 0;
}

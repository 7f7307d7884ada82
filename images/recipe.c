/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/recipe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "config.h"

/* Raise one when the mint comes to make something else of the same inputs: base layers, golden layers. */
#define BASE_FORMAT "1"
#define GOLDEN_FORMAT "2"

enum { TREE_DEPTH_MAX = 16, TREE_FILE_MAX = 1024 * 1024 };

/*
 * What every box has. Not by "Recommends": each is here for a reason. The kernel for virtual machines and
 * what makes its initramfs; the init system and its network and name services; cloud-init; the way for
 * people with a door (ssh); and what everybody expects in a shell.
 */
const char *const recipe_base_packages[] = { "linux-image-cloud-amd64", "initramfs-tools",
	"xz-utils", "zstd", "systemd-sysv", "udev", "dbus", "libpam-systemd", "systemd-resolved",
	"cloud-init", "openssh-server", "sudo", "ca-certificates", "curl", "tmux", "iproute2",
	"iputils-ping", "kmod", "procps", "less", "netbase", "e2fsprogs", "bash-completion", NULL };

const char *recipe_release(const struct template *t)
{
	const struct source *s = t->base ? &t->base->source : &t->source;

	return s->kind == SOURCE_DEBIAN ? s->release : "image";
}

void recipe_manifest_name(const char *volume, char name[VOLUME_NAME_MAX])
{
	const char *dot = strrchr(volume, '.');
	int stem = dot ? (int)(dot - volume) : (int)strlen(volume);

	(void)snprintf(name, VOLUME_NAME_MAX, "%.*s.json", stem, volume);
}

void recipe_seed_name(const char *digest, char name[VOLUME_NAME_MAX])
{
	(void)snprintf(name, VOLUME_NAME_MAX, "seed-%.16s.iso", digest);
}

/* ---- trees of files ---- */

static int digest_tree(
	struct digest *d, int parent, const char *name, int depth, struct error *err);

static int digest_entry(struct digest *d, int dir, const char *name, int depth, struct error *err)
{
	_cleanup_str_ struct str content = STR_INIT;
	char target[4096];
	struct stat st;
	ssize_t len;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, errno, "cannot look at '%s'", name);
	digest_field_text(d, "name", name);
	if (S_ISDIR(st.st_mode))
		return digest_tree(d, dir, name, depth + 1, err);
	if (S_ISLNK(st.st_mode)) {
		len = readlinkat(dir, name, target, sizeof(target));
		if (len < 0)
			return error_errno(err, errno, "cannot read the link '%s'", name);
		digest_field(d, "link", target, (size_t)len);
		return 0;
	}
	if (file_read(dir, name, TREE_FILE_MAX, &content, err) < 0)
		return -1;
	digest_field(d, st.st_mode & 0100 ? "program" : "file", str_get(&content), content.len);
	return 0;
}

static int any_entry(const struct dirent *entry)
{
	return !str_equal(entry->d_name, ".") && !str_equal(entry->d_name, "..");
}

/* Names, kinds, the executable bit and contents, in the order of names. */
static int digest_tree(struct digest *d, int parent, const char *name, int depth, struct error *err)
{
	_cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	int count, ret = 0;

	if (fd < 0)
		return error_errno(err, errno, "cannot open '%s'", name);
	if (depth > TREE_DEPTH_MAX)
		return error_set(err, ERROR_INVALID, "'%s' is nested too deeply", name);
	count = scandirat(fd, ".", &entries, any_entry, alphasort);
	if (count < 0)
		return error_errno(err, errno, "cannot read '%s'", name);
	digest_field(d, "folder", "", 0);
	for (int i = 0; i < count; i++) {
		if (ret == 0)
			ret = digest_entry(d, fd, entries[i]->d_name, depth, err);
		free(entries[i]);
	}
	free(entries);
	digest_field(d, "end", "", 0);
	return ret;
}

static int digest_folders(const char *const *folders, char hex[DIGEST_HEX], struct error *err)
{
	struct digest d;

	digest_init(&d);
	for (; *folders; folders++) {
		_cleanup_free_ char *path = place_data(*folders, err);

		if (!path)
			return -1;
		if (digest_tree(&d, AT_FDCWD, path, 0, err) < 0)
			return error_hint(err, "; is box installed, or BOX_DATA right?");
	}
	digest_hex(&d, hex);
	return 0;
}

/* ---- recipes ---- */

static void add_texts(struct digest *d, const char *name, const struct text_vec *texts)
{
	char count[24];

	(void)snprintf(count, sizeof(count), "%zu", texts->len);
	digest_field_text(d, name, count);
	vec_foreach(char *, text, texts)
		digest_field_text(d, "item", *text);
}

static void add_software(struct digest *d, const struct template *t)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)t->node);
	digest_field_text(d, "node", number);
	add_texts(d, "packages", &t->packages);
	vec_foreach(struct text_vec, argv, &t->bake)
		add_texts(d, "bake", argv);
}

/* The base of a template that stands on no shared one has nothing but what every base has. */
static void make_base(
	const struct template *t, const struct recipe_files *files, char hex[DIGEST_HEX])
{
	const struct source *s = t->base ? &t->base->source : &t->source;
	struct digest d;

	digest_init(&d);
	digest_field_text(&d, "format", BASE_FORMAT);
	digest_field_text(&d, "files", files->base);
	digest_field_text(&d, "release", s->release);
	digest_field_text(&d, "location", s->location);
	digest_field_text(&d, "sha256", s->sha256);
	digest_field_text(&d, "sha512", s->sha512);
	digest_field_text(&d, "checksums", s->checksums);
	digest_field_text(&d, "key", s->key);
	for (const char *const *p = recipe_base_packages; *p; p++)
		digest_field_text(&d, "package", *p);
	if (t->base)
		add_software(&d, t->base);
	digest_hex(&d, hex);
}

static void name_volumes(struct recipe *r, const char *release, const char *template,
	const char *base, const char *golden)
{
	(void)snprintf(
		r->base_volume, sizeof(r->base_volume), "base-%s-%.16s.qcow2", release, base);
	(void)snprintf(r->golden_volume, sizeof(r->golden_volume), "golden-%s-%.16s.qcow2",
		template, golden);
}

static void salted(const char *hex, const char *salt, char ret[DIGEST_HEX])
{
	struct digest d;

	digest_init(&d);
	digest_field_text(&d, "recipe", hex);
	digest_field_text(&d, "salt", salt);
	digest_hex(&d, ret);
}

void recipe_rebuild(
	struct recipe *recipe, const char *release, const char *template, const char *salt)
{
	char base[DIGEST_HEX], golden[DIGEST_HEX];

	salted(recipe->base, salt, base);
	salted(recipe->golden, salt, golden);
	name_volumes(recipe, release, template, base, golden);
}

void recipe_make(const struct template *t, const struct recipe_files *files, struct recipe *ret)
{
	struct recipe r = { 0 };
	struct digest d;

	(void)strcpy(r.agent, files->agent);
	make_base(t, files, r.base);
	digest_init(&d);
	digest_field_text(&d, "format", GOLDEN_FORMAT);
	digest_field_text(&d, "tool", BOX_VERSION);
	digest_field_text(&d, "base", r.base);
	digest_field_text(&d, "files", files->golden);
	digest_field_text(&d, "agent", files->agent);
	digest_field_text(&d, "template", t->name);
	digest_field_text(&d, "user", t->user);
	add_software(&d, t);
	add_texts(&d, "verify", &t->verify);
	digest_field_text(&d, "context-path", t->context_path);
	digest_field_text(&d, "context-text", t->context_text);
	digest_field_text(&d, "user-data", t->user_data);
	digest_hex(&d, r.golden);
	name_volumes(&r, recipe_release(t), t->name, r.base, r.golden);
	*ret = r;
}

int recipe_of(const struct template *t, struct recipe *ret, struct error *err)
{
	static const char *const base[] = { "mint/guest/base", "mint/stage/base", NULL };
	static const char *const golden[] = { "mint/guest/golden", "mint/stage/layer", NULL };
	_cleanup_free_ char *agent = place_libexec("box-agent", err);
	struct recipe_files files = { 0 };

	if (t->shared)
		return error_set(err, ERROR_USAGE,
			"template '%s' is for other templates to stand on; no image is made of it",
			t->name);
	if (!agent || digest_folders(base, files.base, err) < 0 ||
		digest_folders(golden, files.golden, err) < 0)
		return -1;
	if (digest_file(agent, files.agent, err) < 0)
		return error_wrap(err, "the guest agent");
	recipe_make(t, &files, ret);
	return 0;
}

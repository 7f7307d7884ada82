/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that setup-host makes: what is in them, and putting them there and back. */
#include "net/host-files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"

enum { PROGRAM_MAX = 32 << 20, UNIT_MAX = 64 << 10 };

#define UNIT "/etc/systemd/system/box-isolation.service"
#define UNIT_WANTED "/etc/systemd/system/multi-user.target.wants/box-isolation.service"
#define DROP_IN "/etc/systemd/system/nftables.service.d/box.conf"
#define DOCKER_DROP_IN "/etc/systemd/system/docker.service.d/box.conf"

static struct host_file *add(struct host *h, const char *name, const char *path)
{
	struct host_file *f = &h->files[h->n_files++];

	f->name = name;
	(void)snprintf(f->path, sizeof(f->path), "%s%s", h->root, path);
	return f;
}

static int add_text(
	struct host *h, const char *name, const char *path, struct str *text, struct error *err)
{
	struct host_file *f = add(h, name, path);

	f->len = text->len;
	f->content = str_take(text, err);
	f->mode = 0644;
	return f->content ? 0 : -1;
}

static int add_config(struct host *h, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	net_config_format(&h->config, &text);
	return add_text(h, "network of boxes", NET_CONFIG_PATH, &text, err);
}

/*
 * The hook is a copy, not a link: AppArmor lets libvirtd run what is below /etc/libvirt/hooks and
 * nothing in libexec. And so the rules outlive the removal of the program.
 */
static int add_hook(struct host *h, const char *name, const char *path, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct host_file *f = add(h, name, path);

	if (file_read(AT_FDCWD, h->program, PROGRAM_MAX, &text, err) < 0)
		return error_hint(err, "; is box installed completely?");
	f->len = text.len;
	f->content = str_take(&text, err);
	f->mode = 0755;
	return f->content ? 0 : -1;
}

/*
 * Files that are installed beside the programs; what they run is the copy among the hooks. nftables.service
 * flushes what it did not write; Docker makes its chains anew, and may have FORWARD drop (firewalls.h).
 */
static const struct {
	const char *name, *path, *file;
} units[] = {
	{ "boot unit", UNIT, "box-isolation.service" },
	{ "drop-in of nftables.service", DROP_IN, "nftables-drop-in.conf" },
	{ "drop-in of docker.service", DOCKER_DROP_IN, "docker-drop-in.conf" },
};

static int add_shipped(struct host *h, size_t i, struct error *err)
{
	_cleanup_free_ char *from = str_format(err, "%s/%s", h->units, units[i].file);
	_cleanup_str_ struct str text = STR_INIT;

	if (!from)
		return -1;
	if (file_read(AT_FDCWD, from, UNIT_MAX, &text, err) < 0)
		return error_hint(err, "; is box installed completely?");
	return add_text(h, units[i].name, units[i].path, &text, err);
}

static int add_units(struct host *h, bool complete, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!complete)
			(void)add(h, units[i].name, units[i].path);
		else if (add_shipped(h, i, err) < 0)
			return -1;
	}
	return 0;
}

static int add_wanted(struct host *h, struct error *err)
{
	struct host_file *f = add(h, "boot unit's link", UNIT_WANTED);

	f->content = str_dup(UNIT, err);
	f->len = strlen(UNIT);
	return f->content ? 0 : -1;
}

int host_files_plan(struct host *h, bool complete, struct error *err)
{
	if (add_config(h, err) < 0)
		return -1;
	if (!complete) { /* paths are enough */
		(void)add(h, "hook for domains", HOST_HOOK_QEMU);
		(void)add(h, "hook for networks", HOST_HOOK_NETWORK);
	} else if (add_hook(h, "hook for domains", HOST_HOOK_QEMU, err) < 0 ||
		   add_hook(h, "hook for networks", HOST_HOOK_NETWORK, err) < 0) {
		return -1;
	}
	if (complete && !h->systemd)
		return 0; /* the network hook brings the rules at boot, before any box */
	return add_units(h, complete, err) < 0 ? -1 : add_wanted(h, err);
}

/* 1: it is there, *ret holds it; 0: it is not. */
static int read_now(const struct host_file *f, struct str *ret, struct error *err)
{
	char target[PATH_MAX];
	ssize_t len;

	if (f->mode == 0) {
		len = readlink(f->path, target, sizeof(target));
		if (len >= 0)
			str_append_len(ret, target, (size_t)len);
		return len >= 0;
	}
	if (file_read(AT_FDCWD, f->path, PROGRAM_MAX, ret, err) == 0)
		return 1;
	if (err->kind != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int make_parent(const char *path, struct error *err)
{
	char parent[256];
	char *slash;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return 0;
	*slash = '\0';
	return file_mkdirs(parent, 0755, err);
}

static int put(const char *path, const char *content, size_t len, unsigned mode, struct error *err)
{
	if (make_parent(path, err) < 0)
		return -1;
	if (mode != 0)
		return file_replace(AT_FDCWD, path, content, len, mode, err);
	if ((unlink(path) < 0 && errno != ENOENT) || symlink(content, path) < 0)
		return error_errno(err, errno, "cannot make the link '%s'", path);
	return 0;
}

static bool same_mode(const struct host_file *f)
{
	struct stat st;

	return f->mode == 0 || (stat(f->path, &st) == 0 && (st.st_mode & 07777) == f->mode);
}

int host_file_put(struct host_file *f, struct error *err)
{
	_cleanup_str_ struct str now = STR_INIT;
	int there = read_now(f, &now, err);

	if (there < 0)
		return -1;
	if (there && now.len == f->len && memcmp(str_get(&now), f->content, f->len) == 0 &&
		same_mode(f))
		return 0;
	if (there) {
		str_append(&now, "");
		f->was_len = now.len;
		f->was = now.len ? str_take(&now, err) : str_dup("", err);
		if (!f->was)
			return -1;
	}
	if (put(f->path, f->content, f->len, f->mode, err) < 0)
		return -1;
	f->changed = true;
	return 0;
}

void host_file_put_back(struct host_file *f)
{
	struct error err = { 0 };

	if (!f->changed)
		return;
	f->changed = false;
	if (f->was ? put(f->path, f->was, f->was_len, f->mode, &err) < 0 : unlink(f->path) < 0)
		log_debug("'%s' could not be put back: %s", f->path, err.text);
}

/* Folders that only we put something in; others' files keep them. */
void host_remove_empty_parent(const char *path)
{
	char parent[256];
	char *slash;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash)
		return;
	*slash = '\0';
	slash = strrchr(parent, '/');
	if (slash && (str_equal(slash, "/box") ||
			     (strlen(slash) > 2 && str_equal(slash + strlen(slash) - 2, ".d"))))
		(void)rmdir(parent);
}

int host_file_remove(const struct host_file *f, bool *ret_changed, struct error *err)
{
	if (unlink(f->path) == 0)
		*ret_changed = true;
	else if (errno != ENOENT && errno != ENOTDIR)
		return error_errno(err, errno, "cannot remove '%s'", f->path);
	host_remove_empty_parent(f->path);
	return 0;
}

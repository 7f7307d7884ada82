/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: all is done relative to descriptors of folders that were opened without following links, so a
 * link in the way is an error and never a detour. A folder that its owner may not write (from the box, or
 * of this side) is opened up while it is worked on and closed again. Depth is bounded by copy_unpack, and
 * so are descriptors.
 */
#include "vmm/copy-place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "vmm/copy-archive.h"
#include "vmm/copy-name.h"

static int folder_open(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int failed(const char *what, const char *name, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;
	int errnum = errno;

	str_append_escaped(&shown, name, strlen(name), false);
	return error_errno(err, errnum, "cannot %s '%s'", what, str_get(&shown));
}

/* ---- removing ---- */

static void remove_below(int at, const char *name, unsigned depth)
{
	const struct dirent *entry;
	DIR *dir;
	int fd;

	if (unlinkat(at, name, 0) == 0 || depth > 2 * COPY_DEPTH_MAX)
		return;
	/* The box's own modes may keep us out; nothing but folders of ours is below a staging folder. */
	(void)!fchmodat(at, name, 0700, 0);
	fd = folder_open(at, name);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		cleanup_close_p(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			remove_below(fd, entry->d_name, depth + 1);
	(void)closedir(dir);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

void copy_place_done(struct copy_place *place)
{
	if (place->folder && place->staging[0])
		remove_below(place->fd, place->staging, 0);
	if (place->folder)
		cleanup_close_p(&place->fd);
	free(place->folder);
	*place = (struct copy_place){ .fd = -1 };
}

/* ---- finding ---- */

static int set_name(struct copy_place *place, const char *name, size_t len, struct error *err)
{
	if (len >= sizeof(place->name))
		return error_set(err, ERROR_USAGE, "'%.*s...': a name of more than %d bytes", 40,
			name, NAME_MAX);
	memcpy(place->name, name, len);
	place->name[len] = '\0';
	return 0;
}

/* to is there: a folder to put it into, or a file to replace. */
static int find_existing(struct copy_place *place, const char *to, const struct stat *st,
	const char *name, size_t name_len, struct error *err)
{
	_cleanup_free_ char *real = realpath(to, NULL);
	char *slash;

	if (!real)
		return failed("find", to, err);
	if (S_ISDIR(st->st_mode)) {
		place->folder = TAKE(real);
		return set_name(place, name, name_len, err);
	}
	if (!S_ISREG(st->st_mode))
		return error_set(err, ERROR_INVALID,
			"'%s' is neither file nor folder; '-' is for streams", to);
	slash = strrchr(real, '/');
	if (set_name(place, slash + 1, strlen(slash + 1), err) < 0)
		return -1;
	slash[slash == real] = '\0';
	place->folder = TAKE(real);
	return 0;
}

static int find_new(struct copy_place *place, const char *to, struct error *err)
{
	_cleanup_free_ char *above = NULL;
	size_t len;
	const char *last = copy_name_last(to, &len);

	if (!len)
		return error_set(err, ERROR_NOT_FOUND, "there is no folder '%s'", to);
	if (set_name(place, last, len, err) < 0)
		return -1;
	above = last == to ? str_dup(".", err) : str_format(err, "%.*s", (int)(last - to), to);
	if (!above)
		return -1;
	place->folder = realpath(above, NULL);
	return place->folder ? 0 : failed("find folder", above, err);
}

static int find(struct copy_place *place, const char *to, const char *name, size_t name_len,
	struct error *err)
{
	struct stat st;

	if (stat(to, &st) == 0)
		return find_existing(place, to, &st, name, name_len, err);
	if (errno != ENOENT)
		return failed("find", to, err);
	/* A link that leads nowhere: whatever it may lead to later is not what was meant. */
	if (lstat(to, &st) == 0)
		return error_set(err, ERROR_INVALID, "'%s' is a link that leads nowhere", to);
	return find_new(place, to, err);
}

static int make_staging(struct copy_place *place, struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/.box-cp-XXXXXX", place->folder);

	if (!path)
		return -1;
	if (!mkdtemp(path))
		return failed("make a folder in", place->folder, err);
	memccpy(place->staging, strrchr(path, '/') + 1, '\0', sizeof(place->staging));
	return 0;
}

int copy_place_open(const char *to, const char *name, size_t name_len, struct copy_place *ret,
	struct error *err)
{
	_cleanup_copy_place_ struct copy_place place = { .fd = -1 };

	if (find(&place, to, name, name_len, err) < 0)
		return -1;
	place.fd = open(place.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place.fd < 0)
		return failed("open folder", place.folder, err);
	if (make_staging(&place, err) < 0)
		return -1;
	*ret = place;
	place = (struct copy_place){ .fd = -1 };
	return 0;
}

char *copy_place_staging(const struct copy_place *place, struct error *err)
{
	return str_format(err, "%s/%s", place->folder, place->staging);
}

int copy_place_room(const struct copy_place *place, uint64_t *ret, struct error *err)
{
	struct statvfs st;
	uint64_t total, available;

	if (fstatvfs(place->fd, &st) < 0)
		return failed("look at the file system of", place->folder, err);
	total = (uint64_t)st.f_blocks * st.f_frsize;
	available = (uint64_t)st.f_bavail * st.f_frsize;
	*ret = available > total / 10 ? available - total / 10 : 0;
	return 0;
}

/* ---- putting in place ---- */

/* Descriptor of a folder with rights for us; *ret_mode is what it had. -1 with errno. */
static int folder_open_up(int at, const char *name, struct stat *ret)
{
	int fd = folder_open(at, name);

	/* Not readable: it is no link, or opening would have said so before it said that. */
	if (fd < 0 && errno == EACCES && fstatat(at, name, ret, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(ret->st_mode) && fchmodat(at, name, ret->st_mode | 0700, 0) == 0)
		fd = folder_open(at, name);
	else if (fd >= 0 && fstat(fd, ret) < 0)
		(void)close(fd_take(&fd));
	if (fd >= 0 && (ret->st_mode & 0700) != 0700)
		(void)!fchmod(fd, (ret->st_mode & 07777) | 0700);
	return fd;
}

static int merge(int from, int to, struct error *err);

static int refuse_kind(const char *name, const char *what, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;

	str_append_escaped(&shown, name, strlen(name), false);
	return error_set(err, ERROR_EXISTS, "'%s' is %s", str_get(&shown), what);
}

/* Fill the folder that is there. It keeps its mode: a box does not open up a folder of this side. */
static int fill_folder(int source, int to, const char *to_name, struct error *err)
{
	struct stat st;
	_cleanup_close_ int target = folder_open_up(to, to_name, &st);
	int ret;

	if (target < 0)
		return refuse_kind(to_name, "a folder in the box and none here", err);
	ret = merge(source, target, err);
	if ((st.st_mode & 0700) != 0700)
		(void)!fchmod(target, st.st_mode & 07777);
	return ret;
}

static int move_folder(int from, const char *name, int to, const char *to_name, struct error *err)
{
	struct stat st;
	_cleanup_close_ int source = folder_open_up(from, name, &st);

	if (source < 0)
		return failed("open folder", name, err);
	if (renameat(from, name, to, to_name) < 0)
		return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
			       ? fill_folder(source, to, to_name, err)
			       : failed("put in place", to_name, err);
	if ((st.st_mode & 0700) != 0700)
		(void)!fchmod(source, st.st_mode & 0777);
	return 0;
}

static int move_file(int from, const char *name, int to, const char *to_name, struct error *err)
{
	if (renameat(from, name, to, to_name) == 0)
		return 0;
	return errno == EISDIR || errno == EEXIST || errno == ENOTEMPTY
		       ? refuse_kind(to_name, "a folder here and none in the box", err)
		       : failed("put in place", to_name, err);
}

static int move(int from, const char *name, int to, const char *to_name, struct error *err)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed("look at", name, err);
	return S_ISDIR(st.st_mode) ? move_folder(from, name, to, to_name, err)
				   : move_file(from, name, to, to_name, err);
}

/* Everything of one folder into another. */
static int merge(int from, int to, struct error *err)
{
	int fd = fcntl(from, F_DUPFD_CLOEXEC, 0), ret = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		cleanup_close_p(&fd);
		return error_errno(err, errno, "cannot read a folder");
	}
	while (ret == 0 && (entry = readdir(dir)))
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			ret = move(fd, entry->d_name, to, entry->d_name, err);
	(void)closedir(dir);
	return ret;
}

int copy_place_commit(struct copy_place *place, struct error *err)
{
	_cleanup_close_ int staging = folder_open(place->fd, place->staging), content = -1;
	struct stat st;

	if (staging < 0)
		return failed("open folder", place->staging, err);
	if (place->name[0])
		return move(staging, COPY_CONTENT, place->fd, place->name, err);
	/* The content of a folder into a folder, whose own mode and time stay. */
	content = folder_open_up(staging, COPY_CONTENT, &st);
	if (content < 0)
		return error_set(err, ERROR_INVALID, "it is a file without a name of its own");
	return merge(content, place->fd, err);
}

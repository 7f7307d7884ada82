/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"

enum {
	RECORD_MAX = 4096, /* 64 doors of 17 bytes and three lines */
	STALE_SECONDS = 120, /* from hook to tap is milliseconds; QEMU and storage may be slow */
};

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

int record_lock(const char *dir, struct error *err)
{
	_cleanup_close_ int fd = -1;
	char path[256];

	if (file_mkdirs(dir, 0755, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/.lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, errno, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return error_errno(err, errno, "cannot lock '%s'", path);
	}
	return fd_take(&fd);
}

static int read_at(
	int dirfd, const char *path, const char *uuid, struct net_port *ret, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (file_read(dirfd, path, RECORD_MAX, &text, err) < 0)
		return -1;
	if (port_parse(str_get(&text), uuid, ret, err) < 0)
		return error_wrap(err, "record of box %s", uuid);
	return 0;
}

int record_read(const char *dir, const char *uuid, struct net_port *ret, struct error *err)
{
	char path[256];

	if (!port_uuid_ok(uuid))
		return error_set(err, ERROR_INVALID, "'%s' is not a UUID", uuid);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, uuid);
	if (read_at(AT_FDCWD, path, uuid, ret, err) == 0)
		return 1;
	if (err->kind != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int load_one(int dirfd, const char *uuid, struct net_ports *ret, struct error *err)
{
	struct net_port port = { 0 };

	if (read_at(dirfd, uuid, uuid, &port, err) < 0)
		return -1;
	return net_ports_push(ret, port, err);
}

int record_load(const char *dir, struct net_ports *ret, struct error *err)
{
	_cleanup_(close_dir) DIR *d = opendir(dir);
	const struct dirent *entry;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return error_errno(err, errno, "cannot open '%s'", dir);
	while ((entry = readdir(d))) {
		if (port_uuid_ok(entry->d_name) && load_one(dirfd(d), entry->d_name, ret, err) < 0)
			return -1;
	}
	return 0;
}

int record_write(const char *dir, const struct net_port *port, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	char path[256];

	port_format(port, &text);
	if (str_ok(&text, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/%s", dir, port->uuid);
	return file_replace(AT_FDCWD, path, text.data, text.len, 0644, err);
}

bool record_exists(const char *dir, const char *uuid)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, uuid);
	return access(path, F_OK) == 0;
}

ino_t record_identity(const char *dir, const char *uuid)
{
	struct stat st;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, uuid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

int record_remove(const char *dir, const char *uuid, struct error *err)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, uuid);
	if (unlink(path) < 0 && errno != ENOENT)
		return error_errno(err, errno, "cannot remove '%s'", path);
	return 0;
}

bool record_is_stale(const char *dir, const struct net_port *port)
{
	struct stat st;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, port->uuid);
	return if_nametoindex(port->tap) == 0 && stat(path, &st) == 0 &&
	       time(NULL) - st.st_mtime > STALE_SECONDS;
}

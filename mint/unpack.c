/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a source's file to the archive of its root file system. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "mint/launch.h"
#include "mint/source.h"

/* More than any root file system that a box could start from: the file may be a bomb. */
#define TREE_BYTES_MAX (64ull << 30)

/* ---- archives ---- */

static void read_done(struct archive *a)
{
	(void)archive_read_free(a);
}
DEFINE_CLEANUP(struct archive *, read_done);

static int error_stream(struct error *err, struct archive *a, const char *path)
{
	const char *text = archive_error_string(a);
	_cleanup_str_ struct str safe = STR_INIT;

	text = text ? text : "unknown error";
	str_append_escaped(&safe, text, strlen(text), false);
	return error_set(err, ERROR_INVALID, "cannot unpack '%s': %s", path, str_get(&safe));
}

static int copy_stream(struct archive *a, const char *path, int to, struct error *err)
{
	static char buf[1 << 18];
	uint64_t total = 0;

	for (;;) {
		la_ssize_t n = archive_read_data(a, buf, sizeof(buf));

		if (n < 0)
			return error_stream(err, a, path);
		if (n == 0)
			return 0;
		total += (uint64_t)n;
		if (total > TREE_BYTES_MAX)
			return error_set(err, ERROR_INVALID,
				"'%s' unpacks to more than %llu GiB: refused", path,
				TREE_BYTES_MAX >> 30);
		if (fd_write_all(to, buf, (size_t)n, "the unpacked archive", err) < 0)
			return -1;
	}
}

/* Take the compression off; what is inside is looked at by whoever unpacks it. */
static int decompress(const char *path, const char *tar, struct error *err)
{
	_cleanup_(read_done_p) struct archive *a = archive_read_new();
	_cleanup_close_ int to = open(tar, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	struct archive_entry *entry;

	if (!a)
		return error_oom(err);
	if (to < 0)
		return error_errno(err, errno, "cannot create '%s'", tar);
	(void)archive_read_support_filter_all(a);
	(void)archive_read_support_format_raw(a);
	if (archive_read_open_filename(a, path, 1 << 18) != ARCHIVE_OK ||
		archive_read_next_header(a, &entry) != ARCHIVE_OK)
		return error_stream(err, a, path);
	return copy_stream(a, path, to, err);
}

/* ---- disks ---- */

/* The one operating system of the disk, given. */
static char *find_root(guestfs_h *g, const char *path, struct error *err)
{
	_cleanup_(launch_free_list_p) char **roots = guestfs_inspect_os(g);

	if (!roots) {
		error_guestfs(err, g, "look into the image");
		return NULL;
	}
	if (!roots[0]) {
		error_set(err, ERROR_INVALID, "'%s' holds no operating system", path);
		return NULL;
	}
	if (roots[1]) {
		error_set(err, ERROR_INVALID, "'%s' holds more than one operating system", path);
		return NULL;
	}
	return str_dup(roots[0], err);
}

/* What is inside decides how packages are installed: apt is what the stages know. */
static int check_system(guestfs_h *g, const char *root, const char *path, struct error *err)
{
	_cleanup_free_ char *format = guestfs_inspect_get_package_format(g, root);
	_cleanup_free_ char *arch = guestfs_inspect_get_arch(g, root);
	_cleanup_free_ char *distro = guestfs_inspect_get_distro(g, root);

	if (!format || !arch || !distro)
		return error_guestfs(err, g, "tell what system the image holds");
	if (!str_equal(arch, "x86_64"))
		return error_set(
			err, ERROR_INVALID, "'%s' is for the processor %s, not x86_64", path, arch);
	if (!str_equal(format, "deb"))
		return error_set(err, ERROR_INVALID,
			"'%s' holds %s, whose packages are of kind %s; this version of box installs "
			"into Debian, Ubuntu and others with apt",
			path, distro, format);
	return 0;
}

static int compare_mounts(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	size_t first = strlen(*x), second = strlen(*y);

	return first < second ? -1 : first > second;
}

static int mount_all(guestfs_h *g, const char *root, struct error *err)
{
	_cleanup_(launch_free_list_p) char **mounts = guestfs_inspect_get_mountpoints(g, root);
	size_t count = 0;

	if (!mounts)
		return error_guestfs(err, g, "tell what is mounted where in the image");
	while (mounts[count])
		count += 2;
	/* "/" before "/boot" before "/boot/efi" */
	qsort(mounts, count / 2, 2 * sizeof(*mounts), compare_mounts);
	for (size_t i = 0; i + 1 < count; i += 2)
		if (guestfs_mount_ro(g, mounts[i + 1], mounts[i]) < 0)
			return error_guestfs(err, g, "mount a file system of the image");
	return 0;
}

static int read_disk(const struct source_file *f, const char *tar, struct error *err)
{
	_cleanup_(guestfs_close_p) guestfs_h *g = launch_new(err);
	const struct launch_disk disk = { f->path, "source",
		f->format == FORMAT_QCOW2 ? "qcow2" : "raw", true };
	_cleanup_free_ char *root = NULL;

	if (!g || launch_with(g, &disk, 1, err) < 0)
		return -1;
	root = find_root(g, f->path, err);
	if (!root || check_system(g, root, f->path, err) < 0 || mount_all(g, root, err) < 0)
		return -1;
	if (guestfs_tar_out_opts(g, "/", tar, GUESTFS_TAR_OUT_OPTS_NUMERICOWNER, 1,
		    GUESTFS_TAR_OUT_OPTS_XATTRS, 1, -1) < 0)
		return error_guestfs(err, g, "read the image's files");
	return guestfs_shutdown(g) < 0 ? error_guestfs(err, g, "close the image") : 0;
}

/* "ustar" is in the clear: nothing has to be copied. */
static bool is_plain(const char *path)
{
	struct error ignored = { 0 };
	_cleanup_close_ int fd = file_open(AT_FDCWD, path, &ignored);
	char magic[5];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 257) == sizeof(magic) &&
	       memcmp(magic, "ustar", sizeof(magic)) == 0;
}

int source_unpack(const struct source_file *f, const char *tar, struct error *err)
{
	if (f->format != FORMAT_TAR)
		return read_disk(f, tar, err);
	if (!is_plain(f->path))
		return decompress(f->path, tar, err);
	if (symlink(f->path, tar) < 0)
		return error_errno(err, errno, "cannot link '%s'", tar);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/vmm/archive-maker.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/test.h"

static const struct {
	char letter;
	unsigned type;
} types[] = { { 'd', AE_IFDIR }, { 'f', AE_IFREG }, { 'l', AE_IFLNK }, { 'h', AE_IFREG },
	{ 'c', AE_IFCHR }, { 'p', AE_IFIFO } };

static unsigned type_of(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].letter == letter)
			return types[i].type;
	fail_msg("no type '%c'", letter);
	return 0;
}

static void describe(struct archive_entry *e, const struct member *m)
{
	size_t len = m->text ? strlen(m->text) : 0;

	archive_entry_copy_pathname(e, m->path);
	archive_entry_set_filetype(e, type_of(m->type));
	archive_entry_set_perm(e, (unsigned short)(m->mode          ? m->mode
						   : m->type == 'd' ? 0755
								    : 0644));
	archive_entry_set_mtime(e, m->mtime ? m->mtime : 1000000000, m->nsec);
	archive_entry_set_uid(e, 12345);
	archive_entry_set_gid(e, 12345);
	archive_entry_set_size(e, m->type != 'f' ? 0 : m->sparse ? m->sparse : (long long)len);
	if (m->type == 'l')
		archive_entry_copy_symlink(e, m->text);
	if (m->type == 'h')
		archive_entry_copy_hardlink(e, m->text);
	if (m->type == 'c')
		archive_entry_set_rdev(e, 0x103);
	if (m->sparse)
		archive_entry_sparse_add_entry(e, m->sparse - (long long)len, (long long)len);
}

static void put(struct archive *a, const struct member *m)
{
	struct archive_entry *e = archive_entry_new();
	size_t len = m->text ? strlen(m->text) : 0;

	describe(e, m);
	assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
	/* Of a sparse file the writer wants the holes too, as zeros. */
	for (long long left = m->sparse ? m->sparse - (long long)len : 0; left > 0;) {
		static char zeros[1 << 20];
		la_ssize_t n = archive_write_data(
			a, zeros, left < (long long)sizeof(zeros) ? (size_t)left : sizeof(zeros));

		assert_true(n > 0);
		left -= n;
	}
	if (m->type == 'f' && len)
		assert_int_equal(archive_write_data(a, m->text, len), (la_ssize_t)len);
	archive_entry_free(e);
}

int archive_make(const struct member *members, size_t count)
{
	int fd = memfd_create("archive", MFD_CLOEXEC);
	struct archive *a = archive_write_new();

	assert_true(fd >= 0);
	assert_int_equal(archive_write_set_format_pax(a), ARCHIVE_OK);
	assert_int_equal(archive_write_open_fd(a, fd), ARCHIVE_OK);
	for (size_t i = 0; i < count; i++)
		put(a, &members[i]);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	assert_int_equal(archive_write_free(a), ARCHIVE_OK);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

int archive_cut(int fd, size_t len)
{
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

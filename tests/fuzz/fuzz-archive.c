/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What "box cp" unpacks: an archive that a hostile box sends. It works in a folder "in"; beside it lies a
 * file that must stay as it is.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/copy-archive.h"

enum { ENTRIES_MAX = 100, BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char world[] = "/tmp/box-fuzz-XXXXXX";

static void remove_world(void)
{
	struct error err = { 0 };

	if (chdir("/") < 0 || file_remove_tree(world, &err) < 0)
		abort();
}

static void make_world(void)
{
	struct error err = { 0 };

	if (!mkdtemp(world) || chdir(world) < 0 || mkdir("in", 0700) < 0 ||
		file_replace(AT_FDCWD, "beside", "secret", 6, 0600, &err) < 0 || chdir("in") < 0)
		abort();
	(void)atexit(remove_world);
}

static void check_beside(void)
{
	struct stat st;

	if (stat("../beside", &st) < 0 || st.st_nlink != 1 || st.st_size != 6 ||
		(st.st_mode & 07777) != 0600)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	_cleanup_close_ int fd = memfd_create("archive", MFD_CLOEXEC);
	struct copy_unpack request = {
		.fd = fd,
		.max_entries = ENTRIES_MAX,
		.max_bytes = BYTES_MAX,
		.stall_ms = 5000,
		.skip_unsafe = size % 2,
	};
	struct error err = { 0 };

	if (!made)
		make_world();
	made = true;
	if (fd < 0 || fd_write_all(fd, data, size, "archive", &err) < 0 ||
		lseek(fd, 0, SEEK_SET) != 0)
		abort();
	if (copy_unpack(&request, NULL, &err) < 0 && err.kind == ERROR_NONE)
		abort();
	check_beside();
	/* It may have left what it was about to make; never anything of another name outside "in". */
	if (chdir("..") < 0 || file_remove_tree("in", &err) < 0 || mkdir("in", 0700) < 0 ||
		chdir("in") < 0)
		abort();
	return 0;
}

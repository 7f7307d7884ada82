/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's checks of this machine's part of the isolation: rules, hooks, forwarding. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/doctor.h"
#include "images/place.h"
#include "net/host-files.h"
#include "net/isolation.h"

/* ---- the tables ---- */

int doctor_look_tables(struct doctor *d, struct finding *ret, struct error *err)
{
	struct nft_differences found = VEC_INIT;
	int result;

	(void)d;
	finding_repair(ret, "box doctor --fix");
	result = isolation_check(&isolation_paths, &found, err);
	if (result == 0 && found.len)
		result = error_set(err, ERROR_FAILED,
			"the isolation rules are not as they should be: %s%s", found.items[0],
			found.len > 1 ? " (and more)" : "");
	nft_differences_free(&found);
	if (result < 0 && err->kind == ERROR_NOT_FOUND)
		finding_repair(ret, "box setup-host");
	if (result < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "the isolation rules are loaded, and as they should be");
	return 0;
}

int doctor_fix_tables(struct doctor *d, struct error *err)
{
	(void)d;
	return isolation_ensure(&isolation_paths, NULL, err);
}

/* ---- the hooks ---- */

enum { PROGRAM_MAX = 32 << 20 };

/* The hooks are copies: after an update of box they are those of before. */
static int same_program(const char *hook, struct error *err)
{
	_cleanup_str_ struct str ours = STR_INIT, theirs = STR_INIT;
	_cleanup_free_ char *program = place_libexec("box-hook", err);

	if (!program || file_read(AT_FDCWD, program, PROGRAM_MAX, &ours, err) < 0 ||
		file_read(AT_FDCWD, hook, PROGRAM_MAX, &theirs, err) < 0)
		return -1;
	if (ours.len == theirs.len && memcmp(str_get(&ours), str_get(&theirs), ours.len) == 0)
		return 0;
	return error_set(
		err, ERROR_FAILED, "libvirt's hook '%s' is of another version of box", hook);
}

int doctor_look_hooks(struct doctor *d, struct finding *ret, struct error *err)
{
	static const char *const paths[] = { HOST_HOOK_QEMU, HOST_HOOK_NETWORK };
	struct stat st;

	(void)d;
	finding_repair(ret, "box setup-host");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (stat(paths[i], &st) < 0)
			return error_errno(err, errno, "libvirt's hook '%s'", paths[i]);
		if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IXUSR))
			return error_set(err, ERROR_FAILED,
				"libvirt's hook '%s' is no program, so boxes start without rules",
				paths[i]);
		if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
			return error_set(err, ERROR_FAILED,
				"libvirt's hook '%s', which runs as root, can be written by others",
				paths[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (same_program(paths[i], err) < 0)
			return -1;
	}
	finding_say(ret, VERDICT_OK, "libvirt's hooks are in place");
	return 0;
}

/* ---- forwarding ---- */

#define FORWARD "/proc/sys/net/ipv4/ip_forward"

int doctor_look_forward(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_str_ struct str value = STR_INIT;

	(void)d;
	finding_repair(ret, "box doctor --fix");
	if (file_read(AT_FDCWD, FORWARD, 16, &value, err) < 0)
		return -1;
	if (str_get(&value)[0] != '1')
		return error_set(err, ERROR_FAILED,
			"the kernel forwards no packets, so boxes reach nothing (%s is 0)",
			FORWARD);
	finding_say(ret, VERDICT_OK, "the kernel forwards packets");
	return 0;
}

int doctor_fix_forward(struct doctor *d, struct error *err)
{
	_cleanup_close_ int fd = open(FORWARD, O_WRONLY | O_CLOEXEC);

	(void)d;
	if (fd < 0)
		return error_errno(err, errno, "cannot open '%s'", FORWARD);
	return fd_write_all(fd, "1\n", 2, FORWARD, err);
}

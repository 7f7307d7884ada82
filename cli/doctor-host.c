/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's checks of this machine's part of the isolation: rules, hooks, forwarding, the name server. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "cli/doctor.h"
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

/* ---- the name server ---- */

#define DNS_PID "/run/libvirt/network/boxnet.pid"

/* The network may say "active" while the dnsmasq that libvirt started for it is dead. */
int doctor_look_dns(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_str_ struct str pid = STR_INIT, comm = STR_INIT;
	struct error ignored = { 0 };
	uint64_t number = 0;
	char path[64];

	(void)d;
	finding_repair(ret, "virsh net-destroy boxnet && virsh net-start boxnet, when no box runs");
	if (file_read(AT_FDCWD, DNS_PID, 32, &pid, &ignored) < 0)
		return error_set(
			err, ERROR_FAILED, "the network 'boxnet' has no DHCP and name server");
	if (pid.len && pid.data[pid.len - 1] == '\n')
		pid.data[pid.len - 1] = '\0';
	if (parse_u64(str_get(&pid), 1, INT32_MAX, DNS_PID, &number, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%u/comm", (unsigned)number);
	if (file_read(AT_FDCWD, path, 64, &comm, &ignored) < 0 ||
		!str_starts(str_get(&comm), "dnsmasq"))
		return error_set(err, ERROR_FAILED,
			"the DHCP and name server of 'boxnet' is dead: boxes get no address and no name");
	finding_say(ret, VERDICT_OK, "the DHCP and name server of 'boxnet' runs");
	return 0;
}

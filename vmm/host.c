/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/host.h"

#include "base/str.h"

int host_facts(virConnectPtr conn, struct host_facts *ret, struct error *err)
{
	virNodeInfo info;

	if (virNodeGetInfo(conn, &info) < 0)
		return error_virt(err, "cannot ask what the host has");
	*ret = (struct host_facts){ .cpus = info.cpus, .memory = (uint64_t)info.memory * 1024 };
	return 0;
}

int host_accel(virConnectPtr conn, bool *ret_tcg, struct error *err)
{
	const char *accel = getenv("BOX_ACCEL");
	_cleanup_free_ char *capabilities = NULL;

	if (accel && str_equal(accel, "tcg")) {
		*ret_tcg = true;
		return 0;
	}
	if (accel && *accel && !str_equal(accel, "kvm"))
		return error_set(err, ERROR_USAGE, "BOX_ACCEL must be kvm or tcg");
	capabilities = virConnectGetDomainCapabilities(conn, NULL, "x86_64", "q35", "kvm", 0);
	if (!capabilities)
		return error_set(err, ERROR_FAILED,
			"this host cannot run KVM guests (see box doctor); BOX_ACCEL=tcg emulates them, "
			"slowly and without a security boundary");
	*ret_tcg = false;
	return 0;
}

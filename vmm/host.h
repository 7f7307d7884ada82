/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the hypervisor's machine has, and how its guests are to run. */
#ifndef VMM_HOST_H
#define VMM_HOST_H

#include "vmm/virt.h"

struct host_facts {
	unsigned cpus;
	uint64_t memory; /* bytes */
};

int host_facts(virConnectPtr conn, struct host_facts *ret, struct error *err) MUST_CHECK;

/*
 * Whether guests are to be emulated: BOX_ACCEL says "kvm" (or nothing) or "tcg". Emulation is never
 * chosen by itself: without KVM and without BOX_ACCEL=tcg this is ERROR_FAILED, saying what to do.
 * ERROR_USAGE for another value.
 */
int host_accel(virConnectPtr conn, bool *ret_tcg, struct error *err) MUST_CHECK;

#endif

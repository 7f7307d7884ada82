/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging layers: jobs of a QEMU that has them open. For a stopped box that is a QEMU of our own,
 * which is started for the disk alone and whose processor never runs: docs/decisions/0201.
 *
 * All paths are the hypervisor's. Each function returns when the job has ended. A signal (virt_interrupt_
 * flag) cancels the job: ERROR_INTERRUPTED, and every layer has the content it had.
 */
#ifndef VMM_CHAIN_JOB_H
#define VMM_CHAIN_JOB_H

#include "vmm/virt.h"

/* The running domain's disk takes in all layers above base; base NULL: all. */
int chain_pull_live(
	virConnectPtr conn, virDomainPtr dom, const char *base, struct error *err) MUST_CHECK;

/* The same for a layer of a stopped box. uuid is that of the box. */
int chain_pull_stopped(virConnectPtr conn, const char *uuid, const char *layer, const char *base,
	struct error *err) MUST_CHECK;

/* A layer of the running domain, not its uppermost, is written into the one below it. */
int chain_commit_live(virConnectPtr conn, virDomainPtr dom, const char *layer, const char *below,
	struct error *err) MUST_CHECK;

/*
 * 1 a QEMU has the layer open or it cannot be told, 0 none has, -1. uuid is that of the box. Asked of QEMU's
 * own locks, since libvirtd may not know: when it dies at the moment of a snapshot, its memory is older
 * than what QEMU does.
 */
int chain_layer_in_use(
	virConnectPtr conn, const char *uuid, const char *layer, struct error *err) MUST_CHECK;

/*
 * What a killed command left running: a snapshot of libvirt's is waited for, a job of the domain's disk is
 * cancelled, a QEMU of our own for that box is ended. A success if there is none of them.
 */
int chain_jobs_end(
	virConnectPtr conn, virDomainPtr dom, const char *uuid, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "vmm/lock.h"
#include "vmm/network.h"
#include "vmm/pool.h"

void finding_say(struct finding *f, enum verdict verdict, const char *fmt, ...)
{
	va_list ap;

	f->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void finding_repair(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->repair, sizeof(f->repair), fmt, ap);
	va_end(ap);
}

/* libvirt's and QEMU's versions are major * 1000000 + minor * 1000 + release. */
static void version_text(unsigned long version, char *buf, size_t len)
{
	snprintf(buf, len, "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
}

/* What one box of the larger templates writes in a day; with less, a disk is full before one looks. */
#define POOL_LOW (4ULL << 30)

static int look_libvirt(struct doctor *d, struct finding *ret, struct error *err)
{
	unsigned long libvirt = 0, hypervisor = 0;
	char first[32], second[32];

	finding_repair(ret, "start libvirtd, and see that this user may use it");
	if (!d->conn)
		return session_virt(d->session, err) ? 0 : -1; /* again, for its words */
	if (virConnectGetLibVersion(d->conn, &libvirt) < 0 ||
		virConnectGetVersion(d->conn, &hypervisor) < 0)
		return error_virt(err, "cannot ask libvirt for its version");
	version_text(libvirt, first, sizeof(first));
	version_text(hypervisor, second, sizeof(second));
	finding_say(ret, VERDICT_OK, "%s answers: libvirt %s, %s %s",
		virt_uri(d->session->global.connect), first, virConnectGetType(d->conn), second);
	return 0;
}

static int look_pool(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	char size[32];
	uint64_t left;

	finding_repair(ret, "box setup-host");
	pool = pool_open(d->conn, err);
	if (!pool || pool_free_bytes(pool, &left, err) < 0)
		return -1;
	format_size(left, size, sizeof(size));
	if (left < POOL_LOW) {
		finding_repair(ret, "box image prune; box rm BOX; or a larger disk");
		return error_set(err, ERROR_FAILED,
			"the storage pool '%s' has only %s left: a box that writes more stands still",
			POOL_NAME, size);
	}
	finding_say(
		ret, VERDICT_OK, "the storage pool '%s' is active, %s are free", POOL_NAME, size);
	return 0;
}

static int look_network(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = NULL;
	_cleanup_network_view_ struct network_view view = { 0 };

	finding_repair(ret, "box setup-host");
	net = network_open(d->conn, err);
	if (!net || network_view_read(net, &view, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "the network '%s' is active, %zu addresses are reserved",
		NETWORK_NAME, view.hosts.len);
	return 0;
}

/* A lock whose process is gone is taken over by the next command on that box, and harms nobody. */
static int look_leftovers(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_(lock_holders_done) struct lock_holders locks = VEC_INIT;
	size_t dead = 0;

	pool = pool_open(d->conn, err);
	if ((!pool && err->kind != ERROR_NOT_FOUND) || (pool && lock_list(pool, &locks, err) < 0))
		return -1;
	vec_foreach(struct lock_holder, lock, &locks)
		dead += lock_judge(lock) == LOCK_DEAD;
	if (!dead) {
		finding_say(ret, VERDICT_OK, "no operation was left half done");
		return 0;
	}
	finding_repair(ret, "box list; the next command on each box finishes or undoes it");
	return error_set(
		err, ERROR_FAILED, "%zu operations were killed and left something half done", dead);
}

/* Same-page merging tells one guest by timing what another has in memory. Boxes opt out of it. */
static int look_ksm(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_str_ struct str run = STR_INIT;
	struct error ignored = { 0 };

	(void)d;
	if (file_read(AT_FDCWD, "/sys/kernel/mm/ksm/run", 16, &run, &ignored) < 0 ||
		str_get(&run)[0] != '1') {
		finding_say(ret, VERDICT_OK, "the kernel merges no memory pages");
		return 0;
	}
	finding_repair(ret, "echo 2 > /sys/kernel/mm/ksm/run");
	return error_set(err, ERROR_FAILED,
		"the kernel merges equal memory pages (KSM); boxes opt out, other guests may not");
}

const struct check doctor_checks[] = {
	{
		.name = "libvirt",
		.what = "libvirt answers",
		.look = look_libvirt,
	},
	{
		.name = "kvm",
		.what = "the processor has virtualisation, and KVM runs a guest of five bytes",
		.needs_local = true,
		.look = doctor_look_kvm,
	},
	{
		.name = "pool",
		.what = "the storage pool is there and active",
		.needs_virt = true,
		.look = look_pool,
	},
	{
		.name = "network",
		.what = "the network boxnet is there and active",
		.needs_virt = true,
		.look = look_network,
	},
	{
		.name = "addresses",
		.what = "each box has its address reserved, and nobody else holds it",
		.needs_virt = true,
		.look = doctor_look_addresses,
	},
	{
		.name = "boxes",
		.what = "every box is on the isolation stack, as its definition has it",
		.needs_virt = true,
		.look = doctor_look_boxes,
	},
	{
		.name = "ports",
		.what = "every port of the bridge is a box's, and the kernel isolates it",
		.needs_local = true,
		.look = doctor_look_ports,
		.fix = doctor_fix_ports,
	},
	{
		.name = "disks",
		.what = "the layers of every box's disk are there",
		.needs_virt = true,
		.look = doctor_look_disks,
	},
	{
		.name = "agents",
		.what = "the agent of each running box answers",
		.needs_virt = true,
		.look = doctor_look_agents,
	},
	{
		.name = "strays",
		.what = "no volume of a box that is gone is left where nobody sees it",
		.needs_virt = true,
		.look = doctor_look_strays,
		.list = doctor_list_strays,
	},
	{
		.name = "tables",
		.what = "the isolation rules are in the kernel as they should be",
		.needs_local = true,
		.needs_root = true,
		.look = doctor_look_tables,
		.fix = doctor_fix_tables,
	},
	{
		.name = "hooks",
		.what = "libvirt's hooks, which load a box's rules before it starts, are in place",
		.needs_local = true,
		.needs_root = true,
		.look = doctor_look_hooks,
	},
	{
		.name = "forwarding",
		.what = "the kernel forwards packets",
		.needs_local = true,
		.needs_root = true,
		.look = doctor_look_forward,
		.fix = doctor_fix_forward,
	},
	{
		.name = "firewalls",
		.what = "no other firewall of this host drops what boxes need",
		.needs_local = true,
		.needs_root = true,
		.look = doctor_look_firewalls,
		.fix = doctor_fix_firewalls,
	},
	{
		.name = "subnet",
		.what = "nothing else of this host uses the boxes' subnet",
		.needs_local = true,
		.look = doctor_look_subnet,
	},
	{
		.name = "dns",
		.what = "the DHCP and name server of boxnet runs, and its resolvers answer",
		.needs_local = true,
		.needs_root = true,
		.look = doctor_look_dns,
	},
	{
		.name = "ksm",
		.what = "the kernel does not merge memory pages of different guests",
		.needs_local = true,
		.look = look_ksm,
	},
	{
		.name = "drill",
		.what = "the last drill that was recorded found nothing broken",
		.needs_virt = true,
		.look = doctor_look_drill,
	},
	{
		.name = "leftovers",
		.what = "no operation was killed and left something half done",
		.needs_virt = true,
		.look = look_leftovers,
	},
};

const size_t doctor_check_count = ARRAY_LEN(doctor_checks);

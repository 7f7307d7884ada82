/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: what a guest has used once and freed since is still there for the host: it is saved, restored, and
 * resident in each box. Free page reporting gives it back only in blocks of 2 MiB, and over half a minute, so
 * as not to disturb. The balloon takes page by page, and the kernel's allocator hands out the
 * small and the most recently freed ones first: just those that were never reported. So a part of what is
 * free is enough, and takes a second or two.
 *
 * Rejected: a program in the guest that overwrites what is free with zeros, which makes all of it
 * resident for a moment; and the balloon of a box that is in use, since its guest may want the memory back
 * faster than it comes.
 */
#include "vmm/trim.h"

#include "base/log.h"
#include "vmm/virt.h"

enum {
	MOST_KIB = 1048576, /* what was freed lately is a part of that */
	SPARE_KIB = 131072, /* stays free in the guest: nothing of it may be pushed out */
	LOOK_MS = 100,
	STALL_MS = 3000, /* no change for so long: it has no more to give */
	GIVE_MS = 6000,
	TAKE_MS = 30000,
};

struct balloon {
	uint64_t actual, unused; /* KiB; 0: not told */
};

static struct balloon look(struct box *box)
{
	virDomainMemoryStatStruct stats[VIR_DOMAIN_MEMORY_STAT_NR];
	int count = virDomainMemoryStats(box->dom, stats, VIR_DOMAIN_MEMORY_STAT_NR, 0);
	struct balloon now = { 0 };

	for (int i = 0; i < count; i++) {
		if (stats[i].tag == VIR_DOMAIN_MEMORY_STAT_ACTUAL_BALLOON)
			now.actual = stats[i].val;
		else if (stats[i].tag == VIR_DOMAIN_MEMORY_STAT_UNUSED)
			now.unused = stats[i].val;
	}
	return now;
}

/* Until the guest has that much, does not move any more, or the time is over: what it has then. */
static uint64_t settle(
	virConnectPtr conn, struct box *box, uint64_t target, uint64_t stall_ms, uint64_t ms)
{
	uint64_t deadline = virt_now_ms() + ms, moved = virt_now_ms();
	uint64_t actual = look(box).actual;
	struct error ignored = { 0 };
	bool never = false;

	while (actual != target && virt_now_ms() < deadline && virt_now_ms() < moved + stall_ms) {
		uint64_t before = actual;

		if (virt_wait(conn, &never, virt_now_ms() + LOOK_MS, &ignored) < 0)
			break;
		actual = look(box).actual;
		if (actual != before)
			moved = virt_now_ms();
	}
	return actual;
}

static int set(struct box *box, uint64_t kib)
{
	return virDomainSetMemoryFlags(box->dom, (unsigned long)kib, VIR_DOMAIN_AFFECT_LIVE);
}

int trim_memory(virConnectPtr conn, struct box *box, struct error *err)
{
	const struct balloon begin = look(box);
	uint64_t most = begin.unused > SPARE_KIB ? begin.unused - SPARE_KIB : 0;
	uint64_t target = begin.actual - MIN(MIN(most, (uint64_t)MOST_KIB), begin.actual);

	if (!begin.actual || target == begin.actual || set(box, target) < 0) {
		log_debug("box '%s' is not trimmed: it does not say what it has free", box->name);
		return 0;
	}
	log_debug("box '%s' gave back %llu KiB", box->name,
		(unsigned long long)(begin.actual - settle(conn, box, target, STALL_MS, GIVE_MS)));
	if (set(box, begin.actual) < 0)
		return error_virt(err, "cannot give box '%s' its memory again", box->name);
	if (settle(conn, box, begin.actual, TAKE_MS, TAKE_MS) != begin.actual)
		return error_set(err, ERROR_FAILED,
			"the guest of '%s' does not take the memory again that it gave back",
			box->name);
	return 0;
}

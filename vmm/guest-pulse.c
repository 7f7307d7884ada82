/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/guest-pulse.h"

#include "base/clock.h"
#include "vmm/guest-session.h"
#include "vmm/virt.h"

struct asking {
	struct guest_pulse *all; /* lent */
	struct guest **sessions; /* owned; NULL where there is none, or no longer */
	size_t count, open; /* open: sessions that are there */
	int timer; /* ends a turn; -1: none */
};

static void close_one(struct asking *a, size_t i)
{
	guest_close(a->sessions[i]);
	a->sessions[i] = NULL;
	a->open--;
}

static void asking_done(struct asking *a)
{
	for (size_t i = 0; a->sessions && i < a->count; i++)
		guest_close(a->sessions[i]);
	free(a->sessions);
	if (a->timer >= 0)
		(void)virEventRemoveTimeout(a->timer);
}

static void on_timer(int timer, void *data)
{
	(void)data;
	virEventUpdateTimeout(timer, -1); /* once */
}

static struct guest *begin(struct guest_pulse *p)
{
	struct channel *channel = p->dom ? channel_open(p->dom, &p->err)
					 : channel_open_fd(p->fd, &p->err);

	return channel ? guest_begin(channel, &p->err) : NULL;
}

static void open_all(struct asking *a, uint64_t ms)
{
	uint64_t deadline = clock_ms() + ms;

	for (size_t i = 0; i < a->count; i++) {
		if (a->all[i].dom && (clock_ms() >= deadline || virt_interrupted())) {
			(void)error_set(&a->all[i].err, ERROR_TIMEOUT,
				"it was not asked: libvirt took too long with the others");
			continue;
		}
		a->sessions[i] = begin(&a->all[i]);
		a->open += a->sessions[i] != NULL;
	}
}

/* Whatever can be done with each of them now, once. True: there may be more at once. */
static bool step_all(struct asking *a)
{
	bool any = false;

	for (size_t i = 0; i < a->count; i++) {
		struct guest *g = a->sessions[i];
		struct error *err = &a->all[i].err;
		bool moved = false;
		int found = g ? guest_greet(g, &moved, err) : 0;

		if (!g)
			continue;
		if (found == 0 && !moved && g->ended)
			found = error_set(
				err, ERROR_UNREACHABLE, "the box, or the agent in it, went away");
		if (found == 0 && !moved)
			found = guest_want(g, err);
		if (found)
			close_one(a, i);
		any |= moved;
	}
	return any;
}

static int turn(struct asking *a, uint64_t now, uint64_t deadline, struct error *err)
{
	virEventUpdateTimeout(a->timer, (int)(deadline - now));
	if (virEventRunDefaultImpl() < 0)
		return error_virt(err, "cannot wait for libvirt's events");
	return 0;
}

static int wait_all(struct asking *a, uint64_t ms, struct error *err)
{
	uint64_t now = clock_ms(), deadline = now + ms;

	/* One that talks without end is no reason to wait for the others longer. */
	for (; a->open && now < deadline; now = clock_ms()) {
		if (virt_interrupted())
			return error_set(err, ERROR_INTERRUPTED, "interrupted");
		if (!step_all(a) && a->open && turn(a, now, deadline, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < a->count; i++)
		if (a->sessions[i])
			(void)error_set(&a->all[i].err, ERROR_UNREACHABLE,
				"its agent has not answered for %.1f s", (double)ms / 1000);
	return 0;
}

int guest_pulse(struct guest_pulse *all, size_t count, uint64_t ms, struct error *err)
{
	_cleanup_(asking_done) struct asking a = { .all = all, .count = count, .timer = -1 };

	a.sessions = calloc(count + 1, sizeof(struct guest *));
	if (!a.sessions)
		return error_oom(err);
	a.timer = virEventAddTimeout(-1, on_timer, NULL, NULL);
	if (a.timer < 0)
		return error_virt(err, "cannot set a timer");
	open_all(&a, ms);
	return wait_all(&a, ms, err);
}

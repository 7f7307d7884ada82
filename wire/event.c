/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's event loop: descriptors and timers in fixed tables, one poll a turn. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "wire/wire.h"

enum { HANDLES = 16, TIMERS = 8 };

struct handle {
	bool used;
	int fd, events; /* of virEventHandleType */
	virEventHandleCallback call;
	void *data;
};

struct timer {
	bool used;
	int every; /* milliseconds, -1: off */
	uint64_t due;
	virEventTimeoutCallback call;
	void *data;
};

/* As in the library, the loop is the process's. */
static struct handle handles[HANDLES];
static struct timer timers[TIMERS];

int virEventRegisterDefaultImpl(void)
{
	return 0;
}

int virEventAddHandle(
	int fd, int events, virEventHandleCallback cb, void *opaque, virFreeCallback ff)
{
	(void)ff; /* nobody here has one */
	for (int i = 0; i < HANDLES; i++) {
		if (handles[i].used)
			continue;
		handles[i] = (struct handle){ true, fd, events, cb, opaque };
		return i;
	}
	return wire_fail(VIR_ERR_INTERNAL_ERROR, "too many descriptors are watched");
}

void virEventUpdateHandle(int watch, int events)
{
	handles[watch].events = events;
}

int virEventRemoveHandle(int watch)
{
	handles[watch].used = false;
	return 0;
}

static void arm(struct timer *t, int every)
{
	t->every = every;
	t->due = every < 0 ? 0 : clock_ms() + (uint64_t)every;
}

int virEventAddTimeout(int timeout, virEventTimeoutCallback cb, void *opaque, virFreeCallback ff)
{
	(void)ff;
	for (int i = 0; i < TIMERS; i++) {
		if (timers[i].used)
			continue;
		timers[i] = (struct timer){ .used = true, .call = cb, .data = opaque };
		arm(&timers[i], timeout);
		return i;
	}
	return wire_fail(VIR_ERR_INTERNAL_ERROR, "too many timers are set");
}

void virEventUpdateTimeout(int timer, int timeout)
{
	arm(&timers[timer], timeout);
}

int virEventRemoveTimeout(int timer)
{
	timers[timer].used = false;
	return 0;
}

static short poll_events(int events)
{
	return (short)((events & VIR_EVENT_HANDLE_READABLE ? POLLIN : 0) |
		       (events & VIR_EVENT_HANDLE_WRITABLE ? POLLOUT : 0));
}

static int handle_events(short revents)
{
	return (revents & POLLIN ? VIR_EVENT_HANDLE_READABLE : 0) |
	       (revents & POLLOUT ? VIR_EVENT_HANDLE_WRITABLE : 0) |
	       (revents & (POLLERR | POLLNVAL) ? VIR_EVENT_HANDLE_ERROR : 0) |
	       (revents & POLLHUP ? VIR_EVENT_HANDLE_HANGUP : 0);
}

static int sleep_ms(bool due)
{
	uint64_t now = clock_ms(), first = UINT64_MAX;

	if (due)
		return 0;
	for (int i = 0; i < TIMERS; i++)
		if (timers[i].used && timers[i].every >= 0)
			first = MIN(first, timers[i].due);
	return first == UINT64_MAX ? -1
	       : first <= now      ? 0
				   : (int)MIN(first - now, (uint64_t)3600000);
}

static void run_timers(void)
{
	uint64_t now = clock_ms();

	for (int i = 0; i < TIMERS; i++) {
		struct timer *t = &timers[i];

		if (!t->used || t->every < 0 || t->due > now)
			continue;
		arm(t, t->every);
		t->call(i, t->data);
	}
}

/* A handle is left out while nobody wants anything of it: the library does so, too. */
static void run_handles(const struct pollfd *polled, const int *which, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++) {
		struct handle *h = &handles[which[i]];

		/* A callback before this one may have taken it away. */
		if (polled[i].revents && h->used && h->fd == polled[i].fd)
			h->call(which[i], h->fd, handle_events(polled[i].revents), h->data);
	}
}

int virEventRunDefaultImpl(void)
{
	struct wire_interest stream = wire_stream_interest();
	struct pollfd polled[HANDLES + 1];
	int which[HANDLES];
	nfds_t count = 0;

	for (int i = 0; i < HANDLES; i++) {
		if (!handles[i].used || !handles[i].events)
			continue;
		which[count] = i;
		polled[count++] = (struct pollfd){ .fd = handles[i].fd,
			.events = poll_events(handles[i].events) };
	}
	polled[count] = (struct pollfd){ .fd = stream.fd, .events = stream.events };
	if (poll(polled, count + 1, sleep_ms(stream.due)) < 0) {
		if (errno == EINTR)
			return 0;
		return wire_fail_errno("cannot wait for descriptors");
	}
	run_timers();
	run_handles(polled, which, count);
	wire_stream_dispatch((short)(polled[count].revents | (stream.due ? POLLIN : 0)));
	return 0;
}

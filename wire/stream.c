/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one stream of a connection.
 *
 * What comes in stays in the connection's buffer until it is asked for, and nothing is read from the socket
 * while a packet waits there: so a reader that is slow is felt by the daemon, and by the guest behind it.
 * What goes out is one packet that is being written; there is no other until it is gone.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "wire/wire.h"

struct _virStream {
	virConnectPtr conn; /* lent */
	uint32_t serial; /* of the call that opened it; 0: none has */
	bool ended; /* the daemon said that nothing follows */
	bool failed;
	uint8_t out[WIRE_HEADER + WIRE_STREAM_MAX];
	size_t sent, len; /* of out */
	int want; /* virStreamEventType */
	virStreamEventCallback call; /* NULL: none */
	void *data;
	struct wire_in held; /* what is left of a packet that came */
};

/* For the loop. As with the connection there is never another. */
static virStreamPtr watched;

virStreamPtr virStreamNew(virConnectPtr conn, unsigned int flags)
{
	virStreamPtr st = calloc(1, sizeof(*st));

	(void)flags; /* it never waits */
	if (st)
		st->conn = conn;
	else
		wire_fail(VIR_ERR_NO_MEMORY, "out of memory");
	return st;
}

int virStreamFree(virStreamPtr st)
{
	if (watched == st)
		watched = NULL;
	free(st);
	return 0;
}

int virDomainOpenChannel(virDomainPtr dom, const char *name, virStreamPtr st, unsigned int flags)
{
	struct wire_out args = { .len = 0 };
	struct wire_in in;

	wire_put_domain(&args, dom);
	wire_put_optional(&args, name);
	wire_put_u32(&args, flags);
	if (wire_call(dom->conn, WIRE_OPEN_CHANNEL, &args, &in) < 0)
		return -1;
	st->serial = dom->conn->serial;
	return 0;
}

/* ---- out ---- */

/* 1: all of it is gone; 0: not yet; -1. */
static int flush(virStreamPtr st)
{
	while (st->sent < st->len) {
		ssize_t n = send(st->conn->fd, st->out + st->sent, st->len - st->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return wire_fail_errno("cannot write to the daemon");
		st->sent += (size_t)n;
	}
	return 1;
}

int virStreamSend(virStreamPtr st, const char *data, size_t nbytes)
{
	size_t len = MIN(nbytes, (size_t)WIRE_STREAM_MAX);
	int done = st->failed ? wire_fail(VIR_ERR_RPC, "the stream is broken") : flush(st);

	if (done <= 0)
		return done < 0 ? -1 : -2;
	wire_header(st->out, WIRE_OPEN_CHANNEL, WIRE_STREAM, st->serial, WIRE_CONTINUE, len);
	memcpy(st->out + WIRE_HEADER, data, len);
	st->sent = 0;
	st->len = WIRE_HEADER + len;
	return flush(st) < 0 ? -1 : (int)len;
}

/* ---- in ---- */

static bool is_ours(virStreamPtr st, const struct wire_packet *p)
{
	return p->program == WIRE_PROGRAM && p->type == WIRE_STREAM &&
	       p->procedure == WIRE_OPEN_CHANNEL && p->serial == st->serial;
}

/* The next packet of the stream: 1, 0 none yet, -1. */
static int next_of_ours(virStreamPtr st, struct wire_packet *p)
{
	for (;;) {
		int found = wire_next(st->conn, p), filled;

		if (found < 0)
			return -1;
		if (found && is_ours(st, p))
			return 1;
		if (found)
			continue;
		filled = wire_fill(st->conn);
		if (filled <= 0)
			return filled;
	}
}

int virStreamRecv(virStreamPtr st, char *data, size_t nbytes)
{
	size_t left = (size_t)(st->held.end - st->held.at);
	struct wire_packet p;

	if (st->failed)
		return wire_fail(VIR_ERR_RPC, "the stream is broken");
	if (!left && !st->ended) {
		int found = next_of_ours(st, &p);

		if (found == 0)
			return -2;
		if (found < 0 || p.status == WIRE_ERROR) {
			st->failed = true;
			return found < 0 ? -1 : wire_fail_remote(p.payload);
		}
		st->held = p.payload;
		left = (size_t)(p.payload.end - p.payload.at);
		/* An empty packet is the end, and so is the daemon's own end of the stream. */
		st->ended = !left || p.status == WIRE_OK;
	}
	left = MIN(left, nbytes);
	if (left)
		memcpy(data, st->held.at, left);
	st->held.at += left;
	return (int)left;
}

/* ---- the end ---- */

static int say(virStreamPtr st, enum wire_status status)
{
	uint8_t packet[WIRE_HEADER];

	wire_header(packet, WIRE_OPEN_CHANNEL, WIRE_STREAM, st->serial, status, 0);
	return wire_write(st->conn, packet, sizeof(packet));
}

/* Say that we are done and wait until the daemon is: then the port is free for the next. */
int virStreamFinish(virStreamPtr st)
{
	uint64_t deadline = clock_ms() + WIRE_CALL_MS;
	struct wire_packet p;

	if (st->failed || st->conn->broken)
		return wire_fail(VIR_ERR_RPC, "the stream is broken");
	if (wire_write(st->conn, st->out + st->sent, st->len - st->sent) < 0 ||
		say(st, WIRE_OK) < 0)
		return -1;
	st->held = (struct wire_in){ NULL, NULL };
	for (;;) {
		int found = next_of_ours(st, &p);

		if (found < 0 || (!found && wire_wait(st->conn, POLLIN, deadline) < 0))
			return -1;
		if (found && p.status == WIRE_OK)
			return 0;
		if (found && p.status == WIRE_ERROR)
			return wire_fail_remote(p.payload);
	}
}

/* The connection is closed next, which aborts what was open on it. */
int virStreamAbort(virStreamPtr st)
{
	st->failed = true;
	return 0;
}

/* ---- the loop ---- */

int virStreamEventAddCallback(
	virStreamPtr st, int events, virStreamEventCallback cb, void *opaque, virFreeCallback ff)
{
	(void)ff;
	st->want = events;
	st->call = cb;
	st->data = opaque;
	watched = st;
	return 0;
}

int virStreamEventUpdateCallback(virStreamPtr st, int events)
{
	st->want = events;
	return 0;
}

int virStreamEventRemoveCallback(virStreamPtr st)
{
	if (watched == st)
		watched = NULL;
	return 0;
}

/* Something can be taken without reading. */
static bool has_bytes(virStreamPtr st)
{
	return st->held.at < st->held.end || st->ended || st->failed || wire_waits(st->conn);
}

struct wire_interest wire_stream_interest(void)
{
	struct wire_interest i = { .fd = -1 };

	if (!watched)
		return i;
	i.fd = watched->conn->fd;
	if (watched->want & VIR_STREAM_EVENT_READABLE) {
		i.events |= POLLIN;
		i.due = has_bytes(watched);
	}
	if (watched->want & VIR_STREAM_EVENT_WRITABLE || watched->sent < watched->len)
		i.events |= POLLOUT;
	return i;
}

void wire_stream_dispatch(short revents)
{
	virStreamPtr st = watched;
	int events = 0;

	if (!st)
		return;
	/* A packet that is half out is brought out, whoever waits for what. */
	if (revents & POLLOUT && flush(st) < 0)
		st->failed = true;
	if (st->want & VIR_STREAM_EVENT_READABLE && revents & POLLIN)
		events |= VIR_STREAM_EVENT_READABLE;
	if (st->want & VIR_STREAM_EVENT_WRITABLE && revents & POLLOUT && st->sent == st->len)
		events |= VIR_STREAM_EVENT_WRITABLE;
	if (revents & POLLHUP)
		events |= VIR_STREAM_EVENT_HANGUP;
	if (revents & (POLLERR | POLLNVAL))
		events |= VIR_STREAM_EVENT_ERROR;
	if (events)
		st->call(st, events, st->data);
}

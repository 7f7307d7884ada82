/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libvirt's daemon says to box-exec. The first byte is how the rest is taken: with bit 0, as answers to the calls
 * that enter a box, one after another; without, as a stream that is open, in pieces of the other bits' size.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 60000 }; /* what fits into a socket */

struct line {
	struct _virConnect conn;
	int daemon_end; /* -1: it has said all */
};

static void line_open(struct line *l)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	*l = (struct line){ .conn = { .fd = pair[0], .in = malloc(WIRE_PACKET_MAX) },
		.daemon_end = pair[1] };
	if (!l->conn.in)
		exit(1);
}

static void line_close(struct line *l)
{
	(void)close(l->conn.fd);
	(void)close(l->daemon_end);
	free(l->conn.in);
}

/* False: nobody takes it any more, and the socket is full. */
static bool say(struct line *l, const uint8_t *bytes, size_t len)
{
	ssize_t n = len ? send(l->daemon_end, bytes, len, MSG_DONTWAIT) : 0;

	if (n < 0 && errno != EAGAIN)
		exit(1);
	return n == (ssize_t)len;
}

/* A failure has words. */
static int checked(int result)
{
	if (result < 0 && (!virGetLastError() || !virGetLastError()->message))
		abort();
	return result;
}

/* ---- as answers ---- */

static void ask_of_domain(virDomainPtr dom)
{
	int state = 0, reason = 0;
	char *meta = virDomainGetMetadata(dom, VIR_DOMAIN_METADATA_ELEMENT, "urn:box:domain", 0);

	if (!meta)
		(void)checked(-1);
	free(meta);
	(void)checked(virDomainGetState(dom, &state, &reason, 0));
}

/* Until it ends. The end and a failure are for ever. */
static void drain(virStreamPtr st, size_t piece)
{
	char got[4096];
	int n;

	while ((n = checked(virStreamRecv(st, got, piece))) > 0)
		if ((size_t)n > piece)
			abort();
	if (n != -2 && virStreamRecv(st, got, piece) != n)
		abort();
}

static void open_and_drain(virDomainPtr dom)
{
	virStreamPtr st = virStreamNew(dom->conn, VIR_STREAM_NONBLOCK);

	if (!st)
		exit(1);
	if (checked(virDomainOpenChannel(dom, "box.agent.0", st, 0)) == 0) {
		(void)checked(virStreamSend(st, "hello", 5));
		drain(st, 100);
		(void)checked(virStreamFinish(st));
	}
	(void)virStreamFree(st);
}

static void as_answers(struct line *l, const uint8_t *data, size_t size)
{
	virDomainPtr dom;

	(void)say(l, data, size);
	(void)shutdown(l->daemon_end, SHUT_WR);
	(void)checked(wire_begin(&l->conn, "qemu:///system"));
	dom = virDomainLookupByName(&l->conn, "box");
	if (!dom) {
		(void)checked(-1);
		return;
	}
	ask_of_domain(dom);
	open_and_drain(dom);
	(void)virDomainFree(dom);
}

/* ---- as a stream, by the loop ---- */

static void on_stream(virStreamPtr st, int events, void *data)
{
	(void)data;
	if (!events)
		abort();
	drain(st, 7);
}

static void on_timer(int timer, void *data)
{
	(void)timer;
	(void)data;
}

static void turn(void)
{
	(void)checked(virEventRunDefaultImpl());
}

static void as_stream(struct line *l, const uint8_t *data, size_t size, size_t piece)
{
	struct _virDomain dom = { .conn = &l->conn, .name = (char *)"box" };
	virStreamPtr st = virStreamNew(&l->conn, VIR_STREAM_NONBLOCK);
	int timer = virEventAddTimeout(0, on_timer, NULL, NULL); /* no turn waits */
	uint8_t reply[WIRE_HEADER];

	wire_header(reply, WIRE_OPEN_CHANNEL, WIRE_REPLY, 1, WIRE_OK, 0);
	(void)say(l, reply, sizeof(reply));
	if (!st || timer < 0 || virDomainOpenChannel(&dom, "box.agent.0", st, 0) < 0 ||
		virStreamEventAddCallback(st, VIR_STREAM_EVENT_READABLE, on_stream, NULL, NULL) < 0)
		exit(1);
	for (size_t at = 0; at < size && say(l, data + at, MIN(piece, size - at)); at += piece)
		turn();
	(void)shutdown(l->daemon_end, SHUT_WR);
	turn();
	drain(st, sizeof(reply));
	(void)checked(virStreamFinish(st));
	(void)virStreamEventRemoveCallback(st);
	(void)virStreamFree(st);
	(void)virEventRemoveTimeout(timer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line l;

	if (!size || size > BYTES_MAX)
		return 0;
	line_open(&l);
	if (data[0] & 1)
		as_answers(&l, data + 1, size - 1);
	else
		as_stream(&l, data + 1, size - 1, (size_t)data[0] / 2 + 1);
	line_close(&l);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection to the daemon on this machine, its errors, and calls. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/wire.h"

/* Of the daemon for everything, and of the one for QEMU alone. */
static const char *const sockets[] = { "/run/libvirt/libvirt-sock", "/run/libvirt/virtqemud-sock" };

enum auth { AUTH_NONE = 0, AUTH_POLKIT = 2 };

/* ---- errors: the last one is the process's, as in the library it is the thread's ---- */

static char last_text[1024];
static virError last = { .message = last_text };

int wire_fail(int code, const char *text)
{
	last.code = code;
	(void)snprintf(last_text, sizeof(last_text), "%s", text);
	return -1;
}

int wire_fail_errno(const char *what)
{
	int errnum = errno;

	last.code = VIR_ERR_SYSTEM_ERROR;
	(void)snprintf(last_text, sizeof(last_text), "%s: %s", what, strerror(errnum));
	return -1;
}

int wire_fail_remote(struct wire_in in)
{
	uint32_t code, domain, has_text;
	const char *text = "";
	size_t len = 0;

	if (!wire_get_u32(&in, &code) || !wire_get_u32(&in, &domain) ||
		!wire_get_u32(&in, &has_text) || (has_text && !wire_get_text(&in, &text, &len)))
		return wire_fail(VIR_ERR_RPC, "an error of the daemon is cut");
	last.code = code ? (int)code : VIR_ERR_INTERNAL_ERROR; /* 0 would say that there is none */
	(void)snprintf(last_text, sizeof(last_text), "%.*s", (int)MIN(len, (size_t)1000), text);
	return -1;
}

virErrorPtr virGetLastError(void)
{
	return last.code ? &last : NULL;
}

void virSetErrorFunc(void *userData, virErrorFunc handler)
{
	(void)userData;
	(void)handler; /* nothing here makes noise */
}

/* ---- bytes ---- */

int wire_wait(virConnectPtr c, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = c->fd, .events = events };

	for (;;) {
		uint64_t now = clock_ms();
		int n = now >= deadline ? 0 : poll(&p, 1, (int)(deadline - now));

		if (n > 0)
			return 1;
		if (n < 0 && errno == EINTR)
			continue;
		c->broken = true;
		return n < 0 ? wire_fail_errno("cannot wait for the daemon")
			     : wire_fail(VIR_ERR_OPERATION_TIMEOUT, "the daemon does not answer");
	}
}

int wire_fill(virConnectPtr c)
{
	ssize_t n;

	if (c->broken)
		return wire_fail(VIR_ERR_RPC, "the connection to the daemon broke");
	/* What was handed out is left in place: moving is for the time when nobody looks at it. */
	if (c->start && !c->taken) {
		memmove(c->in, c->in + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	if (c->end == WIRE_PACKET_MAX)
		return 0;
	do
		n = recv(c->fd, c->in + c->end, WIRE_PACKET_MAX - c->end, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		c->broken = true;
		return n < 0 ? wire_fail_errno("cannot read from the daemon")
			     : wire_fail(VIR_ERR_RPC, "End of file while reading data");
	}
	c->end += (size_t)n;
	return 1;
}

int wire_write(virConnectPtr c, const uint8_t *bytes, size_t len)
{
	uint64_t deadline = clock_ms() + WIRE_CALL_MS;

	while (len) {
		ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			if (wire_wait(c, POLLOUT, deadline) < 0)
				return -1;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			c->broken = true;
			return wire_fail_errno("cannot write to the daemon");
		}
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* ---- calls ---- */

static int wait_reply(virConnectPtr c, enum wire_procedure procedure, struct wire_in *ret)
{
	uint64_t deadline = clock_ms() + WIRE_CALL_MS;
	struct wire_packet p;

	for (;;) {
		int found = wire_next(c, &p), filled;

		if (found < 0)
			return -1;
		if (!found) {
			filled = wire_fill(c);
			if (filled < 0 || (!filled && wire_wait(c, POLLIN, deadline) < 0))
				return -1;
			continue;
		}
		/* Others are events, or what is left of a stream that ended. */
		if (p.program == WIRE_PROGRAM && p.type == WIRE_REPLY && p.serial == c->serial)
			break;
	}
	if (p.procedure != (uint32_t)procedure || p.status > WIRE_ERROR)
		return wire_fail(VIR_ERR_RPC, "the daemon sent a reply to another question");
	if (p.status == WIRE_ERROR)
		return wire_fail_remote(p.payload);
	*ret = p.payload;
	return 0;
}

int wire_call(virConnectPtr c, enum wire_procedure procedure, const struct wire_out *args,
	struct wire_in *ret)
{
	uint8_t packet[WIRE_HEADER + WIRE_CALL_MAX];
	size_t len = args ? args->len : 0;

	if (len > WIRE_CALL_MAX)
		return wire_fail(VIR_ERR_INVALID_ARG, "an argument is too long");
	wire_header(packet, procedure, WIRE_CALL, ++c->serial, WIRE_OK, len);
	if (len)
		memcpy(packet + WIRE_HEADER, args->bytes, len);
	if (wire_write(c, packet, WIRE_HEADER + len) < 0)
		return -1;
	return wait_reply(c, procedure, ret);
}

/* ---- opening ---- */

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return wire_fail_errno("cannot make a socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return wire_fail_errno("Failed to connect socket");
	return fd_take(&fd);
}

/* The daemon offers what it wants of this user; root is asked for nothing. */
static int authenticate(virConnectPtr c)
{
	struct wire_in in;
	uint32_t count, first;

	if (wire_call(c, WIRE_AUTH_LIST, NULL, &in) < 0)
		return -1;
	if (!wire_get_u32(&in, &count))
		return wire_fail(VIR_ERR_RPC, "the daemon's answer is cut");
	if (!count)
		return 0;
	if (!wire_get_u32(&in, &first))
		return wire_fail(VIR_ERR_RPC, "the daemon's answer is cut");
	if (first == AUTH_NONE)
		return 0;
	if (first == AUTH_POLKIT)
		return wire_call(c, WIRE_AUTH_POLKIT, NULL, &in);
	return wire_fail(VIR_ERR_AUTH_UNAVAILABLE, "the daemon wants another authentication");
}

static int open_driver(virConnectPtr c, const char *uri)
{
	struct wire_out args = { .len = 0 };
	struct wire_in in;

	wire_put_optional(&args, uri);
	wire_put_u32(&args, 0);
	return wire_call(c, WIRE_CONNECT_OPEN, &args, &in);
}

int wire_begin(virConnectPtr c, const char *uri)
{
	return authenticate(c) < 0 ? -1 : open_driver(c, uri);
}

int virInitialize(void)
{
	return 0;
}

virConnectPtr virConnectOpen(const char *name)
{
	virConnectPtr c;

	if (strcmp(name, "qemu:///system") != 0) {
		wire_fail(VIR_ERR_NO_CONNECT, "only qemu:///system is known here");
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->in = malloc(WIRE_PACKET_MAX);
	if (!c || !c->in) {
		free(c);
		wire_fail(VIR_ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	c->fd = -1;
	for (size_t i = 0; i < ARRAY_LEN(sockets) && c->fd < 0; i++)
		c->fd = connect_to(sockets[i]);
	if (c->fd < 0 || wire_begin(c, name) < 0) {
		(void)virConnectClose(c);
		return NULL;
	}
	return c;
}

int virConnectClose(virConnectPtr c)
{
	cleanup_close_p(&c->fd);
	free(c->in);
	free(c);
	return 0;
}

int virConnectIsAlive(virConnectPtr c)
{
	return !c->broken;
}

char *virConnectGetURI(virConnectPtr c)
{
	(void)c;
	return strdup("qemu:///system");
}

/* No list of volumes is ever made here. */
int virStorageVolFree(virStorageVolPtr vol)
{
	(void)vol;
	return -1;
}

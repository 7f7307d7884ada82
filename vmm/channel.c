/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "vmm/virt.h"

struct channel {
	virStreamPtr stream; /* owned; NULL: fd is used */
	int fd; /* owned; -1: stream is used */
	int watch; /* of the fd; -1: none */
	bool watched; /* the stream has its callback */
	unsigned want, ready;
};

static void on_stream(virStreamPtr stream, int events, void *data)
{
	struct channel *c = data;

	(void)stream;
	if (events & (VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR))
		c->ready |= CHANNEL_READ;
	if (events & (VIR_STREAM_EVENT_WRITABLE | VIR_STREAM_EVENT_ERROR))
		c->ready |= CHANNEL_WRITE;
}

static void on_fd(int watch, int fd, int events, void *data)
{
	struct channel *c = data;

	(void)watch;
	(void)fd;
	if (events & (VIR_EVENT_HANDLE_READABLE | VIR_EVENT_HANDLE_HANGUP | VIR_EVENT_HANDLE_ERROR))
		c->ready |= CHANNEL_READ;
	if (events & (VIR_EVENT_HANDLE_WRITABLE | VIR_EVENT_HANDLE_ERROR))
		c->ready |= CHANNEL_WRITE;
}

static struct channel *channel_new(struct error *err)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c) {
		error_oom(err);
		return NULL;
	}
	c->fd = c->watch = -1;
	return c;
}

struct channel *channel_open_fd(int fd, struct error *err)
{
	_cleanup_(channel_close_p) struct channel *c = channel_new(err);

	if (!c) {
		(void)close(fd);
		return NULL;
	}
	c->fd = fd;
	if (fd_set_nonblock(fd, err) < 0)
		return NULL;
	c->watch = virEventAddHandle(fd, 0, on_fd, c, NULL);
	if (c->watch < 0) {
		(void)error_virt(err, "cannot watch a descriptor");
		return NULL;
	}
	return TAKE(c);
}

enum try { TRY_OPENED, TRY_IN_USE, TRY_ABSENT, TRY_FAILED };

/*
 * libvirt has one code for "in use" and others for the rest; only the first means "try the next". The name
 * is asked for beforehand: that call, like most, forgets the last error.
 */
static enum try try_port(virDomainPtr dom, struct channel *c, int port, struct error *err)
{
	_cleanup_(virStreamFree_p) virStreamPtr stream = NULL;
	const char *box = virDomainGetName(dom);
	char name[32];

	(void)snprintf(name, sizeof(name), "box.agent.%d", port);
	stream = virStreamNew(virDomainGetConnect(dom), VIR_STREAM_NONBLOCK);
	if (!stream) {
		(void)error_virt(err, "cannot make a stream");
		return TRY_FAILED;
	}
	if (virDomainOpenChannel(dom, name, stream, 0) == 0) {
		log_debug("box '%s': using port %s", box, name);
		c->stream = TAKE(stream);
		return TRY_OPENED;
	}
	switch (virt_last_code()) {
	case VIR_ERR_OPERATION_FAILED:
		return TRY_IN_USE;
	case VIR_ERR_INTERNAL_ERROR:
		return TRY_ABSENT;
	case VIR_ERR_OPERATION_INVALID:
		error_set(err, ERROR_UNREACHABLE,
			"box '%s' does not run; start it first: box start %s", box, box);
		return TRY_FAILED;
	default:
		(void)error_virt(err, "cannot reach the agent of box '%s'", box);
		return TRY_FAILED;
	}
}

static int open_port(virDomainPtr dom, struct channel *c, struct error *err)
{
	bool in_use = false;

	for (int port = 0; port < CHANNEL_PORTS; port++) {
		switch (try_port(dom, c, port, err)) {
		case TRY_OPENED:
			return 0;
		case TRY_FAILED:
			return -1;
		case TRY_IN_USE:
			in_use = true;
			break;
		case TRY_ABSENT:
			break;
		}
	}
	if (in_use)
		return error_set(err, ERROR_BUSY,
			"all ways into box '%s' are in use; end one of its sessions and try again",
			virDomainGetName(dom));
	return error_set(
		err, ERROR_NOT_FOUND, "box '%s' has no port for the agent", virDomainGetName(dom));
}

struct channel *channel_open(virDomainPtr dom, struct error *err)
{
	_cleanup_(channel_close_p) struct channel *c = channel_new(err);

	if (!c || open_port(dom, c, err) < 0)
		return NULL;
	if (virStreamEventAddCallback(c->stream, VIR_STREAM_EVENT_READABLE, on_stream, c, NULL) <
		0) {
		(void)error_virt(err, "cannot watch the stream to the box");
		return NULL;
	}
	c->watched = true;
	c->want = CHANNEL_READ;
	return TAKE(c);
}

void channel_close(struct channel *c)
{
	if (!c)
		return;
	if (c->watched)
		(void)virStreamEventRemoveCallback(c->stream);
	if (c->stream) {
		/* Whether it ended well does not matter any more: the session has said so itself. */
		if (virStreamFinish(c->stream) < 0)
			(void)virStreamAbort(c->stream);
		(void)virStreamFree(c->stream);
	}
	if (c->watch >= 0)
		(void)virEventRemoveHandle(c->watch);
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c);
}

static ssize_t fd_result(ssize_t n, struct error *err)
{
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return CHANNEL_AGAIN;
	error_errno(err, errno, "the stream to the box broke");
	err->kind = ERROR_UNREACHABLE;
	return CHANNEL_BROKEN;
}

static ssize_t stream_result(int n, struct error *err)
{
	if (n >= 0)
		return n;
	if (n == -2)
		return CHANNEL_AGAIN;
	(void)error_virt(err, "the stream to the box broke");
	err->kind = ERROR_UNREACHABLE;
	return CHANNEL_BROKEN;
}

ssize_t channel_recv(struct channel *c, void *into, size_t len, struct error *err)
{
	if (c->stream)
		return stream_result(virStreamRecv(c->stream, into, len), err);
	return fd_result(read(c->fd, into, len), err);
}

ssize_t channel_send(struct channel *c, const void *bytes, size_t len, struct error *err)
{
	if (c->stream)
		return stream_result(virStreamSend(c->stream, bytes, len), err);
	return fd_result(send(c->fd, bytes, len, MSG_NOSIGNAL), err);
}

static int stream_events(unsigned want)
{
	return (want & CHANNEL_READ ? VIR_STREAM_EVENT_READABLE : 0) |
	       (want & CHANNEL_WRITE ? VIR_STREAM_EVENT_WRITABLE : 0);
}

static int fd_events(unsigned want)
{
	return (want & CHANNEL_READ ? VIR_EVENT_HANDLE_READABLE : 0) |
	       (want & CHANNEL_WRITE ? VIR_EVENT_HANDLE_WRITABLE : 0);
}

int channel_want(struct channel *c, unsigned want, struct error *err)
{
	if (want == c->want)
		return 0;
	c->want = want;
	if (!c->stream)
		virEventUpdateHandle(c->watch, fd_events(want));
	else if (virStreamEventUpdateCallback(c->stream, stream_events(want)) < 0)
		return error_virt(err, "cannot watch the stream to the box");
	return 0;
}

unsigned channel_ready(struct channel *c)
{
	unsigned ready = c->ready;

	c->ready = 0;
	return ready;
}

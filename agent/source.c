/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/source.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP };

int source_open(struct source *s, int epoll, int fd, struct error *err)
{
	struct epoll_event event = { .events = EVENTS | EPOLLET, .data.ptr = s };

	*s = (struct source)SOURCE_NONE;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		error_errno(err, errno, "cannot watch descriptor %d", fd);
		(void)close(fd);
		return -1;
	}
	s->fd = fd;
	return 0;
}

void source_move(struct source *to, struct source *from, int epoll)
{
	struct epoll_event event = { .events = EVENTS | EPOLLET, .data.ptr = to };

	*to = *from;
	*from = (struct source)SOURCE_NONE;
	if (to->fd >= 0)
		(void)epoll_ctl(epoll, EPOLL_CTL_MOD, to->fd, &event);
}

void source_close(struct source *s, int epoll)
{
	if (s->fd < 0)
		return;
	/* A child between fork and exec may hold the same open file: close alone would not remove it. */
	(void)epoll_ctl(epoll, EPOLL_CTL_DEL, s->fd, NULL);
	(void)close(s->fd);
	*s = (struct source)SOURCE_NONE;
}

void source_event(struct source *s, uint32_t events)
{
	/* End and error are found by reading or writing, so they count as both. */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP | EPOLLERR))
		s->readable = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		s->writable = true;
	if (events & (EPOLLHUP | EPOLLERR))
		s->hangup = true;
}

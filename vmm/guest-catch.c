/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/guest-catch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/virt.h"

/* 1: some came; 0: nothing now, or the end. */
static int take(struct guest_catch *c)
{
	char buffer[4096];
	ssize_t n = read(c->fd, buffer, sizeof(buffer));
	size_t room = c->max - c->text.len;

	if (n <= 0)
		return 0;
	c->overflow |= (size_t)n > room;
	str_append_len(&c->text, buffer, MIN((size_t)n, room));
	return 1;
}

static void on_readable(int watch, int fd, int events, void *data)
{
	(void)fd;
	(void)events;
	if (!take(data))
		virEventUpdateHandle(watch, 0);
}

int guest_catch_open(struct guest_catch *c, size_t max, struct error *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot make a pipe");
	c->fd = pair[0];
	c->end = pair[1];
	c->max = max;
	if (fd_set_nonblock(c->fd, err) < 0)
		return -1;
	c->watch = virEventAddHandle(c->fd, VIR_EVENT_HANDLE_READABLE, on_readable, c, NULL);
	return c->watch < 0 ? error_virt(err, "cannot watch a descriptor") : 0;
}

void guest_catch_finish(struct guest_catch *c)
{
	/* A pipe holds so much and no more. */
	for (int i = 0; i < 1024 && take(c); i++)
		;
}

void guest_catch_words(const struct guest_catch *c, struct str *into)
{
	size_t len;

	for (const char *line = str_get(&c->text); *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		if (len && into->len)
			str_append(into, "; ");
		str_append_escaped(into, line, len, false);
	}
}

void guest_catch_done(struct guest_catch *c)
{
	if (c->watch >= 0)
		(void)virEventRemoveHandle(c->watch);
	cleanup_close_p(&c->fd);
	cleanup_close_p(&c->end);
	str_done(&c->text);
	*c = (struct guest_catch)GUEST_CATCH_INIT;
}

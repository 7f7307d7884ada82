/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box __drill-box NAME: make a throw-away box for a drill and keep it until standard input ends. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "cli/box-text.h"
#include "cli/drill-boxes.h"
#include "cli/interrupt.h"
#include "cli/making.h"
#include "vmm/door.h"
#include "vmm/network.h"
#include "vmm/new.h"
#include "vmm/remove.h"
#include "vmm/virt.h"

/* Of the sizes that the template says, so that it starts from the image's memory. */
static int make(struct session *s, const char *name, struct new_report *report, struct error *err)
{
	_cleanup_making_ struct making making = { 0 };

	if (making_open(s, MAKING_DEFAULT_TEMPLATE, NULL, &making, err) < 0)
		return -1;
	making.request.name = name;
	making.request.ephemeral = true;
	return making_run(s, &making, false, report, err);
}

/* A line for the drill. When it was killed nobody reads: an error, not our end, since the box has to go. */
PRINTF_LIKE(2, 3) static int say(struct error *err, const char *fmt, ...)
{
	_cleanup_str_ struct str line = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&line, fmt, ap);
	va_end(ap);
	str_append_char(&line, '\n');
	if (str_ok(&line, err) < 0)
		return -1;
	return fd_write_all(STDOUT_FILENO, line.data, line.len, "the drill", err);
}

/* ---- doors ---- */

/*
 * The box's doors become these: as vmm/door.h does it for boxes that nobody holds, without a journal,
 * since the box goes with us in each case.
 */
static int set_doors(
	struct session *s, struct box_hold *hold, const struct meta_door *door, struct error *err)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	struct box_hardware hardware;

	if (meta_copy(&hold->box.meta, &meta, err) < 0 ||
		box_hardware(&hold->box, &hardware, err) < 0)
		return -1;
	meta.doors.len = 0;
	if (door && meta_doors_push(&meta.doors, *door, err) < 0)
		return -1;
	if (box_save(&hold->box, &meta, err) < 0 || network_nudge(s->conn, hardware.mac, err) < 0)
		return -1;
	if (door && door_state(s->conn, &hold->box, door) == DOOR_SHUT)
		return error_set(err, ERROR_FAILED, "the host did not open 127.0.0.1:%u",
			(unsigned)door->host);
	return 0;
}

static int obey(struct session *s, struct box_hold *hold, const char *line, struct error *err)
{
	unsigned port = 0, host = 0;
	struct meta_door door;

	if (sscanf(line, "door %5u %5u", &port, &host) == 2 && port < 65536 && host < 65536) {
		door = (struct meta_door){ (uint16_t)port, (uint16_t)host };
		return set_doors(s, hold, &door, err);
	}
	if (str_starts(line, "shut "))
		return set_doors(s, hold, NULL, err);
	return error_set(err, ERROR_USAGE, "a keeper does not know '%.40s'", line);
}

static int answer(struct session *s, struct box_hold *hold, const char *line, struct error *err)
{
	struct error failed = { 0 };

	if (obey(s, hold, line, &failed) < 0)
		return say(err, "2 error %s", failed.text);
	return say(err, "2 ok");
}

/* Obey lines until input ends or we are interrupted. */
static int keep(struct session *s, struct box_hold *hold, struct error *err)
{
	char line[128];
	size_t len = 0;

	for (;;) {
		struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = interrupt_fd(), .events = POLLIN } };
		char c;

		if (poll(fds, ARRAY_LEN(fds), VIRT_ANSWER_MS) < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot wait for orders");
		virt_answer();
		if (fds[1].revents)
			return 0;
		if (!fds[0].revents)
			continue;
		if (read(STDIN_FILENO, &c, 1) != 1)
			return 0;
		if (c != '\n') {
			if (len < sizeof(line) - 1)
				line[len++] = c;
			continue;
		}
		line[len] = '\0';
		len = 0;
		if (answer(s, hold, line, err) < 0)
			return -1;
	}
}

int cmd_drill_box(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_new_report_ struct new_report report = { 0 };
	struct error removal = { 0 };
	int ret;

	if (say(err, DRILL_BOX_HELLO) < 0 || make(s, call->args[0], &report, err) < 0)
		return -1;
	ret = say(err, "1 ready");
	if (ret == 0)
		ret = keep(s, &report.hold, err);
	virt_interrupt_flag(NULL); /* the removal is to be finished, whatever ended us */
	if (box_discard(&report.hold, NULL, &removal) < 0) {
		if (ret == 0)
			*err = removal;
		ret = -1;
	}
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/drill-boxes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/interrupt.h"
#include "images/place.h"
#include "vmm/drill-claim.h"
#include "vmm/guest.h"
#include "vmm/lifecycle.h"

enum {
	REMOVE_MS =
		120000, /* for a keeper to remove its box: an emulated guest on a busy machine */
	DOOR_MS = 30000,
	INSTALL_MS = 60000,
};

static const char self[] = "/proc/self/exe";

void drill_boxes_init(struct drill_boxes *b, struct session *s)
{
	*b = (struct drill_boxes){
		.session = s,
		.keepers = { DRILL_LINK_INIT(DRILL_BOX_HELLO), DRILL_LINK_INIT(DRILL_BOX_HELLO) },
	};
	b->keepers[0].patience_ms = b->keepers[1].patience_ms = REMOVE_MS;
}

/* ---- keepers ---- */

static int start_keeper(struct drill_boxes *b, size_t which, struct error *err)
{
	const char *argv[8] = { self, "__drill-box", "--quiet" };
	size_t n = 3;
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	(void)snprintf(b->names[which], BOX_NAME_MAX, "drill-%08x", random);
	if (b->session->global.connect) {
		argv[n++] = "--connect";
		argv[n++] = b->session->global.connect;
	}
	argv[n] = b->names[which];
	b->own[which] = true;
	return drill_link_open(&b->keepers[which], argv, err);
}

static void on_line(size_t n, unsigned id, const char *text, void *data)
{
	struct drill_boxes *b = data;

	if (id == 1 && str_equal(text, "ready"))
		b->ready[n] = true;
	if (id == 2) {
		b->answered = true;
		(void)snprintf(b->answer, sizeof(b->answer), "%.290s", text);
	}
}

static struct drill_wait keeper_wait(struct drill_boxes *b)
{
	return (struct drill_wait){
		.links = b->keepers,
		.count = 2,
		.interrupt_fd = interrupt_fd(),
		.line = on_line,
		.data = b,
	};
}

/* A keeper's words about why it has no box, without the name in front that we shall print ourselves. */
static int keeper_failed(const struct drill_boxes *b, size_t which, struct error *err)
{
	const char *tail = b->keepers[which].tail;

	if (str_starts(tail, "box: "))
		tail += 5;
	return error_set(err, ERROR_FAILED, "the drill's %s could not be made: %s",
		drill_place_name((enum drill_place)which), *tail ? tail : "no reason was given");
}

static int await_boxes(struct drill_boxes *b, struct error *err)
{
	struct drill_wait wait = keeper_wait(b);
	uint64_t deadline = clock_ms() + LIFECYCLE_READY_MS;

	for (;;) {
		uint64_t now = clock_ms();
		bool all = true;

		for (size_t i = 0; i < 2; i++) {
			if (!b->own[i] || b->ready[i])
				continue;
			all = false;
			if (!drill_link_alive(&b->keepers[i]))
				return keeper_failed(b, i, err);
		}
		if (all)
			return 0;
		if (now >= deadline)
			return error_set(
				err, ERROR_TIMEOUT, "the drill's boxes do not become usable");
		if (drill_links_turn(&wait, (unsigned)(deadline - now), err) < 0)
			return -1;
	}
}

int drill_boxes_door(
	struct drill_boxes *b, bool open, uint16_t port, uint16_t host, struct error *err)
{
	struct drill_link *keeper = &b->keepers[DRILL_B];
	struct drill_wait wait = keeper_wait(b);
	uint64_t deadline = clock_ms() + DOOR_MS;

	b->answered = false;
	if (open)
		drill_link_send(keeper, "door %u %u", port, host);
	else
		drill_link_send(keeper, "shut %u", port);
	while (!b->answered) {
		uint64_t now = clock_ms();

		if (!drill_link_alive(keeper) || now >= deadline)
			return error_set(err, ERROR_FAILED, "the peer's keeper does not answer");
		if (drill_links_turn(&wait, (unsigned)(deadline - now), err) < 0)
			return -1;
	}
	if (str_equal(b->answer, "ok"))
		return 0;
	return error_set(err, ERROR_FAILED, "%s",
		str_starts(b->answer, "error ") ? b->answer + 6 : b->answer);
}

/* ---- the probe in a box ---- */

/* Run a command in the box as root, with this descriptor as its standard input (-1: none). */
static int run_in_box(
	struct drill_boxes *b, size_t which, const char *const *argv, int in, struct error *err)
{
	_cleanup_box_ struct box box = { 0 };
	_cleanup_(guest_close_p) struct guest *guest = NULL;
	const struct guest_wait wait = { .timeout_ms = INSTALL_MS, .interrupt_fd = 0 };
	struct guest_exec request = {
		.argv = argv,
		.cwd = "/",
		.timeout_ms = INSTALL_MS,
		.stdin_fd = in,
		.stdout_fd = -1,
		.stderr_fd = -1,
	};
	struct guest_result result;

	if (box_find(b->session->conn, b->names[which], &box, err) < 0)
		return -1;
	guest = guest_open(box.dom, &wait, err);
	if (!guest || guest_exec(guest, &request, &result, err) < 0)
		return -1;
	if (guest_result_status(&result) != 0)
		return error_set(err, ERROR_FAILED, "'%s' in box '%s' ended with status %d",
			argv[0], b->names[which], guest_result_status(&result));
	return 0;
}

static int install(struct drill_boxes *b, size_t which, struct error *err)
{
	const char *const argv[] = { "/usr/bin/install", "-m", "0700", "/dev/stdin", b->probe,
		NULL };
	_cleanup_free_ char *path = place_libexec("box-probe", err);
	_cleanup_close_ int fd = -1;

	if (!path)
		return -1;
	fd = file_open(AT_FDCWD, path, err);
	if (fd < 0)
		return error_wrap(err, "the probe");
	b->installed[which] = true; /* also when half of it is: it will be taken out */
	if (run_in_box(b, which, argv, fd, err) < 0)
		return error_wrap(err, "cannot put the probe into box '%s'", b->names[which]);
	return 0;
}

int drill_boxes_make(struct drill_boxes *b, const char *given, struct error *err)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return error_errno(err, errno, "cannot get random bytes");
	(void)snprintf(b->probe, sizeof(b->probe), "/tmp/box-probe-%08x", random);
	if (given)
		(void)snprintf(b->names[DRILL_A], BOX_NAME_MAX, "%s", given);
	else if (start_keeper(b, DRILL_A, err) < 0)
		return -1;
	if (start_keeper(b, DRILL_B, err) < 0 || await_boxes(b, err) < 0)
		return -1;
	return install(b, DRILL_A, err) < 0 || install(b, DRILL_B, err) < 0 ? -1 : 0;
}

void drill_boxes_argv(struct drill_boxes *b, size_t which, const char **argv)
{
	size_t n = 0;

	argv[n++] = self;
	argv[n++] = "exec";
	argv[n++] = "--user=root";
	if (b->session->global.connect) {
		argv[n++] = "--connect";
		argv[n++] = b->session->global.connect;
	}
	argv[n++] = b->names[which];
	argv[n++] = "--";
	argv[n++] = b->probe;
	argv[n++] = "serve";
	argv[n] = NULL;
}

/* ---- the end ---- */

/* Whether a box of this name is still there; what cannot be asked counts as there. */
static bool is_left(struct drill_boxes *b, size_t which)
{
	_cleanup_box_ struct box box = { 0 };
	struct error err = { 0 };

	return box_find(b->session->conn, b->names[which], &box, &err) == 0 ||
	       err.kind != ERROR_NOT_FOUND;
}

static void end_keeper(struct drill_boxes *b, size_t which)
{
	/* One that is still making its box does not look at its input: it is told to undo. */
	if (b->keepers[which].pid && !b->ready[which])
		(void)kill(b->keepers[which].pid, SIGTERM);
	/* All inputs end before the first end is waited for: both boxes go at the same time. */
	cleanup_close_p(&b->keepers[which].in);
	b->keepers[which].in = -1;
}

int drill_boxes_remove(struct drill_boxes *b, struct error *err)
{
	const char *const argv[] = { "/bin/rm", "-f", "--", b->probe, NULL };
	_cleanup_str_ struct str left = STR_INIT;

	for (size_t i = 0; i < 2; i++) {
		struct error failed = { 0 };

		if (b->own[i])
			end_keeper(b, i);
		else if (b->installed[i] && run_in_box(b, i, argv, -1, &failed) < 0)
			str_printf(&left, "; '%s' in box '%s' (%s)", b->probe, b->names[i],
				failed.text);
	}
	for (size_t i = 0; i < 2; i++) {
		drill_link_close(&b->keepers[i]);
		if (b->own[i] && is_left(b, i))
			str_printf(&left, "; box '%s' (to remove it: box rm --force %s)",
				b->names[i], b->names[i]);
	}
	if (!left.len)
		return 0;
	return error_set(err, ERROR_FAILED, "the drill left behind%s", str_get(&left) + 1);
}

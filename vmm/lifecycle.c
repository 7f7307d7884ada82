/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/lifecycle.h"

/* ---- waiting for a usable guest ---- */

/* What the guest is doing when the wait ends says more than the error alone. */
static int explain(struct box *box, struct error *err)
{
	enum box_state state = BOX_RUNNING;
	struct error ignored = { 0 };

	if (err->kind == ERROR_INTERRUPTED || box_get_state(box, &state, &ignored) < 0)
		return -1;
	if (state == BOX_STOPPED)
		return error_set(err, ERROR_FAILED,
			"box '%s' powered off or crashed while it was starting", box->name);
	if (state == BOX_PAUSED)
		return error_set(err, ERROR_NO_SPACE,
			"box '%s' was paused while it was starting: is the storage pool full?",
			box->name);
	if (err->kind == ERROR_TIMEOUT || err->kind == ERROR_UNREACHABLE)
		return error_wrap(err, "box '%s' runs, but did not become usable", box->name);
	return error_wrap(err, "box '%s' runs, but its first boot failed", box->name);
}

static int wait_once(struct box *box, const struct start_watch *watch, struct error *err)
{
	_cleanup_(guest_close_p) struct guest *guest = NULL;
	const char *user = *box->meta.user ? box->meta.user : NULL;
	struct guest_wait wait = {
		.timeout_ms = watch->ready_ms ? watch->ready_ms : LIFECYCLE_READY_MS,
		.interrupt_fd = watch->interrupt_fd,
	};

	guest = guest_open(box->dom, &wait, err);
	if (!guest)
		return -1;
	return guest_wait_ready(guest, user, &wait, watch->stage, watch->data, err);
}

/*
 * A time-out while the machine is fine is what people complain of most: one whose console has said
 * something since is slow, not stuck.
 */
static int wait_guest(struct box *box, const struct console *console,
	const struct start_watch *watch, struct error *err)
{
	uint64_t heard = console_bytes(console);
	int ret = wait_once(box, watch, err);

	for (int i = 1; ret < 0 && i < LIFECYCLE_READY_ROUNDS; i++) {
		if (err->kind != ERROR_TIMEOUT && err->kind != ERROR_UNREACHABLE)
			break;
		if (console_bytes(console) == heard)
			break;
		heard = console_bytes(console);
		error_clear(err);
		ret = wait_once(box, watch, err);
	}
	return ret;
}

int box_wait_usable(struct box *box, const struct console *console, const struct start_watch *watch,
	struct str *tail, struct error *err)
{
	if (wait_guest(box, console, watch, err) == 0)
		return 0;
	if (tail)
		console_tail(console, LIFECYCLE_TAIL_LINES, tail);
	return explain(box, err);
}

/* ---- start ---- */

struct starting {
	virConnectPtr conn;
	const struct start_watch *watch;
	struct str *tail;
	struct box_hold hold;
	struct console *console;
	bool was_running;
};

static void starting_done(struct starting *s)
{
	console_free(s->console);
	box_hold_done(&s->hold);
}

static int do_power_on(void *ctx, struct error *err)
{
	struct starting *s = ctx;
	enum box_state state = BOX_STOPPED;

	if (box_get_state(&s->hold.box, &state, err) < 0)
		return -1;
	s->was_running = state == BOX_RUNNING;
	if (power_on(s->conn, &s->hold.box, &s->console, err) < 0)
		return -1;
	/* others may use it, or stop it again, while we wait */
	lock_release(s->hold.lock);
	s->hold.lock = NULL;
	return 0;
}

static int do_ready(void *ctx, struct error *err)
{
	struct starting *s = ctx;

	if (s->was_running)
		return 0;
	return box_wait_usable(&s->hold.box, s->console, s->watch, s->tail, err);
}

static int start_held(struct starting *s, struct error *err)
{
	static const struct step steps[] = {
		{ "power", "starting", do_power_on, NULL },
		{ "ready", "waiting until it is usable", do_ready, NULL },
	};

	return steps_run("start", steps, ARRAY_LEN(steps), s, s->watch->observer, err);
}

int box_start(virConnectPtr conn, const char *name, const struct start_watch *watch,
	struct str *tail, bool *ret_changed, struct error *err)
{
	_cleanup_(starting_done) struct starting s = { .conn = conn, .watch = watch, .tail = tail };

	if (box_hold(conn, name, LOCK_WAIT_MS, &s.hold, err) < 0 || start_held(&s, err) < 0)
		return -1;
	if (ret_changed)
		*ret_changed = !s.was_running;
	return 0;
}

/* ---- down ---- */

static int down_held(struct box_hold *hold, const struct down_request *request, bool *ret_changed,
	struct error *err)
{
	uint64_t timeout = request->timeout_ms ? request->timeout_ms : POWER_DOWN_MS;
	enum box_state state = BOX_STOPPED;

	if (box_get_state(&hold->box, &state, err) < 0)
		return -1;
	if (ret_changed)
		*ret_changed = state != BOX_STOPPED;
	if (request->force)
		return power_off(&hold->box, err);
	return power_down(hold->conn, &hold->box, timeout, err);
}

struct downing {
	struct box_hold hold;
	const struct down_request *request;
	bool changed;
};

static int do_down(void *ctx, struct error *err)
{
	struct downing *d = ctx;

	return down_held(&d->hold, d->request, &d->changed, err);
}

static void downing_done(struct downing *d)
{
	box_hold_done(&d->hold);
}

int box_down(virConnectPtr conn, const char *name, const struct down_request *request,
	bool *ret_changed, struct error *err)
{
	static const struct step graceful = { "down", "shutting down", do_down, NULL };
	static const struct step forced = { "down", "powering off", do_down, NULL };
	_cleanup_(downing_done) struct downing d = { .request = request };

	if (box_hold(conn, name, LOCK_WAIT_MS, &d.hold, err) < 0 ||
		steps_run("down", request->force ? &forced : &graceful, 1, &d, request->observer,
			err) < 0)
		return -1;
	if (ret_changed)
		*ret_changed = d.changed;
	return 0;
}

/* ---- restart ---- */

static int do_down_first(void *ctx, struct error *err)
{
	static const struct down_request graceful = { 0 };
	struct starting *s = ctx;

	return down_held(&s->hold, &graceful, NULL, err);
}

int box_restart(virConnectPtr conn, const char *name, const struct start_watch *watch,
	struct str *tail, struct error *err)
{
	static const struct step steps[] = {
		{ "down", "shutting down", do_down_first, NULL },
		{ "power", "starting", do_power_on, NULL },
		{ "ready", "waiting until it is usable", do_ready, NULL },
	};
	_cleanup_(starting_done) struct starting s = { .conn = conn, .watch = watch, .tail = tail };

	if (box_hold(conn, name, LOCK_WAIT_MS, &s.hold, err) < 0)
		return -1;
	return steps_run("restart", steps, ARRAY_LEN(steps), &s, watch->observer, err);
}

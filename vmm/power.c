/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/power.h"

#include "base/clock.h"
#include "base/log.h"
#include "vmm/admission.h"

/* A power button that a guest has not seen (it was still booting) is pressed again after this. */
#define PRESS_AGAIN_MS 10000

/*
 * Start it; with its processors stopped when its console is to be followed from the beginning, or when it must be
 * seen first that it is guarded. *ret_paused: they are.
 */
static int start(struct box *box, bool with_console, bool *ret_paused, struct error *err)
{
	struct admission admission;

	if (admission_begin(box, &admission, err) < 0)
		return -1;
	*ret_paused = with_console || admission.asked;
	if (virDomainCreateWithFlags(box->dom, *ret_paused ? VIR_DOMAIN_START_PAUSED : 0) < 0)
		return error_virt(err, "cannot start box '%s'", box->name);
	if (admission_check(&admission, box, err) == 0)
		return 0;
	(void)virDomainDestroy(box->dom);
	return -1;
}

int power_on(virConnectPtr conn, struct box *box, struct console **ret_console, struct error *err)
{
	_cleanup_(console_free_p) struct console *console = NULL;
	enum box_state state = BOX_STOPPED;
	struct error ignored = { 0 };
	bool paused;

	(void)conn;
	if (box_get_state(box, &state, err) < 0)
		return -1;
	if (state == BOX_RUNNING) {
		if (ret_console)
			*ret_console = NULL;
		return 0;
	}
	paused = state == BOX_PAUSED;
	if (state == BOX_PAUSED && admission_standing(box, err) < 0)
		return -1;
	if (state == BOX_STOPPED && start(box, ret_console, &paused, err) < 0)
		return -1;
	if (ret_console) {
		console = console_follow(box->dom, &ignored);
		if (!console)
			log_debug("%s", ignored.text);
	}
	if (paused && virDomainResume(box->dom) < 0) {
		(void)error_virt(err, "cannot let box '%s' run", box->name);
		if (state == BOX_STOPPED)
			(void)virDomainDestroy(box->dom);
		return -1;
	}
	if (ret_console)
		*ret_console = TAKE(console);
	return 0;
}

int power_off(struct box *box, struct error *err)
{
	enum box_state state = BOX_STOPPED;

	if (virDomainDestroy(box->dom) < 0 && virt_last_code() != VIR_ERR_OPERATION_INVALID)
		return error_virt(err, "cannot power off box '%s'", box->name);
	if (box_get_state(box, &state, err) < 0)
		return -1;
	if (state != BOX_STOPPED)
		return error_set(err, ERROR_FAILED, "box '%s' is still %s after it was powered off",
			box->name, box_state_name(state));
	return 0;
}

/* ---- a graceful end ---- */

static int on_lifecycle(virConnectPtr conn, virDomainPtr dom, int event, int detail, void *opaque)
{
	bool *stopped = opaque;

	(void)conn;
	(void)dom;
	(void)detail;
	if (event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_CRASHED)
		*stopped = true;
	return 0;
}

static int press_button(struct box *box, struct error *err)
{
	enum box_state state = BOX_STOPPED;

	if (virDomainShutdown(box->dom) == 0)
		return 0;
	(void)error_virt(err, "cannot ask box '%s' to shut down", box->name);
	/* it may just have stopped by itself */
	if (box_get_state(box, &state, &(struct error){ 0 }) == 0 && state == BOX_STOPPED) {
		error_clear(err);
		return 0;
	}
	return -1;
}

/* Until *stopped, pressing the button now and then. 1, 0 for time ran out, -1. */
static int press_and_wait(virConnectPtr conn, struct box *box, const bool *stopped,
	uint64_t deadline, struct error *err)
{
	int done = 0;

	while (done == 0 && clock_ms() < deadline) {
		enum box_state state = BOX_RUNNING;

		if (press_button(box, err) < 0 || box_get_state(box, &state, err) < 0)
			return -1;
		if (state == BOX_STOPPED)
			return 1;
		done = virt_wait(conn, stopped, MIN(deadline, clock_ms() + PRESS_AGAIN_MS), err);
	}
	return done;
}

int power_down(virConnectPtr conn, struct box *box, uint64_t timeout_ms, struct error *err)
{
	uint64_t deadline = clock_ms() + timeout_ms;
	enum box_state state = BOX_STOPPED;
	bool stopped = false;
	int callback, done;

	if (box_get_state(box, &state, err) < 0)
		return -1;
	if (state == BOX_STOPPED)
		return 0;
	if (state == BOX_PAUSED && virDomainResume(box->dom) < 0)
		return error_virt(err,
			"cannot let box '%s', which is paused, run to shut down; pull the plug: box down "
			"--force %s",
			box->name, box->name);
	callback = virConnectDomainEventRegisterAny(conn, box->dom, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
		VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), &stopped, NULL);
	if (callback < 0)
		return error_virt(err, "cannot watch box '%s'", box->name);
	done = press_and_wait(conn, box, &stopped, deadline, err);
	(void)virConnectDomainEventDeregisterAny(conn, callback);
	if (done < 0)
		return -1;
	if (done == 0)
		return error_set(err, ERROR_TIMEOUT,
			"box '%s' did not shut down within %llu seconds; pull the plug: box down --force "
			"%s",
			box->name, (unsigned long long)(timeout_ms / 1000), box->name);
	return 0;
}

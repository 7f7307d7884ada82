/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of struct guest, for the files of vmm/guest-*.c alone. */
#ifndef VMM_GUEST_SESSION_H
#define VMM_GUEST_SESSION_H

#include "agent/frame-field.h"
#include "agent/frame.h"
#include "vmm/channel.h"
#include "vmm/guest.h"

struct guest {
	struct channel *channel; /* owned */
	struct frame_reader reader;
	struct frame_writer writer;
	uint8_t nonce[FRAME_NONCE_LEN];
	bool open; /* the greeting is done */
	bool ended; /* the guest's side of the stream has ended */
	unsigned resets; /* seen during the greeting */
	struct str message; /* being put together */
	uint8_t message_type; /* 0: none */
	uint64_t last_byte; /* when the guest sent something */
	int timer; /* of libvirt's loop; ends a turn */
	int interrupt_watch; /* -1: none */
	bool interrupted;
	bool frozen; /* between guest_freeze and guest_thaw */
};

/* How long a guest may stop within a frame; tests make it short. */
extern unsigned guest_stall_ms;

/* The deadline of a wait, and its interrupt descriptor watched; end with guest_wait_end. */
int guest_wait_begin(struct guest *g, const struct guest_wait *wait, uint64_t *ret_deadline,
	struct error *err) MUST_CHECK;
void guest_wait_end(struct guest *g);

/*
 * A session that has said HELLO, on a channel that is taken, also when this fails. It is open when guest_greet
 * has returned 1.
 */
struct guest *guest_begin(struct channel *channel, struct error *err) MUST_CHECK;

/*
 * One step of the greeting, which does not wait: 1 the agent has answered; 0 not yet, *ret_moved when more may be
 * there at once; -1 broken, or nonsense.
 */
int guest_greet(struct guest *g, bool *ret_moved, struct error *err) MUST_CHECK;

/* What the next turn of the loop should end for. */
int guest_want(struct guest *g, struct error *err) MUST_CHECK;

/* Move bytes between the channel and the buffers. 1: some moved; 0: none; -1: broken. */
int guest_pump(struct guest *g, struct error *err) MUST_CHECK;

/*
 * The next frame: 1, 0 none yet, -1. Frames that are not data are put together: *ret then has the whole
 * message as its payload, lent until the next call. A guest that greets again has lost the session.
 */
int guest_next(struct guest *g, struct frame *ret, struct error *err) MUST_CHECK;

/*
 * One turn of libvirt's loop, until something happens, at most until deadline (0: none). ERROR_INTERRUPTED
 * when the interrupt descriptor is readable, ERROR_INVALID when the guest stopped within a frame.
 */
int guest_turn(struct guest *g, uint64_t deadline, struct error *err) MUST_CHECK;

/* guest_pump, guest_next and guest_turn until there is a frame. ERROR_TIMEOUT at the deadline. */
int guest_await(
	struct guest *g, uint64_t deadline, struct frame *ret, struct error *err) MUST_CHECK;

/* Put a request of any length. The session must be idle: nothing but room can be missing (asserted). */
int guest_send(struct guest *g, enum frame_type type, const struct str *fields, uint64_t deadline,
	struct error *err) MUST_CHECK;

/* A REFUSED message as an error; *ret_reason and *ret_errno (0: none) may be wanted. Returns -1. */
int guest_refused(const struct frame *frame, enum refuse_reason *ret_reason, int *ret_errno,
	struct error *err);

/* "the agent of the box sent a STDERR frame, which nobody asked for". Returns -1. */
int guest_unexpected(const struct frame *frame, struct error *err);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/guest-session.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/virt.h"

unsigned guest_stall_ms = 30000;

enum {
	WAIT_DEFAULT_MS = 10000,
	RESETS_MAX = 100,
	MESSAGE_MAX = 1048576, /* from the guest */
};

static void on_timer(int timer, void *data)
{
	(void)data;
	virEventUpdateTimeout(timer, -1); /* once */
}

static void on_interrupt(int watch, int fd, int events, void *data)
{
	struct guest *g = data;

	(void)watch;
	(void)fd;
	(void)events;
	g->interrupted = true;
}

int guest_wait_begin(
	struct guest *g, const struct guest_wait *wait, uint64_t *ret_deadline, struct error *err)
{
	uint64_t ms = wait && wait->timeout_ms ? wait->timeout_ms : WAIT_DEFAULT_MS;

	if (wait && wait->interrupt_fd > 0) {
		g->interrupt_watch = virEventAddHandle(
			wait->interrupt_fd, VIR_EVENT_HANDLE_READABLE, on_interrupt, g, NULL);
		if (g->interrupt_watch < 0)
			return error_virt(err, "cannot watch for signals");
	}
	*ret_deadline = clock_ms() + ms;
	return 0;
}

void guest_wait_end(struct guest *g)
{
	if (g->interrupt_watch >= 0)
		(void)virEventRemoveHandle(g->interrupt_watch);
	g->interrupt_watch = -1;
	g->interrupted = false;
}

/* ---- bytes ---- */

static int pump_in(struct guest *g, struct error *err)
{
	size_t space;
	uint8_t *into = frame_reader_space(&g->reader, &space);
	ssize_t n = space && !g->ended ? channel_recv(g->channel, into, space, err) : CHANNEL_AGAIN;

	if (n == CHANNEL_BROKEN)
		return -1;
	if (n == CHANNEL_AGAIN)
		return 0;
	if (n == 0)
		g->ended = true;
	frame_reader_add(&g->reader, (size_t)n);
	g->last_byte = clock_ms();
	return 1;
}

static int pump_out(struct guest *g, struct error *err)
{
	size_t len;
	const uint8_t *bytes = frame_writer_pending(&g->writer, &len);
	ssize_t n = len ? channel_send(g->channel, bytes, len, err) : CHANNEL_AGAIN;

	if (n == CHANNEL_BROKEN)
		return -1;
	if (n == CHANNEL_AGAIN)
		return 0;
	frame_writer_sent(&g->writer, (size_t)n);
	return n > 0;
}

int guest_pump(struct guest *g, struct error *err)
{
	int in = pump_in(g, err), out;
	struct error broken = { 0 };

	if (in < 0)
		return -1;
	out = pump_out(g, &broken);
	/* What the guest said before it went away comes first: it may be how the command ended. */
	if (out >= 0 || in)
		return in || out > 0;
	*err = broken;
	return -1;
}

static uint64_t turn_deadline(const struct guest *g, uint64_t deadline)
{
	uint64_t stall = g->last_byte + guest_stall_ms;

	if (!frame_reader_partial(&g->reader))
		return deadline;
	return deadline && deadline < stall ? deadline : stall;
}

int guest_want(struct guest *g, struct error *err)
{
	size_t pending, space;

	(void)frame_writer_pending(&g->writer, &pending);
	(void)frame_reader_space(&g->reader, &space);
	return channel_want(
		g->channel, (space ? CHANNEL_READ : 0) | (pending ? CHANNEL_WRITE : 0), err);
}

int guest_turn(struct guest *g, uint64_t deadline, struct error *err)
{
	uint64_t now = clock_ms(), until = turn_deadline(g, deadline);

	if (g->ended)
		return error_set(err, ERROR_UNREACHABLE, "the box, or the agent in it, went away");
	if (frame_reader_partial(&g->reader) && now >= g->last_byte + guest_stall_ms)
		return error_set(err, ERROR_INVALID,
			"the agent of the box stopped in the middle of a frame");
	if (guest_want(g, err) < 0)
		return -1;
	virEventUpdateTimeout(g->timer, !until         ? -1
					: until <= now ? 0
						       : (int)MIN(until - now, (uint64_t)60000));
	if (virEventRunDefaultImpl() < 0)
		return error_virt(err, "cannot wait for libvirt's events");
	if (g->interrupted || virt_interrupted())
		return error_set(err, ERROR_INTERRUPTED, "interrupted");
	return 0;
}

/* ---- frames ---- */

static bool is_data(uint8_t type)
{
	return type == FRAME_STDOUT || type == FRAME_STDERR;
}

/* 1: the message is whole and in *frame; 0: it goes on. */
static int put_together(struct guest *g, struct frame *frame, struct error *err)
{
	if (!g->message_type)
		str_clear(&g->message);
	if (g->message_type && g->message_type != frame->type)
		return error_set(err, ERROR_INVALID,
			"the agent of the box sent a %s frame within a %s",
			frame_type_name(frame->type), frame_type_name(g->message_type));
	if (frame->len > MESSAGE_MAX - g->message.len)
		return error_set(err, ERROR_INVALID,
			"the agent of the box sent a %s of more than %d bytes",
			frame_type_name(frame->type), MESSAGE_MAX);
	str_append_len(&g->message, frame->payload, frame->len);
	if (str_ok(&g->message, err) < 0)
		return -1;
	g->message_type = frame->flags & FRAME_MORE ? frame->type : 0;
	frame->payload = (const uint8_t *)str_get(&g->message);
	frame->len = g->message.len;
	return !g->message_type;
}

int guest_next(struct guest *g, struct frame *ret, struct error *err)
{
	struct frame_greeting greeting;

	for (;;) {
		int event = frame_reader_next(&g->reader, ret, &greeting, err), whole;

		if (event < 0)
			return error_wrap(err, "the agent of the box sent nonsense");
		if (event == FRAME_NOTHING)
			return 0;
		if (event == FRAME_IS_GREETING)
			return error_set(err, ERROR_UNREACHABLE,
				"the session is lost: the agent in the box was started again");
		if (is_data(ret->type) && !g->message_type)
			return 1;
		whole = put_together(g, ret, err);
		if (whole)
			return whole;
	}
}

int guest_await(struct guest *g, uint64_t deadline, struct frame *ret, struct error *err)
{
	for (;;) {
		int found = guest_next(g, ret, err), moved;

		if (found)
			return found < 0 ? -1 : 0;
		moved = guest_pump(g, err);
		if (moved < 0)
			return -1;
		if (moved)
			continue;
		if (clock_ms() >= deadline)
			return error_set(
				err, ERROR_TIMEOUT, "the agent of the box did not answer in time");
		if (guest_turn(g, deadline, err) < 0)
			return -1;
	}
}

int guest_send(struct guest *g, enum frame_type type, const struct str *fields, uint64_t deadline,
	struct error *err)
{
	size_t at = 0;

	if (str_ok(fields, err) < 0)
		return -1;
	if (fields->len > FRAME_MESSAGE_MAX)
		return error_set(err, ERROR_INVALID,
			"arguments and environment of more than %d bytes", FRAME_MESSAGE_MAX);
	for (;;) {
		size_t room = MIN(frame_writer_room(&g->writer), fields->len - at);

		if (room || !fields->len) {
			frame_put(&g->writer, type, at + room < fields->len ? FRAME_MORE : 0,
				str_get(fields) + at, room);
			at += room;
		}
		if (at == fields->len)
			return 0;
		if (clock_ms() >= deadline)
			return error_set(
				err, ERROR_TIMEOUT, "the agent of the box takes no request");
		if (guest_pump(g, err) < 0)
			return -1;
		if (!frame_writer_room(&g->writer) && guest_turn(g, deadline, err) < 0)
			return -1;
	}
}

int guest_unexpected(const struct frame *frame, struct error *err)
{
	return error_set(err, ERROR_INVALID, "the agent of the box sent a %s frame, out of order",
		frame_type_name(frame->type));
}

int guest_refused(const struct frame *frame, enum refuse_reason *ret_reason, int *ret_errno,
	struct error *err)
{
	struct field_reader reader = { frame->payload, frame->payload + frame->len };
	_cleanup_str_ struct str text = STR_INIT;
	uint32_t reason = REFUSE_SYSTEM, errnum = 0;
	struct field f;
	int found;

	while ((found = field_next(&reader, &f, err)) > 0) {
		if (f.tag == FIELD_TEXT)
			str_append_escaped(&text, f.bytes, MIN(f.len, (size_t)500), false);
		else if (f.tag == FIELD_REASON && field_u32(&f, &reason, err) < 0)
			return -1;
		else if (f.tag == FIELD_ERRNO && field_u32(&f, &errnum, err) < 0)
			return -1;
	}
	if (found < 0)
		return -1;
	*ret_reason = reason < REFUSE_REASON_END ? (enum refuse_reason)reason : REFUSE_SYSTEM;
	*ret_errno = errnum < 4096 ? (int)errnum : EIO;
	return error_set(
		err, reason == REFUSE_USER ? ERROR_NOT_FOUND : ERROR_FAILED, "%s", str_get(&text));
}

/* ---- the greeting ---- */

static void say_hello(struct guest *g)
{
	struct frame_greeting hello = { .kind = FRAME_HELLO, .version = FRAME_VERSION };

	memcpy(hello.nonce, g->nonce, FRAME_NONCE_LEN);
	frame_put_greeting(&g->writer, &hello);
}

/* 1: it is our echo; 0: something else; -1. */
static int is_echo(struct guest *g, const struct frame_greeting *greeting, struct error *err)
{
	if (greeting->kind == FRAME_ECHO &&
		memcmp(greeting->nonce, g->nonce, FRAME_NONCE_LEN) == 0) {
		if (greeting->version != FRAME_VERSION)
			return error_set(err, ERROR_INVALID,
				"the agent of the box speaks version %u of the protocol, box speaks %d",
				greeting->version, FRAME_VERSION);
		return 1;
	}
	frame_reader_desync(&g->reader);
	if (greeting->kind != FRAME_RESET)
		return 0;
	if (++g->resets > RESETS_MAX)
		return error_set(err, ERROR_INVALID, "the agent of the box starts again and again");
	/* The agent may have started after our HELLO was lost with the one before. */
	if (frame_writer_can_answer(&g->writer))
		say_hello(g);
	return 0;
}

/* Look at what has come. 1: the echo is among it. */
static int find_echo(struct guest *g, struct error *err)
{
	struct frame_greeting greeting;
	struct frame frame;
	struct error ignored = { 0 };

	for (;;) {
		int event = frame_reader_next(&g->reader, &frame, &greeting, &ignored), echo;

		if (event == FRAME_NOTHING)
			return 0;
		if (event != FRAME_IS_GREETING) {
			frame_reader_desync(&g->reader);
			continue;
		}
		echo = is_echo(g, &greeting, err);
		if (echo)
			return echo;
	}
}

int guest_greet(struct guest *g, bool *ret_moved, struct error *err)
{
	int found = find_echo(g, err), moved;

	*ret_moved = false;
	if (found) {
		g->open = found > 0;
		return found;
	}
	moved = guest_pump(g, err);
	if (moved < 0)
		return -1;
	*ret_moved = moved > 0;
	g->last_byte = clock_ms(); /* what comes before the echo is not a frame */
	return 0;
}

static int shake_hands(struct guest *g, const struct guest_wait *wait, struct error *err)
{
	uint64_t begin = clock_ms(), deadline;
	bool moved;
	int found;

	if (guest_wait_begin(g, wait, &deadline, err) < 0)
		return -1;
	while ((found = guest_greet(g, &moved, err)) == 0) {
		if (clock_ms() >= deadline)
			return error_set(err, ERROR_UNREACHABLE,
				"the agent in the box has not answered for %u s",
				(unsigned)((clock_ms() - begin) / 1000));
		if (!moved && guest_turn(g, deadline, err) < 0)
			return -1;
	}
	guest_wait_end(g);
	return found < 0 ? -1 : 0;
}

struct guest *guest_begin(struct channel *channel, struct error *err)
{
	_cleanup_(guest_close_p) struct guest *g = calloc(1, sizeof(*g));

	if (!g) {
		channel_close(channel);
		error_oom(err);
		return NULL;
	}
	g->channel = channel;
	g->interrupt_watch = -1;
	g->timer = virEventAddTimeout(-1, on_timer, NULL, NULL);
	if (g->timer < 0) {
		(void)error_virt(err, "cannot set a timer");
		return NULL;
	}
	if (frame_reader_init(&g->reader, err) < 0 || frame_writer_init(&g->writer, err) < 0)
		return NULL;
	if (getrandom(g->nonce, sizeof(g->nonce), 0) != sizeof(g->nonce)) {
		error_errno(err, errno, "cannot get random bytes");
		return NULL;
	}
	say_hello(g);
	return TAKE(g);
}

static struct guest *guest_start(
	struct channel *channel, const struct guest_wait *wait, struct error *err)
{
	_cleanup_(guest_close_p) struct guest *g = guest_begin(channel, err);

	if (!g || shake_hands(g, wait, err) < 0)
		return NULL;
	return TAKE(g);
}

struct guest *guest_open(virDomainPtr dom, const struct guest_wait *wait, struct error *err)
{
	struct channel *channel = channel_open(dom, err);

	return channel ? guest_start(channel, wait, err) : NULL;
}

struct guest *guest_open_fd(int fd, const struct guest_wait *wait, struct error *err)
{
	struct channel *channel = channel_open_fd(fd, err);

	return channel ? guest_start(channel, wait, err) : NULL;
}

void guest_abandon(struct guest *g)
{
	g->interrupted = true;
}

void guest_close(struct guest *g)
{
	if (!g)
		return;
	guest_wait_end(g);
	if (g->timer >= 0)
		(void)virEventRemoveTimeout(g->timer);
	channel_close(g->channel);
	frame_reader_done(&g->reader);
	frame_writer_done(&g->writer);
	str_done(&g->message);
	free(g);
}

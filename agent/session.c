/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/identity.h"
#include "agent/info.h"
#include "base/fd.h"
#include "base/log.h"

enum { GONE_MS = 200, READ_MAX = 65536 };

static const struct frame_greeting reset = { .kind = FRAME_RESET, .version = FRAME_VERSION };

int session_open(
	struct session *s, struct agent *agent, int fd, const char *name, struct error *err)
{
	*s = (struct session){ .agent = agent, .port = SOURCE_NONE };
	memccpy(s->name, name, 0, sizeof(s->name) - 1);
	if (fd_set_nonblock(fd, err) < 0) {
		(void)close(fd);
		return -1;
	}
	if (source_open(&s->port, agent->epoll, fd, err) < 0)
		return -1;
	if (frame_reader_init(&s->reader, err) < 0 || frame_writer_init(&s->writer, err) < 0) {
		session_done(s);
		return -1;
	}
	frame_put_greeting(&s->writer, &reset);
	return 0;
}

static void drop_exec(struct session *s)
{
	struct process left;

	if (!s->exec)
		return;
	exec_drop(s->exec, s->agent->epoll, &left);
	agent_linger(s->agent, &left);
	free(s->exec);
	s->exec = NULL;
}

static void drop_worker(struct session *s)
{
	struct process left;

	if (!s->worker)
		return;
	worker_drop(s->worker, s->agent->epoll, &left);
	agent_linger(s->agent, &left);
	free(s->worker);
	s->worker = NULL;
}

/* OPEN to CLOSED. */
static void session_hang_up(struct session *s)
{
	drop_exec(s);
	drop_worker(s);
	str_done(&s->request);
	str_done(&s->reply);
	s->request_type = s->reply_type = 0;
	free(s->ready_user);
	s->ready_user = NULL;
	s->wants_stages = false;
	s->open = false;
	frame_writer_clear(&s->writer);
	frame_reader_desync(&s->reader);
}

void session_done(struct session *s)
{
	session_hang_up(s);
	source_close(&s->port, s->agent->epoll);
	frame_reader_done(&s->reader);
	frame_writer_done(&s->writer);
}

static void begin_reply(struct session *s, enum frame_type type)
{
	str_clear(&s->reply);
	s->reply_type = (uint8_t)type;
	s->reply_at = 0;
}

static void refuse(struct session *s, enum refuse_reason reason, int errnum, const char *text)
{
	begin_reply(s, FRAME_REFUSED);
	field_put_u32(&s->reply, FIELD_REASON, reason);
	if (errnum)
		field_put_u32(&s->reply, FIELD_ERRNO, (uint32_t)errnum);
	field_put_text(&s->reply, FIELD_TEXT, text);
}

/* ---- requests ---- */

static int request_exec(struct session *s, struct error *err)
{
	_cleanup_(exec_request_done) struct exec_request request = { 0 };
	enum refuse_reason reason;
	struct error why = { 0 };

	if (exec_request_read(str_get(&s->request), s->request.len, &request, err) < 0)
		return -1;
	s->exec = calloc(1, sizeof(*s->exec));
	if (!s->exec)
		return error_oom(err);
	if (exec_start(s->exec, &request, s->agent->epoll, s->agent->root, s->agent->program,
		    &reason, &why) < 0) {
		free(s->exec);
		s->exec = NULL;
		refuse(s, reason, 0, why.text);
	}
	return 0;
}

static int request_worker(struct session *s, worker_fn *run, struct error *err)
{
	s->worker = calloc(1, sizeof(*s->worker));
	if (!s->worker)
		return error_oom(err);
	if (worker_start(s->worker, run, s->agent->root, &s->request, s->agent->epoll, err) < 0) {
		free(s->worker);
		s->worker = NULL;
		refuse(s, REFUSE_SYSTEM, 0, err->text);
		error_clear(err);
	}
	return 0;
}

static int request_ready(struct session *s, struct error *err)
{
	const uint8_t *at = (const uint8_t *)str_get(&s->request);
	struct field_reader reader = { at, at + s->request.len };
	struct field f;
	int found;

	while ((found = field_next(&reader, &f, err)) > 0) {
		if (f.tag != FIELD_USER)
			continue;
		free(s->ready_user);
		s->ready_user = field_text(&f, err);
		if (!s->ready_user)
			return -1;
	}
	s->wants_stages = true;
	s->stage_seen = 0;
	return found;
}

static int request_ping(struct session *s, struct error *err)
{
	if (s->request.len > 64)
		return error_set(err, ERROR_INVALID, "a PING that is too long");
	frame_put(&s->writer, FRAME_PONG, 0, s->request.data, s->request.len);
	return 0;
}

static int request_do(struct session *s, struct error *err)
{
	switch (s->request_type) {
	case FRAME_EXEC:
		return request_exec(s, err);
	case FRAME_IDENTITY:
		return request_worker(s, worker_identity, err);
	case FRAME_FREEZE:
		return request_worker(s, worker_freeze, err);
	case FRAME_POWER:
		return request_worker(s, worker_power, err);
	case FRAME_READY:
		return request_ready(s, err);
	case FRAME_INFO:
		begin_reply(s, FRAME_ANSWER);
		info_put(s->agent->root, &s->agent->stages, &s->reply);
		return 0;
	default:
		return request_ping(s, err);
	}
}

/* One thing at a time: the host waits for the end of a request before it makes another. */
static bool is_busy(const struct session *s, uint8_t type)
{
	if (type == FRAME_PING || type == FRAME_INFO || type == FRAME_READY)
		return false;
	return s->exec || s->worker;
}

static int take_request(struct session *s, const struct frame *frame, struct error *err)
{
	int result;

	if (s->request_type && s->request_type != frame->type)
		return error_set(err, ERROR_INVALID, "a %s within a %s",
			frame_type_name(frame->type), frame_type_name(s->request_type));
	if (is_busy(s, frame->type))
		return error_set(err, ERROR_INVALID, "a %s while another request is under way",
			frame_type_name(frame->type));
	if (frame->len > FRAME_MESSAGE_MAX - s->request.len)
		return error_set(err, ERROR_INVALID, "a %s of more than %d bytes",
			frame_type_name(frame->type), FRAME_MESSAGE_MAX);
	s->request_type = frame->type;
	str_append_len(&s->request, frame->payload, frame->len);
	if (str_ok(&s->request, err) < 0)
		return -1;
	if (frame->flags & FRAME_MORE)
		return 0;
	result = request_do(s, err);
	s->request_type = 0;
	str_done(&s->request);
	return result;
}

static int session_frame(struct session *s, const struct frame *frame, struct error *err)
{
	switch (frame->type) {
	case FRAME_STDIN:
	case FRAME_EOF:
	case FRAME_CLOSE:
	case FRAME_CREDIT:
	case FRAME_SIGNAL:
	case FRAME_RESIZE:
		/* Without a command they are late ones, which crossed its EXIT. */
		return s->exec ? exec_frame(s->exec, frame, &s->writer, s->agent->epoll, err) : 0;
	case FRAME_THAW:
		if (s->worker)
			worker_finish(s->worker, s->agent->epoll);
		return 0;
	case FRAME_EXEC:
	case FRAME_READY:
	case FRAME_IDENTITY:
	case FRAME_FREEZE:
	case FRAME_INFO:
	case FRAME_POWER:
	case FRAME_PING:
		return take_request(s, frame, err);
	default:
		return error_set(err, ERROR_INVALID, "a %s frame from the host",
			frame_type_name(frame->type));
	}
}

/* ---- steps ---- */

static void session_greet(struct session *s, const struct frame_greeting *greeting)
{
	struct frame_greeting echo = *greeting;

	if (greeting->kind != FRAME_HELLO)
		return;
	if (s->open && memcmp(greeting->nonce, s->nonce, FRAME_NONCE_LEN) == 0)
		return; /* said again because of a RESET */
	session_hang_up(s);
	memcpy(s->nonce, greeting->nonce, FRAME_NONCE_LEN);
	s->reader.synced = true;
	s->open = true;
	s->absent = false;
	echo.kind = FRAME_ECHO;
	echo.version = MIN(greeting->version, (uint8_t)FRAME_VERSION);
	frame_put_greeting(&s->writer, &echo);
}

/* Tell the host what it did wrong, as far as the line takes it now, and drop the session. */
static void session_fail(struct session *s, const struct error *why)
{
	_cleanup_str_ struct str fields = STR_INIT;

	log_debug("session on '%s' dropped: %s", s->name, why->text);
	field_put_u32(&fields, FIELD_REASON, REFUSE_REQUEST);
	field_put_text(&fields, FIELD_TEXT, why->text);
	session_hang_up(s);
	if (!fields.failed)
		frame_put(&s->writer, FRAME_REFUSED, 0, fields.data, fields.len);
}

/* The end of what can be read: by a result of 0 or -1. True when the port is gone. */
static bool read_ended(struct session *s, ssize_t n)
{
	s->port.readable = false;
	if (n < 0 && errno == EAGAIN)
		return false;
	/* A virtio port stays and may get another host; a socket does not. */
	s->port.hangup = true;
	if (*s->name && n == 0)
		return false;
	session_hang_up(s);
	source_close(&s->port, s->agent->epoll);
	return true;
}

/* A virtio port gives a page a time: several make a turn worth its while. */
static bool step_read(struct session *s)
{
	size_t total = 0, space;

	while (s->port.readable && total < READ_MAX) {
		uint8_t *into = frame_reader_space(&s->reader, &space);
		ssize_t n = space ? read(s->port.fd, into, space) : 0;

		if (!space)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return read_ended(s, n) || total;
		frame_reader_add(&s->reader, (size_t)n);
		total += (size_t)n;
	}
	return total > 0;
}

/*
 * Asking takes what has come out of the kernel's queue, and its interrupt then wakes nobody: what is said
 * of bytes here is not said again.
 */
static bool host_is_there(struct session *s)
{
	struct pollfd p = { .fd = s->port.fd, .events = POLLIN };

	if (poll(&p, 1, 0) < 0)
		return false;
	if (p.revents & POLLIN)
		s->port.readable = true;
	return !(p.revents & POLLHUP);
}

/* The host's coming and going, as far as a virtio port tells it: see the header. */
static bool step_presence(struct session *s, uint64_t now)
{
	if (s->port.hangup && !s->gone_at && !s->absent)
		s->gone_at = now + GONE_MS;
	s->port.hangup = false;
	if (s->gone_at && now >= s->gone_at) {
		s->gone_at = 0;
		s->absent = !host_is_there(s);
		if (s->absent)
			session_hang_up(s);
		return true;
	}
	if (s->absent && (s->port.readable || s->port.writable) && host_is_there(s)) {
		s->absent = false;
		frame_put_greeting(&s->writer, &reset);
		return true;
	}
	return false;
}

static bool step_frames(struct session *s)
{
	bool progress = false;

	while (!s->reply_type && frame_writer_can_answer(&s->writer)) {
		struct frame_greeting greeting;
		struct error err = { 0 };
		struct frame frame;
		int event = frame_reader_next(&s->reader, &frame, &greeting, &err);

		if (event == FRAME_NOTHING)
			break;
		progress = true;
		if (event == FRAME_IS_GREETING)
			session_greet(s, &greeting);
		else if (!s->open)
			frame_reader_desync(&s->reader);
		else if (event < 0 || session_frame(s, &frame, &err) < 0)
			session_fail(s, &err);
	}
	return progress;
}

static void step_exec(struct session *s, uint64_t now, bool *progress)
{
	struct process_failure failure;

	if (!s->exec || s->reply_type)
		return;
	if (exec_step(s->exec, &s->writer, s->agent->epoll, now, progress) == EXEC_RUNS)
		return;
	failure = s->exec->failure;
	if (s->exec->failure_len)
		refuse(s, failure.reason < REFUSE_REASON_END ? failure.reason : REFUSE_SYSTEM,
			(int)failure.errnum, strerror((int)failure.errnum));
	drop_exec(s);
}

static void step_worker(struct session *s, bool *progress)
{
	enum worker_state state;

	if (!s->worker || s->reply_type)
		return;
	begin_reply(s, FRAME_ANSWER);
	state = worker_step(s->worker, s->agent->epoll, &s->reply);
	if (state == WORKER_BUSY)
		s->reply_type = 0;
	if (state == WORKER_BROKEN)
		refuse(s, REFUSE_SYSTEM, 0, "the request ended before its time");
	/* Before the host sees the last answer: it may make its next request at once. */
	if (state == WORKER_LAST_ANSWER || state == WORKER_BROKEN)
		drop_worker(s);
	*progress |= state != WORKER_BUSY;
}

static void step_stages(struct session *s, bool *progress)
{
	const struct stages *stages = &s->agent->stages;

	if (!s->wants_stages || s->reply_type || s->stage_seen == stages->serial)
		return;
	begin_reply(s, FRAME_STAGE);
	stages_put(stages, s->ready_user, &s->reply);
	s->stage_seen = stages->serial;
	s->wants_stages = stages->state == STAGE_RUNNING; /* the others are final */
	*progress = true;
}

static void step_reply(struct session *s, bool *progress)
{
	size_t left = s->reply.len - s->reply_at;
	size_t room = frame_writer_room(&s->writer);

	if (!s->reply_type || (room < left && room < 4096))
		return;
	room = MIN(room, left);
	frame_put(&s->writer, s->reply_type, room < left ? FRAME_MORE : 0,
		str_get(&s->reply) + s->reply_at, room);
	s->reply_at += room;
	*progress = true;
	if (s->reply_at == s->reply.len) {
		str_done(&s->reply);
		s->reply_type = 0;
	}
}

static bool step_write(struct session *s)
{
	size_t len;
	const uint8_t *bytes = frame_writer_pending(&s->writer, &len);
	ssize_t n;

	if (!len || !s->port.writable || s->port.fd < 0)
		return false;
	n = write(s->port.fd, bytes, len);
	if (n > 0) {
		frame_writer_sent(&s->writer, (size_t)n);
		return true;
	}
	s->port.writable = false;
	/* A broken pipe is found by reading. */
	if (n < 0 && errno != EAGAIN)
		s->port.readable = s->port.hangup = true;
	return n < 0 && errno != EAGAIN;
}

bool session_step(struct session *s, uint64_t now)
{
	bool progress = false;

	if (s->port.fd < 0)
		return false;
	progress |= step_read(s);
	if (s->port.fd < 0)
		return true;
	progress |= step_presence(s, now);
	progress |= step_frames(s);
	step_exec(s, now, &progress);
	step_worker(s, &progress);
	step_stages(s, &progress);
	step_reply(s, &progress);
	progress |= step_write(s);
	return progress;
}

uint64_t session_deadline(const struct session *s)
{
	return deadline_min(s->gone_at, s->exec ? exec_deadline(s->exec) : 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/frame-stream.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int frame_inlet_open(struct frame_inlet *in, enum frame_type stream, struct error *err)
{
	uint8_t *data = malloc(FRAME_WINDOW);

	if (!data)
		return error_oom(err);
	*in = (struct frame_inlet){ .stream = stream, .data = data, .granted = FRAME_WINDOW };
	return 0;
}

void frame_inlet_done(struct frame_inlet *in)
{
	free(in->data);
	*in = (struct frame_inlet){ 0 };
}

int frame_inlet_take(struct frame_inlet *in, const struct frame *frame, struct error *err)
{
	size_t tail, first;

	if (in->eof || !frame->len || frame->len > in->granted)
		return error_set(err, ERROR_INVALID, "%s data %s", frame_type_name(frame->type),
			in->eof      ? "after its end"
			: frame->len ? "beyond its credit"
				     : "of no length");
	in->granted -= (uint32_t)frame->len;
	if (in->closed || !in->data)
		return 0;
	/* granted + held + consumed = FRAME_WINDOW, so it fits. */
	tail = (in->head + in->len) % FRAME_WINDOW;
	first = MIN(frame->len, FRAME_WINDOW - tail);
	memcpy(in->data + tail, frame->payload, first);
	memcpy(in->data, frame->payload + first, frame->len - first);
	in->len += frame->len;
	return 0;
}

int frame_inlet_write(struct frame_inlet *in, int fd, size_t max)
{
	size_t len = MIN(in->len, max);
	size_t first = MIN(len, FRAME_WINDOW - in->head);
	struct iovec iov[2] = { { in->data + in->head, first }, { in->data, len - first } };
	ssize_t n;

	if (!len)
		return 0;
	do {
		n = writev(fd, iov, len > first ? 2 : 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	in->head = (in->head + (size_t)n) % FRAME_WINDOW;
	in->len -= (size_t)n;
	in->consumed += (uint32_t)n;
	return n > 0;
}

bool frame_inlet_finished(const struct frame_inlet *in)
{
	return !in->len && (in->eof || in->closed);
}

void frame_inlet_grant(struct frame_inlet *in, struct frame_writer *w)
{
	if (in->eof || in->closed || in->consumed < FRAME_WINDOW / 2 || !frame_writer_can_answer(w))
		return;
	frame_put_credit(w, in->stream, in->consumed);
	in->granted += in->consumed;
	in->consumed = 0;
}

void frame_inlet_close(struct frame_inlet *in, struct frame_writer *w)
{
	if (!in->closed && !in->eof)
		frame_put_stream(w, FRAME_CLOSE, in->stream);
	in->closed = true;
	in->len = 0;
}

void frame_outlet_open(struct frame_outlet *out, enum frame_type stream)
{
	*out = (struct frame_outlet){ .stream = stream, .credit = FRAME_WINDOW };
}

size_t frame_outlet_room(const struct frame_outlet *out, const struct frame_writer *w)
{
	return out->closed || out->eof ? 0 : MIN(frame_writer_room(w), (size_t)out->credit);
}

ssize_t frame_outlet_read(struct frame_outlet *out, struct frame_writer *w, int fd)
{
	size_t room = frame_outlet_room(out, w);
	ssize_t n;

	do {
		n = read(fd, frame_put_begin(w), room);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		frame_put_end(w, out->stream, 0, (size_t)n);
		out->credit -= (uint32_t)n;
	}
	return n;
}

void frame_outlet_eof(struct frame_outlet *out, struct frame_writer *w)
{
	if (!out->eof && !out->closed)
		frame_put_stream(w, FRAME_EOF, out->stream);
	out->eof = true;
}

int frame_outlet_credit(struct frame_outlet *out, uint32_t bytes, struct error *err)
{
	if (!bytes || bytes > FRAME_WINDOW || bytes > FRAME_WINDOW - out->credit)
		return error_set(err, ERROR_INVALID, "%s credit of %u bytes with %u left",
			frame_type_name(out->stream), bytes, out->credit);
	out->credit += bytes;
	return 0;
}

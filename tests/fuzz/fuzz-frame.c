/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame reader, which both ends have: bytes of a hostile guest or of a host that is another version. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/frame-field.h"
#include "agent/frame-stream.h"
#include "agent/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_fields(const struct frame *frame)
{
	struct field_reader r = { frame->payload, frame->payload + frame->len };
	struct error err = { 0 };
	struct field f;

	while (field_next(&r, &f, &err) > 0) {
		_cleanup_free_ char *text = field_text(&f, &err);
		uint32_t number;

		if (text && strlen(text) != f.len)
			abort();
		(void)!field_u32(&f, &number, &err);
	}
}

static void look_at(const struct frame *frame, struct frame_inlet *in)
{
	struct error err = { 0 };

	if (frame->len > FRAME_PAYLOAD_MAX || !frame->type || frame->type >= FRAME_TYPE_END ||
		memmem(frame->payload, frame->len, frame_mark, FRAME_MARK_LEN))
		abort();
	if (frame->type == FRAME_STDOUT)
		(void)!frame_inlet_take(in, frame, &err);
	if (in->len > FRAME_WINDOW)
		abort();
	look_at_fields(frame);
}

/* The first byte says in which pieces the rest arrives. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size ? data[0] + 1u : 1, at = 1;
	struct frame_inlet in = { 0 };
	struct frame_reader r = { 0 };
	struct error err = { 0 };

	if (frame_reader_init(&r, &err) < 0 || frame_inlet_open(&in, FRAME_STDOUT, &err) < 0)
		exit(1);
	while (at < size) {
		struct frame_greeting greeting;
		struct frame frame;
		size_t space, n;
		uint8_t *into = frame_reader_space(&r, &space);
		int event;

		if (space < 32768)
			abort(); /* it was emptied: there is room for more */
		n = MIN(MIN(piece, size - at), space);
		memcpy(into, data + at, n);
		frame_reader_add(&r, n);
		at += n;
		while ((event = frame_reader_next(&r, &frame, &greeting, &err)) != FRAME_NOTHING) {
			if (event == FRAME_IS_FRAME)
				look_at(&frame, &in);
			else if (event == FRAME_IS_GREETING && greeting.kind > FRAME_RESET)
				abort();
		}
	}
	frame_reader_done(&r);
	frame_inlet_done(&in);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two ends of a flow-controlled stream inside a session, the same code on host and guest: an
 * inlet takes data frames and feeds a descriptor, an outlet reads a descriptor and makes data frames.
 * Neither ever blocks: descriptors are non-blocking, or the caller says how much may be moved.
 *
 * Life of a stream: data*, then EOF by its sender; or CLOSE by its receiver at any time, after which
 * data that was under way is dropped.
 */
#ifndef AGENT_FRAME_STREAM_H
#define AGENT_FRAME_STREAM_H

#include "agent/frame.h"

struct frame_inlet {
	enum frame_type stream;
	uint8_t *data; /* owned ring of FRAME_WINDOW bytes; NULL: not open, data is dropped */
	size_t head, len; /* first byte, bytes held */
	uint32_t granted; /* bytes the sender may still send */
	uint32_t consumed; /* bytes taken since the last grant */
	bool eof; /* the sender has said EOF */
	bool closed; /* we said CLOSE: what comes is dropped */
};

int frame_inlet_open(struct frame_inlet *in, enum frame_type stream, struct error *err) MUST_CHECK;
void frame_inlet_done(struct frame_inlet *in); /* zeroed is fine */

/* Take a data frame. ERROR_INVALID when the sender has no credit for it, or has said EOF before. */
int frame_inlet_take(
	struct frame_inlet *in, const struct frame *frame, struct error *err) MUST_CHECK;

/*
 * Write to fd what is held, at most max bytes in one write. Returns 1 when something was written, 0
 * when nothing could be (empty, or fd would block), -1 with errno when fd is broken (EPIPE ...).
 */
int frame_inlet_write(struct frame_inlet *in, int fd, size_t max) MUST_CHECK;

/* Nothing is held and nothing more will come. */
bool frame_inlet_finished(const struct frame_inlet *in);

/* Renew the sender's credit if half the window has been consumed. */
void frame_inlet_grant(struct frame_inlet *in, struct frame_writer *w);

/* Say CLOSE, once, and drop what is held and what comes. */
void frame_inlet_close(struct frame_inlet *in, struct frame_writer *w);

struct frame_outlet {
	enum frame_type stream;
	uint32_t credit; /* bytes that may be sent */
	bool eof; /* we said EOF */
	bool closed; /* the receiver said CLOSE: nothing is sent any more */
};

void frame_outlet_open(struct frame_outlet *out, enum frame_type stream);

/* How many bytes may be put into a data frame now: credit, room in the writer, not closed. */
size_t frame_outlet_room(const struct frame_outlet *out, const struct frame_writer *w);

/*
 * Read once from fd (at most frame_outlet_room, which must not be 0) into a data frame. Returns the
 * bytes, 0 at end of file, -1 with errno. At end of file nothing is put: see frame_outlet_eof.
 */
ssize_t frame_outlet_read(struct frame_outlet *out, struct frame_writer *w, int fd) MUST_CHECK;

/* Say EOF, once; nothing if the receiver has closed. */
void frame_outlet_eof(struct frame_outlet *out, struct frame_writer *w);

/* A CREDIT frame arrived. ERROR_INVALID when it grants nothing or more than a window. */
int frame_outlet_credit(struct frame_outlet *out, uint32_t bytes, struct error *err) MUST_CHECK;

#endif

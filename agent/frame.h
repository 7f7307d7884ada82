/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire format between the host and the guest agent: what both ends share.
 *
 * A session is a byte stream in each direction (a virtio-serial port; in tests a socket pair). It
 * starts with a greeting record:
 *
 *	mark[16] kind[1] version[1] zero[2] nonce[32] crc32[4]
 *
 * and goes on with frames:
 *
 *	type[1] flags[1] zero[2] length[4, little-endian] payload[length]
 *
 * THE MARK NEVER OCCURS INSIDE A FRAME. Writers split a payload that contains it, so that a header
 * lies between its halves; a header cannot contain it or a part of it that matters, since the bytes
 * of the mark are all above 0x7f and type, flags and the upper half of a length are below. So a
 * reader that meets the mark knows, in whatever state it is and however far inside a truncated
 * frame, that the other end has started afresh. That is the whole of resynchronisation:
 *
 *	host	sends HELLO with 32 random bytes and discards everything until the ECHO of them;
 *	guest	discards everything until a HELLO, hangs up what ran before, and echoes it. A HELLO
 *		with the nonce of the session that is open already is ignored;
 *	guest	sends RESET when it opens a port. A host that waits for its echo says HELLO again, a host
 *		in a session knows that the session is lost (the agent was restarted).
 *
 * Flow control: a stream (stdin, stdout, stderr) starts with a credit of FRAME_WINDOW bytes, data
 * frames use it up, WINDOW frames renew it as the receiver's end consumer takes the data. A receiver
 * needs one buffer of FRAME_WINDOW bytes a stream, and a slow stream never holds up another.
 *
 * Version 1 is all there is. HELLO carries the host's version; the guest answers with the lower of
 * the two, and the host decides whether that will do.
 */
#ifndef AGENT_FRAME_H
#define AGENT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	FRAME_VERSION = 1,
	FRAME_HEADER_LEN = 8,
	FRAME_PAYLOAD_MAX = 65536,
	FRAME_MARK_LEN = 16,
	FRAME_NONCE_LEN = 32,
	FRAME_GREETING_LEN = 56,
	FRAME_WINDOW = 262144, /* bytes of a stream under way at most */
	FRAME_MESSAGE_MAX = 4194304, /* bytes of a message in several frames (EXEC with its argv) */
};

/* Frames. H: sent by the host, G: by the guest. "fields" is the encoding of agent/frame-field.h. */
enum frame_type {
	FRAME_EXEC = 1, /* H fields: start a command; one at a time in a session */
	FRAME_SIGNAL, /* H u8 signal number: to the command's process group or terminal */
	FRAME_RESIZE, /* H u16 rows, u16 columns */
	FRAME_READY, /* H fields: report first-boot stages from now on */
	FRAME_IDENTITY, /* H fields: take this identity */
	FRAME_FREEZE, /* H fields: quiesce the file systems, thaw by itself after a time */
	FRAME_THAW, /* H */
	FRAME_INFO, /* H */
	FRAME_POWER, /* H fields: power off or reboot in an orderly way */
	FRAME_PING, /* H up to 64 bytes */
	FRAME_STDIN = 16, /* H data */
	FRAME_STDOUT, /* G data */
	FRAME_STDERR, /* G data */
	FRAME_EOF, /* H G u8 stream: its sender has no more data */
	FRAME_CLOSE, /* H G u8 stream: its receiver wants no more data */
	FRAME_CREDIT, /* H G u8 stream, u32 bytes: that many more may be sent */
	FRAME_STARTED = 32, /* G u32 process id: the command runs (its exec succeeded) */
	FRAME_EXIT, /* G u8 kind (enum frame_exit), u8 status or signal number, u8 timed out */
	FRAME_REFUSED, /* G fields: the request was not carried out */
	FRAME_STAGE, /* G fields: a first-boot stage */
	FRAME_ANSWER, /* G fields: the result of IDENTITY, FREEZE, THAW, INFO, POWER */
	FRAME_PONG, /* G the bytes of the PING */
	FRAME_TYPE_END,
};

enum frame_flag { FRAME_MORE = 1 /* the message goes on in the next frame of this type */ };

/* How a command ended. */
enum frame_exit { FRAME_EXITED, FRAME_SIGNALLED };

enum frame_greeting_kind { FRAME_HELLO = 1, FRAME_ECHO, FRAME_RESET };

struct frame_greeting {
	uint8_t kind; /* enum frame_greeting_kind */
	uint8_t version;
	uint8_t nonce[FRAME_NONCE_LEN]; /* zeros in a RESET */
};

struct frame {
	uint8_t type; /* enum frame_type: 1 to FRAME_TYPE_END - 1, gaps included */
	uint8_t flags;
	const uint8_t *payload; /* lent by the reader until its next call */
	size_t len;
};

/* ---- reading ---- */

struct frame_reader {
	uint8_t *data; /* owned */
	size_t start, end; /* unread bytes */
	size_t scanned; /* no mark begins before this offset */
	bool synced; /* a greeting was met: frames are looked at */
};

enum frame_event {
	FRAME_NOTHING, /* more bytes are needed */
	FRAME_IS_FRAME,
	FRAME_IS_GREETING, /* what came before it was discarded */
};

int frame_reader_init(struct frame_reader *r, struct error *err) MUST_CHECK;
void frame_reader_done(struct frame_reader *r); /* zeroed is fine */

/* Where to put the next bytes: at least 32 KiB, if frame_reader_next was called until nothing. */
uint8_t *frame_reader_space(struct frame_reader *r, size_t *ret_len);
void frame_reader_add(struct frame_reader *r, size_t len);

/*
 * The next thing in the buffer. Returns an enum frame_event, or -1 with ERROR_INVALID for a header
 * that cannot be (unknown type or flags, too long): the reader has then lost synchronisation and
 * waits for a greeting.
 */
int frame_reader_next(struct frame_reader *r, struct frame *ret,
	struct frame_greeting *ret_greeting, struct error *err) MUST_CHECK;

/* Discard from here to the next greeting: the one met was not the one wanted. */
void frame_reader_desync(struct frame_reader *r);

/* A frame has begun and is not complete. */
bool frame_reader_partial(const struct frame_reader *r);

/* ---- writing ---- */

struct frame_writer {
	uint8_t *data; /* owned */
	size_t start, end; /* bytes to be sent */
};

int frame_writer_init(struct frame_writer *w, struct error *err) MUST_CHECK;
void frame_writer_done(struct frame_writer *w); /* zeroed is fine */
void frame_writer_clear(struct frame_writer *w); /* forget what was not sent */

/* How long the payload of one frame may be now; less than FRAME_PAYLOAD_MAX when it is filling up. */
size_t frame_writer_room(const struct frame_writer *w);

/*
 * Room for control frames is kept back from data: true when frames of up to 1 KiB can be put. An end
 * that stops reading frames while this is false can always answer those it reads.
 */
bool frame_writer_can_answer(const struct frame_writer *w);

/* Put a frame; len must fit in frame_writer_room (asserted). */
void frame_put(struct frame_writer *w, enum frame_type type, unsigned flags, const void *payload,
	size_t len);

/* In place: bytes are written to frame_put_begin's pointer (at most frame_writer_room), then ended. */
uint8_t *frame_put_begin(struct frame_writer *w);
void frame_put_end(struct frame_writer *w, enum frame_type type, unsigned flags, size_t len);

/* u8 stream (an enum frame_type of data) and, for CREDIT, the bytes granted. */
void frame_put_stream(struct frame_writer *w, enum frame_type type, enum frame_type stream);
void frame_put_credit(struct frame_writer *w, enum frame_type stream, uint32_t bytes);

void frame_put_greeting(struct frame_writer *w, const struct frame_greeting *greeting);

/* What is to be sent, lent until the next put. */
const uint8_t *frame_writer_pending(const struct frame_writer *w, size_t *ret_len);
void frame_writer_sent(struct frame_writer *w, size_t len);

/* ---- numbers, little-endian ---- */

uint16_t frame_get_u16(const uint8_t *p);
uint32_t frame_get_u32(const uint8_t *p);
void frame_set_u16(uint8_t *p, uint16_t value);
void frame_set_u32(uint8_t *p, uint32_t value);

/* For messages: "stdout", "EXEC", ...; "type 99" is never needed since readers refuse those. */
const char *frame_type_name(unsigned type);

/* The mark, for tests and fuzzing. */
extern const uint8_t frame_mark[FRAME_MARK_LEN];

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: the reader keeps one flat buffer. Every byte is looked at once for the mark, before frames
 * are cut from what is there, so that a greeting is found even behind a header that promised more
 * bytes than ever came. Invariants: start <= end; no mark begins in [start, scanned); while the reader
 * is not synced, it keeps no more than the last FRAME_MARK_LEN - 1 bytes.
 */
#include "agent/frame.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	READER_CAP = 2 * FRAME_PAYLOAD_MAX + 32768,
	READER_SPACE = 32768, /* what frame_reader_space promises */
	WRITER_CAP = 4 * FRAME_PAYLOAD_MAX,
	WRITER_RESERVE = 16384, /* kept back for control frames */
};

/* Random bytes above 0x7f; the first occurs once, so that the mark does not overlap itself. */
const uint8_t frame_mark[FRAME_MARK_LEN] = { 0xb0, 0xc5, 0xe1, 0x9d, 0xf7, 0x88, 0xda, 0xa3, 0x96,
	0xee, 0x81, 0xcb, 0xfd, 0xa9, 0x92, 0xd4 };

uint16_t frame_get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t frame_get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void frame_set_u16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
}

void frame_set_u32(uint8_t *p, uint32_t value)
{
	frame_set_u16(p, (uint16_t)value);
	frame_set_u16(p + 2, (uint16_t)(value >> 16));
}

static const char *const type_names[FRAME_TYPE_END] = {
	[FRAME_EXEC] = "EXEC",
	[FRAME_SIGNAL] = "SIGNAL",
	[FRAME_RESIZE] = "RESIZE",
	[FRAME_READY] = "READY",
	[FRAME_IDENTITY] = "IDENTITY",
	[FRAME_FREEZE] = "FREEZE",
	[FRAME_THAW] = "THAW",
	[FRAME_INFO] = "INFO",
	[FRAME_POWER] = "POWER",
	[FRAME_PING] = "PING",
	[FRAME_STDIN] = "stdin",
	[FRAME_STDOUT] = "stdout",
	[FRAME_STDERR] = "stderr",
	[FRAME_EOF] = "EOF",
	[FRAME_CLOSE] = "CLOSE",
	[FRAME_CREDIT] = "CREDIT",
	[FRAME_STARTED] = "STARTED",
	[FRAME_EXIT] = "EXIT",
	[FRAME_REFUSED] = "REFUSED",
	[FRAME_STAGE] = "STAGE",
	[FRAME_ANSWER] = "ANSWER",
	[FRAME_PONG] = "PONG",
};

const char *frame_type_name(unsigned type)
{
	return type < FRAME_TYPE_END && type_names[type] ? type_names[type] : "unknown";
}

/* CRC-32 (IEEE 802.3), bit by bit: it runs over 52 bytes a session. */
static uint32_t crc32(const uint8_t *p, size_t len)
{
	uint32_t crc = 0xffffffff;

	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/*
 * A buffer that takes memory page by page. Huge pages are what Debian's kernels give to a mapping of so many
 * adjacent buffers, and then those of the agent's idle ports take 4 MiB of each box.
 */
static uint8_t *buffer_new(size_t size)
{
	uint8_t *data = malloc(size);
	size_t within = (uintptr_t)data % (size_t)sysconf(_SC_PAGESIZE);

	if (data)
		(void)madvise(data - within, size + within, MADV_NOHUGEPAGE); /* no condition */
	return data;
}

int frame_reader_init(struct frame_reader *r, struct error *err)
{
	uint8_t *data = buffer_new(READER_CAP);

	if (!data)
		return error_oom(err);
	*r = (struct frame_reader){ .data = data };
	return 0;
}

void frame_reader_done(struct frame_reader *r)
{
	free(r->data);
	*r = (struct frame_reader){ 0 };
}

uint8_t *frame_reader_space(struct frame_reader *r, size_t *ret_len)
{
	if (r->start == r->end) {
		r->start = r->end = r->scanned = 0;
	} else if (READER_CAP - r->end < READER_SPACE) {
		memmove(r->data, r->data + r->start, r->end - r->start);
		r->scanned -= r->start;
		r->end -= r->start;
		r->start = 0;
	}
	*ret_len = READER_CAP - r->end;
	return r->data + r->end;
}

void frame_reader_add(struct frame_reader *r, size_t len)
{
	assert(len <= READER_CAP - r->end);
	r->end += len;
}

void frame_reader_desync(struct frame_reader *r)
{
	r->synced = false;
}

bool frame_reader_partial(const struct frame_reader *r)
{
	return r->start < r->end;
}

/* The offset of the first mark, or of a beginning of one at the very end; r->end when there is none. */
static size_t find_mark(const struct frame_reader *r)
{
	size_t at = r->scanned;

	while (at < r->end) {
		const uint8_t *hit = memchr(r->data + at, frame_mark[0], r->end - at);
		if (!hit)
			return r->end;
		at = (size_t)(hit - r->data);
		if (memcmp(hit, frame_mark, MIN(r->end - at, (size_t)FRAME_MARK_LEN)) == 0)
			return at;
		at++;
	}
	return r->end;
}

static bool greeting_read(const uint8_t *p, struct frame_greeting *ret)
{
	const uint8_t *body = p + FRAME_MARK_LEN;

	if (frame_get_u32(p + FRAME_GREETING_LEN - 4) != crc32(p, FRAME_GREETING_LEN - 4))
		return false;
	if (body[0] < FRAME_HELLO || body[0] > FRAME_RESET || !body[1] || body[2] || body[3])
		return false;
	*ret = (struct frame_greeting){ .kind = body[0], .version = body[1] };
	memcpy(ret->nonce, body + 4, FRAME_NONCE_LEN);
	return true;
}

/*
 * Look for a greeting in the bytes not yet scanned. 1: it is in *ret, and consumed with all before it;
 * 0: none so far.
 */
static int reader_greeting(struct frame_reader *r, struct frame_greeting *ret)
{
	for (;;) {
		size_t at = find_mark(r);
		size_t left = r->end - at;

		r->scanned = at;
		if (!r->synced || left >= FRAME_MARK_LEN)
			r->start = MAX(r->start, at);
		if (left < FRAME_GREETING_LEN)
			return 0;
		if (greeting_read(r->data + at, ret)) {
			r->start = r->scanned = at + FRAME_GREETING_LEN;
			r->synced = true;
			return 1;
		}
		/* A mark and no greeting: the other end vanished within it. */
		r->synced = false;
		r->start = r->scanned = at + 1;
	}
}

static int frame_cut(struct frame_reader *r, struct frame *ret, struct error *err)
{
	const uint8_t *p = r->data + r->start;
	size_t have = r->end - r->start;
	uint32_t len;

	if (have < FRAME_HEADER_LEN)
		return FRAME_NOTHING;
	len = frame_get_u32(p + 4);
	if (p[0] >= FRAME_TYPE_END || !type_names[p[0]] || p[1] > FRAME_MORE || p[2] || p[3] ||
		len > FRAME_PAYLOAD_MAX) {
		r->synced = false;
		return error_set(err, ERROR_INVALID,
			"a malformed frame (type %u, flags %u, length %u)", p[0], p[1], len);
	}
	if (have < FRAME_HEADER_LEN + len)
		return FRAME_NOTHING;
	*ret = (struct frame){
		.type = p[0], .flags = p[1], .payload = p + FRAME_HEADER_LEN, .len = len
	};
	r->start += FRAME_HEADER_LEN + len;
	r->scanned = MAX(r->scanned, r->start);
	return FRAME_IS_FRAME;
}

int frame_reader_next(struct frame_reader *r, struct frame *ret,
	struct frame_greeting *ret_greeting, struct error *err)
{
	if (reader_greeting(r, ret_greeting))
		return FRAME_IS_GREETING;
	/* What may be a mark at the start is a greeting that is still arriving: no type begins so. */
	if (!r->synced || (r->scanned == r->start && r->start < r->end))
		return FRAME_NOTHING;
	return frame_cut(r, ret, err);
}

int frame_writer_init(struct frame_writer *w, struct error *err)
{
	uint8_t *data = buffer_new(WRITER_CAP);

	if (!data)
		return error_oom(err);
	*w = (struct frame_writer){ .data = data };
	return 0;
}

void frame_writer_done(struct frame_writer *w)
{
	free(w->data);
	*w = (struct frame_writer){ 0 };
}

void frame_writer_clear(struct frame_writer *w)
{
	w->start = w->end = 0;
}

static size_t writer_free(const struct frame_writer *w)
{
	return WRITER_CAP - (w->end - w->start);
}

/* A payload made of marks alone grows by half: a header of 8 bytes for each 16. */
size_t frame_writer_room(const struct frame_writer *w)
{
	size_t left = writer_free(w);

	if (left < WRITER_RESERVE + 2 * FRAME_HEADER_LEN)
		return 0;
	left -= WRITER_RESERVE + 2 * FRAME_HEADER_LEN;
	return MIN(left / 3 * 2, (size_t)FRAME_PAYLOAD_MAX);
}

bool frame_writer_can_answer(const struct frame_writer *w)
{
	return writer_free(w) >= 4096;
}

uint8_t *frame_put_begin(struct frame_writer *w)
{
	if (w->start && WRITER_CAP - w->end < 2 * FRAME_PAYLOAD_MAX) {
		memmove(w->data, w->data + w->start, w->end - w->start);
		w->end -= w->start;
		w->start = 0;
	}
	return w->data + w->end + FRAME_HEADER_LEN;
}

static void header_put(struct frame_writer *w, enum frame_type type, unsigned flags, size_t len)
{
	uint8_t *p = w->data + w->end;

	p[0] = (uint8_t)type;
	p[1] = (uint8_t)flags;
	p[2] = p[3] = 0;
	frame_set_u32(p + 4, (uint32_t)len);
	w->end += FRAME_HEADER_LEN + len;
}

void frame_put_end(struct frame_writer *w, enum frame_type type, unsigned flags, size_t len)
{
	enum { HALF = FRAME_MARK_LEN / 2 };

	assert(len <= FRAME_PAYLOAD_MAX);
	for (;;) {
		uint8_t *payload = w->data + w->end + FRAME_HEADER_LEN;
		const uint8_t *hit = memmem(payload, len, frame_mark, FRAME_MARK_LEN);
		size_t first = hit ? (size_t)(hit - payload) + HALF : len;

		assert(w->end + FRAME_HEADER_LEN + len <= WRITER_CAP);
		if (hit)
			memmove(payload + first + FRAME_HEADER_LEN, payload + first, len - first);
		header_put(w, type, hit ? flags | FRAME_MORE : flags, first);
		if (!hit)
			return;
		len -= first;
	}
}

void frame_put(struct frame_writer *w, enum frame_type type, unsigned flags, const void *payload,
	size_t len)
{
	uint8_t *into = frame_put_begin(w);

	assert(len <= 64 || len <= frame_writer_room(w) + WRITER_RESERVE / 2);
	if (len)
		memcpy(into, payload, len);
	frame_put_end(w, type, flags, len);
}

void frame_put_stream(struct frame_writer *w, enum frame_type type, enum frame_type stream)
{
	frame_put(w, type, 0, &(uint8_t){ (uint8_t)stream }, 1);
}

void frame_put_credit(struct frame_writer *w, enum frame_type stream, uint32_t bytes)
{
	uint8_t payload[5] = { (uint8_t)stream };

	frame_set_u32(payload + 1, bytes);
	frame_put(w, FRAME_CREDIT, 0, payload, sizeof(payload));
}

void frame_put_greeting(struct frame_writer *w, const struct frame_greeting *greeting)
{
	uint8_t *p = frame_put_begin(w) - FRAME_HEADER_LEN;

	assert(writer_free(w) >= FRAME_GREETING_LEN);
	memcpy(p, frame_mark, FRAME_MARK_LEN);
	p[16] = greeting->kind;
	p[17] = greeting->version;
	p[18] = p[19] = 0;
	memcpy(p + 20, greeting->nonce, FRAME_NONCE_LEN);
	frame_set_u32(p + FRAME_GREETING_LEN - 4, crc32(p, FRAME_GREETING_LEN - 4));
	w->end += FRAME_GREETING_LEN;
}

const uint8_t *frame_writer_pending(const struct frame_writer *w, size_t *ret_len)
{
	*ret_len = w->end - w->start;
	return w->data + w->start;
}

void frame_writer_sent(struct frame_writer *w, size_t len)
{
	assert(len <= w->end - w->start);
	w->start += len;
	if (w->start == w->end)
		w->start = w->end = 0;
}

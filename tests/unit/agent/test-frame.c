/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/frame-field.h"
#include "agent/frame-stream.h"
#include "agent/frame.h"

struct ends {
	struct frame_writer w;
	struct frame_reader r;
};

static int setup(void **state)
{
	static struct ends ends;
	struct error err = { 0 };

	assert_ok(frame_writer_init(&ends.w, &err), &err);
	assert_ok(frame_reader_init(&ends.r, &err), &err);
	*state = &ends;
	return 0;
}

static int teardown(void **state)
{
	struct ends *e = *state;

	frame_writer_done(&e->w);
	frame_reader_done(&e->r);
	return 0;
}

static void feed(struct frame_reader *r, const void *bytes, size_t len)
{
	size_t space;
	uint8_t *into = frame_reader_space(r, &space);

	assert_true(len <= space);
	memcpy(into, bytes, len);
	frame_reader_add(r, len);
}

/* Everything that is written, in pieces of at most step bytes. Returns how many bytes there were. */
static size_t carry(struct ends *e, size_t step)
{
	size_t len;
	const uint8_t *bytes = frame_writer_pending(&e->w, &len);
	size_t n = MIN(step, len);

	if (n) {
		feed(&e->r, bytes, n);
		frame_writer_sent(&e->w, n);
	}
	return n;
}

static int next(struct ends *e, struct frame *frame)
{
	struct frame_greeting greeting;
	struct error err = { 0 };
	int event = frame_reader_next(&e->r, frame, &greeting, &err);

	assert_true(event >= 0);
	return event;
}

static void greet(struct ends *e, uint8_t kind, uint8_t fill)
{
	struct frame_greeting greeting = { .kind = kind, .version = 1 };

	memset(greeting.nonce, fill, sizeof(greeting.nonce));
	frame_put_greeting(&e->w, &greeting);
}

static void expect_greeting(struct ends *e, uint8_t fill)
{
	struct frame_greeting greeting;
	struct frame frame;
	struct error err = { 0 };

	assert_int_equal(frame_reader_next(&e->r, &frame, &greeting, &err), FRAME_IS_GREETING);
	assert_int_equal(greeting.kind, FRAME_HELLO);
	assert_int_equal(greeting.nonce[31], fill);
}

static void open_session(struct ends *e)
{
	greet(e, FRAME_HELLO, 1);
	(void)carry(e, SIZE_MAX);
	expect_greeting(e, 1);
}

static void test_frames_of_every_length(void **state)
{
	static uint8_t payload[FRAME_PAYLOAD_MAX];
	struct ends *e = *state;
	const size_t lengths[] = { 0, 1, 7, 8, 4095, 4096, 65535, 65536 };
	struct frame frame;

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 31);
	open_session(e);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		frame_put(&e->w, FRAME_STDOUT, 0, payload, lengths[i]);
		while (carry(e, 30000))
			;
		assert_int_equal(next(e, &frame), FRAME_IS_FRAME);
		assert_int_equal(frame.type, FRAME_STDOUT);
		assert_int_equal(frame.len, lengths[i]);
		assert_memory_equal(frame.payload, payload, lengths[i]);
		assert_int_equal(next(e, &frame), FRAME_NOTHING);
	}
}

/* A payload made to look like greetings arrives, and is no greeting on the way. */
static void test_mark_in_a_payload(void **state)
{
	static uint8_t payload[FRAME_PAYLOAD_MAX], got[FRAME_PAYLOAD_MAX];
	struct ends *e = *state;
	struct frame frame;
	size_t have = 0, splits = 0;

	for (size_t i = 0; i + FRAME_MARK_LEN <= sizeof(payload); i += FRAME_MARK_LEN)
		memcpy(payload + i, frame_mark, FRAME_MARK_LEN);
	open_session(e);
	assert_int_equal(frame_writer_room(&e->w), FRAME_PAYLOAD_MAX);
	frame_put(&e->w, FRAME_STDIN, 0, payload, sizeof(payload));
	while (carry(e, 999)) {
		while (next(e, &frame) == FRAME_IS_FRAME) {
			memcpy(got + have, frame.payload, frame.len);
			have += frame.len;
			splits++;
			assert_int_equal(frame.flags, have < sizeof(payload) ? FRAME_MORE : 0);
		}
	}
	assert_int_equal(have, sizeof(payload));
	assert_memory_equal(got, payload, sizeof(payload));
	assert_int_equal(splits, FRAME_PAYLOAD_MAX / FRAME_MARK_LEN + 1);
}

/* The heart of it: a host that vanished after any number of bytes does not spoil the next session. */
static void test_greeting_after_a_cut_anywhere(void **state)
{
	struct ends *e = *state;
	uint8_t payload[300];
	struct frame frame;

	memset(payload, 0xb0, sizeof(payload)); /* the first byte of the mark, to make it harder */
	for (size_t cut = 0; cut < 2 * FRAME_GREETING_LEN + 700; cut++) {
		frame_writer_clear(&e->w);
		greet(e, FRAME_HELLO, 1);
		frame_put(&e->w, FRAME_STDIN, 0, payload, sizeof(payload));
		greet(e, FRAME_HELLO, 2);
		frame_put(&e->w, FRAME_STDIN, 0, payload, sizeof(payload));
		(void)carry(e, cut);
		while (next(e, &frame) != FRAME_NOTHING)
			;
		frame_writer_clear(&e->w);
		greet(e, FRAME_HELLO, 3);
		frame_put(&e->w, FRAME_PING, 0, "after", 5);
		while (carry(e, 50))
			;
		/* A whole greeting of before may still be there. */
		for (int greetings = 0; greetings < 3; greetings++) {
			struct frame_greeting greeting;
			struct error err = { 0 };
			int event;

			do {
				event = frame_reader_next(&e->r, &frame, &greeting, &err);
			} while (event == FRAME_IS_FRAME);
			assert_int_equal(event, FRAME_IS_GREETING);
			if (greeting.nonce[0] == 3)
				break;
		}
		assert_int_equal(next(e, &frame), FRAME_IS_FRAME);
		assert_int_equal(frame.type, FRAME_PING);
		assert_memory_equal(frame.payload, "after", 5);
		assert_int_equal(next(e, &frame), FRAME_NOTHING);
	}
}

static void test_nothing_before_a_greeting(void **state)
{
	struct ends *e = *state;
	struct frame frame;

	frame_put(&e->w, FRAME_PING, 0, "early", 5);
	(void)carry(e, SIZE_MAX);
	assert_int_equal(next(e, &frame), FRAME_NOTHING);
	/* Endless noise needs no memory. */
	for (int i = 0; i < 1000; i++) {
		uint8_t noise[30000];

		memset(noise, i, sizeof(noise));
		feed(&e->r, noise, sizeof(noise));
		assert_int_equal(next(e, &frame), FRAME_NOTHING);
	}
	open_session(e);
}

static void test_bad_headers(void **state)
{
	static const uint8_t bad[][FRAME_HEADER_LEN] = {
		{ 0, 0, 0, 0, 0, 0, 0, 0 },
		{ 15, 0, 0, 0, 0, 0, 0, 0 },
		{ FRAME_TYPE_END, 0, 0, 0, 0, 0, 0, 0 },
		{ 255, 0, 0, 0, 0, 0, 0, 0 },
		{ FRAME_STDOUT, 2, 0, 0, 1, 0, 0, 0 },
		{ FRAME_STDOUT, 0, 1, 0, 1, 0, 0, 0 },
		{ FRAME_STDOUT, 0, 0, 1, 1, 0, 0, 0 },
		{ FRAME_STDOUT, 0, 0, 0, 1, 0, 1, 0 },
		{ FRAME_STDOUT, 0, 0, 0, 0, 0, 0, 0x80 },
	};
	struct ends *e = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct frame_greeting greeting;
		struct error err = { 0 };
		struct frame frame;

		open_session(e);
		feed(&e->r, bad[i], sizeof(bad[i]));
		assert_int_equal(frame_reader_next(&e->r, &frame, &greeting, &err), -1);
		assert_error(&err, ERROR_INVALID, "a malformed frame");
		/* Then it waits for a greeting. */
		assert_int_equal(next(e, &frame), FRAME_NOTHING);
	}
}

static void test_greeting_with_a_wrong_sum(void **state)
{
	struct ends *e = *state;
	struct frame frame;
	uint8_t record[FRAME_GREETING_LEN];
	size_t len;

	greet(e, FRAME_HELLO, 9);
	memcpy(record, frame_writer_pending(&e->w, &len), sizeof(record));
	assert_int_equal(len, sizeof(record));
	record[30] ^= 1;
	feed(&e->r, record, sizeof(record));
	assert_int_equal(next(e, &frame), FRAME_NOTHING);
	(void)carry(e, SIZE_MAX);
	expect_greeting(e, 9);
}

static void test_writer_keeps_room_for_answers(void **state)
{
	static uint8_t payload[FRAME_PAYLOAD_MAX];
	struct ends *e = *state;
	size_t room, frames = 0;

	while ((room = frame_writer_room(&e->w)) > 0) {
		frame_put(&e->w, FRAME_STDOUT, 0, payload, room);
		frames++;
	}
	assert_in_range(frames, 3, 100);
	assert_true(frame_writer_can_answer(&e->w));
	for (int i = 0; i < 100; i++)
		frame_put_credit(&e->w, FRAME_STDIN, 1);
}

/* ---- streams ---- */

static struct frame data_frame(const void *bytes, size_t len)
{
	return (struct frame){ .type = FRAME_STDOUT, .payload = bytes, .len = len };
}

static void test_inlet_and_credit(void **state)
{
	static uint8_t bytes[FRAME_PAYLOAD_MAX];
	struct ends *e = *state;
	struct frame_inlet in = { 0 };
	struct frame frame = data_frame(bytes, sizeof(bytes));
	struct error err = { 0 };
	int sink = open("/dev/null", O_WRONLY | O_CLOEXEC);

	assert_ok(frame_inlet_open(&in, FRAME_STDOUT, &err), &err);
	for (size_t i = 0; i < FRAME_WINDOW / sizeof(bytes); i++)
		assert_ok(frame_inlet_take(&in, &frame, &err), &err);
	frame.len = 1;
	assert_int_equal(frame_inlet_take(&in, &frame, &err), -1);
	assert_error(&err, ERROR_INVALID, "stdout data beyond its credit");
	/* Less than half consumed: no grant yet. */
	assert_int_equal(frame_inlet_write(&in, sink, FRAME_WINDOW / 2 - 1), 1);
	frame_inlet_grant(&in, &e->w);
	assert_int_equal(in.granted, 0);
	assert_int_equal(frame_inlet_write(&in, sink, 1), 1);
	frame_inlet_grant(&in, &e->w);
	assert_int_equal(in.granted, FRAME_WINDOW / 2);
	assert_ok(frame_inlet_take(&in, &frame, &err), &err);
	frame.len = 0;
	assert_int_equal(frame_inlet_take(&in, &frame, &err), -1);
	assert_error(&err, ERROR_INVALID, "stdout data of no length");
	in.eof = true;
	frame.len = 1;
	assert_int_equal(frame_inlet_take(&in, &frame, &err), -1);
	assert_error(&err, ERROR_INVALID, "stdout data after its end");
	assert_false(frame_inlet_finished(&in));
	while (in.len)
		assert_int_equal(frame_inlet_write(&in, sink, SIZE_MAX), 1);
	assert_true(frame_inlet_finished(&in));
	frame_inlet_done(&in);
	(void)close(sink);
}

/* Bytes keep their order around the end of the ring. */
static void test_inlet_wraps(void **state)
{
	struct frame_inlet in = { 0 };
	struct error err = { 0 };
	uint8_t out = 0, wanted = 0, bytes[1000];
	size_t total = 0;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
	assert_ok(frame_inlet_open(&in, FRAME_STDOUT, &err), &err);
	while (total < 3 * FRAME_WINDOW) {
		struct frame frame = data_frame(bytes, sizeof(bytes));

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = out++;
		in.granted = FRAME_WINDOW;
		assert_ok(frame_inlet_take(&in, &frame, &err), &err);
		total += sizeof(bytes);
		while (in.len) {
			uint8_t back[1000];
			ssize_t n;

			assert_int_equal(frame_inlet_write(&in, pair[1], 700), 1);
			n = read(pair[0], back, sizeof(back));
			for (ssize_t i = 0; i < n; i++)
				assert_int_equal(back[i], wanted++);
		}
	}
	frame_inlet_done(&in);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_outlet_credit(void **state)
{
	struct frame_outlet out;
	struct error err = { 0 };

	(void)state;
	frame_outlet_open(&out, FRAME_STDIN);
	assert_int_equal(frame_outlet_credit(&out, 1, &err), -1);
	assert_error(&err, ERROR_INVALID, "stdin credit of 1 bytes with 262144 left");
	out.credit = 100;
	assert_int_equal(frame_outlet_credit(&out, 0, &err), -1);
	assert_int_equal(frame_outlet_credit(&out, UINT32_MAX, &err), -1);
	assert_ok(frame_outlet_credit(&out, FRAME_WINDOW - 100, &err), &err);
	assert_int_equal(out.credit, FRAME_WINDOW);
}

/* ---- fields ---- */

static void test_fields(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_free_ char *arg = NULL;
	struct error err = { 0 };
	struct field_reader r;
	struct field f;
	uint32_t number;

	(void)state;
	field_put_text(&text, FIELD_ARG, "");
	field_put_u32(&text, FIELD_FLAGS, 0xdeadbeef);
	field_put(&text, (enum field_tag)200, "skip me", 7);
	field_put_text(&text, FIELD_ENV, "A=b");
	r = (struct field_reader){ (uint8_t *)text.data, (uint8_t *)text.data + text.len };
	assert_int_equal(field_next(&r, &f, &err), 1);
	assert_int_equal(f.tag, FIELD_ARG);
	assert_int_equal(f.len, 0);
	assert_int_equal(field_next(&r, &f, &err), 1);
	assert_ok(field_u32(&f, &number, &err), &err);
	assert_int_equal(number, 0xdeadbeef);
	assert_int_equal(field_next(&r, &f, &err), 1);
	arg = field_text(&f, &err);
	assert_string_equal(arg, "A=b");
	assert_int_equal(field_next(&r, &f, &err), 0);
}

static void test_bad_fields(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
		const char *error;
	} rows[] = {
		{ { FIELD_ARG, 0, 0 }, 3, "a message is cut off" },
		{ { FIELD_ARG, 5, 0, 0, 'a' }, 5, "a message is cut off" },
		{ { FIELD_ARG, 0, 0, 0xff }, 4, "a message is cut off" },
		{ { 0, 0, 0, 0 }, 4, "an unknown part (0)" },
		{ { 99, 0, 0, 0 }, 4, "an unknown part (99)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct field_reader r = { rows[i].bytes, rows[i].bytes + rows[i].len };
		struct error err = { 0 };
		struct field f;

		assert_int_equal(field_next(&r, &f, &err), -1);
		assert_error(&err, ERROR_INVALID, rows[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frames_of_every_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mark_in_a_payload, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_greeting_after_a_cut_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_before_a_greeting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_greeting_with_a_wrong_sum, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_writer_keeps_room_for_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inlet_and_credit, setup, teardown),
		cmocka_unit_test(test_inlet_wraps),
		cmocka_unit_test(test_outlet_credit),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_bad_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

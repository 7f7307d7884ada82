/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets and streams, with the daemon's end of the socket in this test's hand: what a daemon sends in
 * pieces, cut, or wrongly. tests/vm/exec-ways.sh has the daemon itself.
 */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/wire.h"

static struct _virConnect conn;
static int daemon_end;

static int set_up(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	conn = (struct _virConnect){ .fd = pair[0], .in = malloc(WIRE_PACKET_MAX) };
	assert_non_null(conn.in);
	daemon_end = pair[1];
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)close(conn.fd);
	(void)close(daemon_end);
	free(conn.in);
	return 0;
}

static void say(const void *bytes, size_t len)
{
	assert_int_equal(len, write(daemon_end, bytes, len));
}

static void packet(enum wire_procedure procedure, enum wire_type type, uint32_t serial,
	enum wire_status status, const void *bytes, size_t len)
{
	uint8_t header[WIRE_HEADER];

	wire_header(header, procedure, type, serial, status, len);
	say(header, sizeof(header));
	if (len)
		say(bytes, len);
}

static void stream_packet(enum wire_status status, const char *text)
{
	packet(WIRE_OPEN_CHANNEL, WIRE_STREAM, 1, status, text, strlen(text));
}

/* A stream whose opening was call number 1. */
static virStreamPtr stream(virDomainPtr dom)
{
	virStreamPtr st = virStreamNew(&conn, VIR_STREAM_NONBLOCK);

	*dom = (struct _virDomain){ .conn = &conn, .name = (char *)"box" };
	packet(WIRE_OPEN_CHANNEL, WIRE_REPLY, 1, WIRE_OK, NULL, 0);
	assert_int_equal(0, virDomainOpenChannel(dom, "box.agent.0", st, 0));
	return st;
}

/* Code, domain, a text that is there, in XDR. */
static size_t put_error(uint8_t *into, uint32_t code, const char *text)
{
	struct wire_out o = { .len = 0 };

	wire_put_u32(&o, code);
	wire_put_u32(&o, 10);
	wire_put_optional(&o, text);
	memcpy(into, o.bytes, o.len);
	return o.len;
}

static void test_numbers_and_texts(void **state)
{
	static const uint8_t expected[] = "\0\0\0\1"
					  "\0\0\0\5"
					  "hello\0\0\0"
					  "\xff\xee\xdd\xcc";
	struct wire_out o = { .len = 0 };
	struct wire_in in;
	const char *text;
	uint32_t number;
	size_t len;

	(void)state;
	wire_put_optional(&o, "hello");
	wire_put_u32(&o, 0xffeeddcc);
	assert_int_equal(sizeof(expected) - 1, o.len);
	assert_memory_equal(expected, o.bytes, o.len);
	in = (struct wire_in){ o.bytes, o.bytes + o.len };
	assert_true(wire_get_u32(&in, &number));
	assert_true(wire_get_text(&in, &text, &len));
	assert_int_equal(5, len);
	assert_memory_equal("hello", text, len);
	assert_true(wire_get_u32(&in, &number));
	assert_int_equal(0xffeeddcc, number);
	assert_false(wire_get_u32(&in, &number));
	/* A length that is more than there is, with its padding and without. */
	for (size_t cut = 4; cut < 12; cut++) {
		in = (struct wire_in){ o.bytes + 4, o.bytes + cut };
		assert_false(wire_get_text(&in, &text, &len));
	}
	wire_put_u32(&o, 0);
	memset(o.bytes, 0xff, 4);
	in = (struct wire_in){ o.bytes, o.bytes + o.len };
	assert_false(wire_get_text(&in, &text, &len));
}

static void test_too_long(void **state)
{
	struct wire_out o = { .len = 0 };
	struct wire_in in;
	char text[WIRE_CALL_MAX];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	wire_put_text(&o, text);
	wire_put_u32(&o, 1);
	assert_int_equal(-1, wire_call(&conn, WIRE_LOOKUP_BY_NAME, &o, &in));
	assert_int_equal(VIR_ERR_INVALID_ARG, virGetLastError()->code);
}

/* Whatever comes between a question and its reply. */
static void test_call(void **state)
{
	static const uint8_t value[] = { 0, 0, 0, 1, 0, 0, 0, 5 };
	struct _virDomain dom = { .conn = &conn, .name = (char *)"box" };
	uint8_t error[128];
	int domain_state = 0, reason = 0;

	(void)state;
	packet(WIRE_GET_METADATA, WIRE_EVENT, 0, WIRE_OK, value, sizeof(value));
	packet(WIRE_OPEN_CHANNEL, WIRE_STREAM, 9, WIRE_CONTINUE, "late", 4);
	packet(WIRE_GET_STATE, WIRE_REPLY, 77, WIRE_OK, value + 4, 4);
	packet(WIRE_GET_STATE, WIRE_REPLY, 1, WIRE_OK, value, sizeof(value));
	assert_int_equal(0, virDomainGetState(&dom, &domain_state, &reason, 0));
	assert_int_equal(1, domain_state);
	assert_int_equal(5, reason);
	packet(WIRE_GET_STATE, WIRE_REPLY, 2, WIRE_OK, value, 4);
	assert_int_equal(-1, virDomainGetState(&dom, &domain_state, NULL, 0));
	packet(WIRE_GET_METADATA, WIRE_REPLY, 3, WIRE_OK, value, sizeof(value));
	assert_int_equal(-1, virDomainGetState(&dom, &domain_state, NULL, 0));
	packet(WIRE_GET_STATE, WIRE_REPLY, 4, WIRE_ERROR, error,
		put_error(error, VIR_ERR_NO_DOMAIN, "no such thing"));
	assert_int_equal(-1, virDomainGetState(&dom, &domain_state, NULL, 0));
	assert_int_equal(VIR_ERR_NO_DOMAIN, virGetLastError()->code);
	assert_string_equal("no such thing", virGetLastError()->message);
	packet(WIRE_GET_STATE, WIRE_REPLY, 5, WIRE_ERROR, error, 6);
	assert_int_equal(-1, virDomainGetState(&dom, &domain_state, NULL, 0));
	assert_int_equal(VIR_ERR_RPC, virGetLastError()->code);
	(void)shutdown(daemon_end, SHUT_WR);
	assert_int_equal(-1, virDomainGetState(&dom, &domain_state, NULL, 0));
	assert_string_equal("End of file while reading data", virGetLastError()->message);
}

/* ---- authentication: what the daemon offers, and says to polkit's answer ---- */

/* The list of ways to authenticate, as the answer to the first call. */
static void offer(const uint32_t *ways, uint32_t count)
{
	struct wire_out o = { .len = 0 };

	wire_put_u32(&o, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_u32(&o, ways[i]);
	packet(WIRE_AUTH_LIST, WIRE_REPLY, 1, WIRE_OK, o.bytes, o.len);
}

/* The procedure of the client's next call, 0 when there is none. */
static uint32_t asked(void)
{
	uint8_t header[WIRE_HEADER], rest[WIRE_CALL_MAX];
	struct wire_in in = { header, header + sizeof(header) };
	uint32_t words[7];

	if (recv(daemon_end, header, sizeof(header), MSG_DONTWAIT) != sizeof(header))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_true(wire_get_u32(&in, &words[i]));
	assert_int_equal(WIRE_CALL, words[4]);
	if (words[0] > WIRE_HEADER)
		assert_int_equal(
			words[0] - WIRE_HEADER, read(daemon_end, rest, words[0] - WIRE_HEADER));
	return words[3];
}

static void test_no_authentication(void **state)
{
	static const uint32_t none[] = { 0 };

	(void)state;
	for (uint32_t count = 0; count < 2; count++) {
		conn.serial = 0;
		offer(none, count);
		packet(WIRE_CONNECT_OPEN, WIRE_REPLY, 2, WIRE_OK, NULL, 0);
		assert_int_equal(0, wire_begin(&conn, "qemu:///system"));
		assert_int_equal(WIRE_AUTH_LIST, asked());
		assert_int_equal(WIRE_CONNECT_OPEN, asked());
		assert_int_equal(0, asked());
	}
}

static void test_polkit_agrees(void **state)
{
	static const uint32_t polkit[] = { 2 };

	(void)state;
	offer(polkit, 1);
	packet(WIRE_AUTH_POLKIT, WIRE_REPLY, 2, WIRE_OK, NULL, 0);
	packet(WIRE_CONNECT_OPEN, WIRE_REPLY, 3, WIRE_OK, NULL, 0);
	assert_int_equal(0, wire_begin(&conn, "qemu:///system"));
	assert_int_equal(WIRE_AUTH_LIST, asked());
	assert_int_equal(WIRE_AUTH_POLKIT, asked());
	assert_int_equal(WIRE_CONNECT_OPEN, asked());
	assert_int_equal(0, asked());
}

/* Nothing is opened then: the caller becomes the program that has the library, which asks again. */
static void test_polkit_refuses(void **state)
{
	static const uint32_t polkit[] = { 2 };
	uint8_t error[128];

	(void)state;
	offer(polkit, 1);
	packet(WIRE_AUTH_POLKIT, WIRE_REPLY, 2, WIRE_ERROR, error,
		put_error(error, VIR_ERR_AUTH_CANCELLED, "the person said no"));
	assert_int_equal(-1, wire_begin(&conn, "qemu:///system"));
	assert_int_equal(VIR_ERR_AUTH_CANCELLED, virGetLastError()->code);
	assert_int_equal(WIRE_AUTH_LIST, asked());
	assert_int_equal(WIRE_AUTH_POLKIT, asked());
	assert_int_equal(0, asked());
}

/* SASL, one that is not known yet, and lists that are cut: not ours. */
static void test_other_authentication(void **state)
{
	static const uint32_t others[] = { 1, 3, UINT32_MAX };
	static const uint8_t short_list[] = { 0, 0, 0, 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		conn.serial = 0;
		offer(&others[i], 1);
		assert_int_equal(-1, wire_begin(&conn, "qemu:///system"));
		assert_int_equal(VIR_ERR_AUTH_UNAVAILABLE, virGetLastError()->code);
		assert_int_equal(WIRE_AUTH_LIST, asked());
		assert_int_equal(0, asked());
	}
	for (size_t len = 0; len <= sizeof(short_list); len += sizeof(short_list)) {
		conn.serial = 0;
		packet(WIRE_AUTH_LIST, WIRE_REPLY, 1, WIRE_OK, short_list, len);
		assert_int_equal(-1, wire_begin(&conn, "qemu:///system"));
		assert_int_equal(VIR_ERR_RPC, virGetLastError()->code);
		assert_int_equal(WIRE_AUTH_LIST, asked());
	}
}

/* An error whose code says that there is none is one all the same. */
static void test_error_without_code(void **state)
{
	uint8_t error[128];
	struct wire_in in;

	(void)state;
	packet(WIRE_GET_STATE, WIRE_REPLY, 1, WIRE_ERROR, error,
		put_error(error, VIR_ERR_OK, "odd"));
	assert_int_equal(-1, wire_call(&conn, WIRE_GET_STATE, NULL, &in));
	assert_non_null(virGetLastError());
	assert_string_equal("odd", virGetLastError()->message);
}

static void test_impossible_lengths(void **state)
{
	static const uint32_t lengths[] = { 0, WIRE_HEADER - 1, WIRE_PACKET_MAX + 1, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct wire_out o = { .len = 0 };
		struct wire_in in;

		wire_put_u32(&o, lengths[i]);
		conn.broken = false;
		conn.start = conn.end = conn.taken = 0;
		say(o.bytes, o.len);
		assert_int_equal(-1, wire_call(&conn, WIRE_GET_STATE, NULL, &in));
		assert_true(conn.broken);
	}
}

/* A stream's bytes by ones and twos, and several packets in one piece. */
static void test_stream_in_pieces(void **state)
{
	struct _virDomain dom;
	virStreamPtr st = stream(&dom);
	uint8_t bytes[WIRE_HEADER + 3];
	char got[8];

	(void)state;
	assert_int_equal(-2, virStreamRecv(st, got, sizeof(got)));
	wire_header(bytes, WIRE_OPEN_CHANNEL, WIRE_STREAM, 1, WIRE_CONTINUE, 3);
	memcpy(bytes + WIRE_HEADER, "abc", 3);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(-2, virStreamRecv(st, got, sizeof(got)));
		assert_false(wire_waits(&conn));
		say(bytes + i, 1);
	}
	assert_int_equal(2, virStreamRecv(st, got, 2));
	assert_int_equal(1, virStreamRecv(st, got + 2, 6));
	assert_memory_equal("abc", got, 3);
	stream_packet(WIRE_CONTINUE, "de");
	stream_packet(WIRE_CONTINUE, "f");
	stream_packet(WIRE_CONTINUE, "");
	assert_int_equal(2, virStreamRecv(st, got, sizeof(got)));
	assert_true(wire_waits(&conn));
	assert_int_equal(1, virStreamRecv(st, got, sizeof(got)));
	assert_int_equal(0, virStreamRecv(st, got, sizeof(got)));
	assert_int_equal(0, virStreamRecv(st, got, sizeof(got)));
	(void)virStreamFree(st);
}

static void test_stream_error(void **state)
{
	struct _virDomain dom;
	virStreamPtr st = stream(&dom);
	uint8_t error[128];
	char got[8];

	(void)state;
	packet(WIRE_OPEN_CHANNEL, WIRE_STREAM, 1, WIRE_ERROR, error,
		put_error(error, VIR_ERR_RPC, "the box went away"));
	assert_int_equal(-1, virStreamRecv(st, got, sizeof(got)));
	assert_string_equal("the box went away", virGetLastError()->message);
	assert_int_equal(-1, virStreamRecv(st, got, sizeof(got)));
	assert_int_equal(-1, virStreamSend(st, "x", 1));
	assert_int_equal(-1, virStreamFinish(st));
	(void)virStreamFree(st);
}

/* A daemon that does not read: what does not fit waits, nothing is lost, and the end comes behind it. */
static void test_stream_out(void **state)
{
	static char block[WIRE_STREAM_MAX], got[WIRE_HEADER + WIRE_STREAM_MAX];
	struct _virDomain dom;
	virStreamPtr st = stream(&dom);
	size_t sent = 0, came = 0;
	ssize_t n;

	(void)state;
	while (read(daemon_end, got, sizeof(got)) == (ssize_t)sizeof(got))
		;
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 100 && (n = virStreamSend(st, block, sizeof(block))) > 0; i++)
		sent += (size_t)n;
	assert_int_equal(-2, n);
	while ((n = recv(daemon_end, got, sizeof(got), MSG_DONTWAIT)) > 0)
		came += (size_t)n;
	assert_true(came < sent + sent / WIRE_STREAM_MAX * WIRE_HEADER);
	stream_packet(WIRE_CONTINUE, "dropped");
	stream_packet(WIRE_OK, "");
	assert_int_equal(0, virStreamFinish(st));
	while ((n = recv(daemon_end, got, sizeof(got), MSG_DONTWAIT)) > 0)
		came += (size_t)n;
	assert_int_equal(sent + (sent / WIRE_STREAM_MAX + 1) * WIRE_HEADER, came);
	(void)virStreamFree(st);
}

static void count(virStreamPtr st, int events, void *data)
{
	(void)st;
	*(int *)data |= events;
}

static void note(int timer, void *data)
{
	virEventUpdateTimeout(timer, -1);
	*(bool *)data = true;
}

/* Bytes that came with others end a turn, though nothing more can be read. */
static void test_loop(void **state)
{
	struct _virDomain dom;
	virStreamPtr st = stream(&dom);
	int seen = 0, timer;
	bool rang = false;
	char got[1];

	(void)state;
	assert_int_equal(
		0, virStreamEventAddCallback(st, VIR_STREAM_EVENT_READABLE, count, &seen, NULL));
	stream_packet(WIRE_CONTINUE, "ab");
	assert_int_equal(0, virEventRunDefaultImpl());
	assert_int_equal(VIR_STREAM_EVENT_READABLE, seen);
	assert_int_equal(1, virStreamRecv(st, got, 1));
	seen = 0;
	assert_int_equal(0, virEventRunDefaultImpl());
	assert_int_equal(VIR_STREAM_EVENT_READABLE, seen);
	assert_int_equal(1, virStreamRecv(st, got, 1));
	timer = virEventAddTimeout(1, note, &rang, NULL);
	assert_true(timer >= 0);
	seen = 0;
	for (int i = 0; i < 10 && !rang; i++)
		assert_int_equal(0, virEventRunDefaultImpl());
	assert_true(rang);
	assert_int_equal(0, seen);
	(void)virEventRemoveTimeout(timer);
	(void)virStreamEventRemoveCallback(st);
	(void)virStreamFree(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers_and_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_call, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_authentication, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_polkit_agrees, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_polkit_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_authentication, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_error_without_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_impossible_lengths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stream_in_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stream_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stream_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loop, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

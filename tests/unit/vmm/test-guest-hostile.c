/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's sessions against guests that mean harm, or are broken: each is a process at the other end of
 * a socket pair that answers the greeting, or does not, and then sends what a row says.
 */
#include "base/clock.h"
#include "tests/unit/test.h"

#include <libvirt/libvirt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/frame-field.h"
#include "agent/frame.h"
#include "base/fd.h"
#include "vmm/guest-session.h"
#include "vmm/guest.h"
#include "vmm/virt.h"

static const struct guest_wait brief = { .timeout_ms = 700 };
static const struct guest_wait quick = { .timeout_ms = 20000 };

/* ---- the fake guest, in its process ---- */

static int line; /* its end */

static void send_bytes(const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(line, p, len);

		if (n <= 0)
			_exit(0); /* the host has had enough */
		p += n;
		len -= (size_t)n;
	}
}

static void send_header(unsigned type, unsigned flags, uint32_t len)
{
	uint8_t header[FRAME_HEADER_LEN] = { (uint8_t)type, (uint8_t)flags };

	frame_set_u32(header + 4, len);
	send_bytes(header, sizeof(header));
}

static void send_frame(unsigned type, unsigned flags, const void *payload, size_t len)
{
	send_header(type, flags, (uint32_t)len);
	send_bytes(payload, len);
}

static void send_greeting(uint8_t kind, uint8_t version, const uint8_t *nonce)
{
	struct frame_greeting greeting = { .kind = kind, .version = version };
	struct frame_writer w;
	struct error err = { 0 };
	const uint8_t *bytes;
	size_t len;

	if (frame_writer_init(&w, &err) < 0)
		_exit(1);
	memcpy(greeting.nonce, nonce, FRAME_NONCE_LEN);
	frame_put_greeting(&w, &greeting);
	bytes = frame_writer_pending(&w, &len);
	send_bytes(bytes, len);
	frame_writer_done(&w);
}

static void read_exactly(void *into, size_t len)
{
	char *p = into;

	while (len) {
		ssize_t n = read(line, p, len);

		if (n <= 0)
			_exit(0);
		p += n;
		len -= (size_t)n;
	}
}

static void read_hello(uint8_t nonce[FRAME_NONCE_LEN])
{
	uint8_t record[FRAME_GREETING_LEN];

	read_exactly(record, sizeof(record));
	memcpy(nonce, record + FRAME_MARK_LEN + 4, FRAME_NONCE_LEN);
}

/* The host's next frame, dropped. */
static void read_frame(void)
{
	uint8_t header[FRAME_HEADER_LEN], payload[FRAME_PAYLOAD_MAX];

	read_exactly(header, sizeof(header));
	read_exactly(payload, MIN(frame_get_u32(header + 4), (uint32_t)sizeof(payload)));
}

static void greet(void)
{
	uint8_t nonce[FRAME_NONCE_LEN];

	read_hello(nonce);
	send_greeting(FRAME_ECHO, 1, nonce);
}

/* Until the host closes, which every row ends with. */
static void wait_for_end(void)
{
	char drop[4096];

	while (read(line, drop, sizeof(drop)) > 0)
		;
}

struct villain {
	pid_t pid;
	int fd; /* the host's end */
};

static struct villain villain_start(void (*play)(void))
{
	struct villain v;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	v.pid = fork();
	assert_true(v.pid >= 0);
	if (v.pid == 0) {
		(void)close(pair[0]);
		(void)signal(SIGPIPE, SIG_IGN);
		line = pair[1];
		play();
		_exit(0);
	}
	(void)close(pair[1]);
	v.fd = pair[0];
	return v;
}

static void villain_end(struct villain *v)
{
	(void)kill(v->pid, SIGKILL);
	assert_int_equal(waitpid(v->pid, NULL, 0), v->pid);
}

/* ---- the greeting ---- */

static void play_silent(void)
{
	wait_for_end();
}

static void play_noise(void)
{
	static uint8_t noise[65536];

	for (;;)
		send_bytes(noise, sizeof(noise));
}

static void play_marks(void)
{
	for (;;)
		send_bytes(frame_mark, sizeof(frame_mark));
}

static void play_wrong_echo(void)
{
	uint8_t nonce[FRAME_NONCE_LEN];

	read_hello(nonce);
	nonce[31] ^= 1;
	send_greeting(FRAME_ECHO, 1, nonce);
	wait_for_end();
}

static void play_newer_version(void)
{
	uint8_t nonce[FRAME_NONCE_LEN];

	read_hello(nonce);
	send_greeting(FRAME_ECHO, 2, nonce);
	wait_for_end();
}

static void play_resets(void)
{
	const uint8_t zeros[FRAME_NONCE_LEN] = { 0 };

	for (;;)
		send_greeting(FRAME_RESET, 1, zeros);
}

static void play_gone(void)
{
}

static void test_greetings(void **state)
{
	static const struct {
		void (*play)(void);
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{ play_silent, ERROR_UNREACHABLE, "the agent in the box has not answered for 0 s" },
		{ play_noise, ERROR_UNREACHABLE, "the agent in the box has not answered" },
		{ play_marks, ERROR_UNREACHABLE, "the agent in the box has not answered" },
		{ play_wrong_echo, ERROR_UNREACHABLE, "the agent in the box has not answered" },
		{ play_newer_version, ERROR_INVALID,
			"speaks version 2 of the protocol, box speaks 1" },
		{ play_resets, ERROR_INVALID, "the agent of the box starts again and again" },
		{ play_gone, ERROR_UNREACHABLE, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct villain v = villain_start(rows[i].play);
		uint64_t begin = clock_ms();
		struct error err = { 0 };

		assert_null(guest_open_fd(v.fd, &brief, &err));
		assert_error(&err, rows[i].kind, rows[i].text);
		assert_true(clock_ms() - begin < 5000);
		villain_end(&v);
	}
}

/* What an older session left in the port is no harm. */
static void play_stale(void)
{
	static const uint8_t other[FRAME_NONCE_LEN] = { 1 };
	uint8_t nonce[FRAME_NONCE_LEN], rest[30000] = { 0 };

	read_hello(nonce);
	send_bytes(rest, sizeof(rest));
	send_greeting(FRAME_ECHO, 1, other);
	send_frame(FRAME_STDOUT, 0, rest, 100);
	send_header(FRAME_STDOUT, 0, 65536);
	send_bytes(rest, 777);
	send_greeting(FRAME_RESET, 1, rest);
	read_hello(nonce); /* said again */
	send_header(FRAME_STDOUT, 0, 65536);
	send_greeting(FRAME_ECHO, 1, nonce);
	read_frame();
	send_frame(FRAME_PONG, 0, nonce, 8);
	wait_for_end();
}

static void test_stale_bytes(void **state)
{
	struct villain v = villain_start(play_stale);
	struct error err = { 0 };
	struct guest *g = guest_open_fd(v.fd, &quick, &err);

	(void)state;
	assert_non_null(g);
	assert_ok(guest_ping(g, &quick, &err), &err);
	guest_close(g);
	villain_end(&v);
}

/* ---- during a command ---- */

static void start(void)
{
	greet();
	read_frame(); /* EXEC */
	send_frame(FRAME_STARTED, 0, "\1\0\0\0", 4);
}

static void exec_oversized(void)
{
	start();
	send_header(FRAME_STDOUT, 0, 65537);
	wait_for_end();
}

static void exec_unknown_type(void)
{
	start();
	send_frame(77, 0, "", 0);
	wait_for_end();
}

static void exec_not_started(void)
{
	greet();
	read_frame();
	send_frame(FRAME_STDOUT, 0, "x", 1);
	wait_for_end();
}

static void exec_started_twice(void)
{
	start();
	send_frame(FRAME_STARTED, 0, "\1\0\0\0", 4);
	wait_for_end();
}

static void exec_beyond_credit(void)
{
	static uint8_t bytes[FRAME_PAYLOAD_MAX];

	start();
	for (;;)
		send_frame(FRAME_STDERR, 0, bytes, sizeof(bytes));
}

static void exec_empty_data(void)
{
	start();
	send_frame(FRAME_STDOUT, 0, "", 0);
	wait_for_end();
}

static void exec_after_end(void)
{
	start();
	send_frame(FRAME_EOF, 0, (uint8_t[]){ FRAME_STDOUT }, 1);
	send_frame(FRAME_STDOUT, 0, "x", 1);
	wait_for_end();
}

static void exec_end_twice(void)
{
	start();
	send_frame(FRAME_EOF, 0, (uint8_t[]){ FRAME_STDOUT }, 1);
	send_frame(FRAME_EOF, 0, (uint8_t[]){ FRAME_STDOUT }, 1);
	wait_for_end();
}

static void exec_bad_exit(void)
{
	start();
	send_frame(FRAME_EXIT, 0, (uint8_t[]){ FRAME_SIGNALLED, 200, 0 }, 3);
	wait_for_end();
}

static void exec_exit_unstarted(void)
{
	greet();
	read_frame();
	send_frame(FRAME_EXIT, 0, (uint8_t[]){ FRAME_EXITED, 0, 0 }, 3);
	wait_for_end();
}

static void exec_bad_credit(void)
{
	start();
	send_frame(FRAME_CREDIT, 0, (uint8_t[]){ FRAME_STDIN, 0xff, 0xff, 0xff, 0xff }, 5);
	wait_for_end();
}

static void exec_no_credit(void)
{
	start();
	for (;;)
		send_frame(FRAME_CREDIT, 0, (uint8_t[]){ FRAME_STDIN, 0, 0, 0, 0 }, 5);
}

static void exec_orders(void)
{
	start();
	send_frame(FRAME_EXEC, 0, "", 0);
	wait_for_end();
}

static void exec_answer(void)
{
	start();
	send_frame(FRAME_ANSWER, 0, "", 0);
	wait_for_end();
}

static void exec_restart(void)
{
	const uint8_t zeros[FRAME_NONCE_LEN] = { 0 };

	start();
	send_greeting(FRAME_RESET, 1, zeros);
	wait_for_end();
}

static void exec_cut_and_gone(void)
{
	start();
	send_header(FRAME_STDOUT, 0, 1000);
	send_bytes("x", 1);
	(void)shutdown(line, SHUT_WR);
	wait_for_end();
}

static void exec_stalled(void)
{
	start();
	send_header(FRAME_STDOUT, 0, 1000);
	send_bytes("x", 1);
	wait_for_end();
}

static void exec_endless_message(void)
{
	static uint8_t bytes[FRAME_PAYLOAD_MAX];

	start();
	for (;;)
		send_frame(FRAME_REFUSED, FRAME_MORE, bytes, sizeof(bytes));
}

static void exec_mixed_message(void)
{
	start();
	send_frame(FRAME_REFUSED, FRAME_MORE, "x", 1);
	send_frame(FRAME_STDOUT, 0, "x", 1);
	wait_for_end();
}

static void test_commands(void **state)
{
	static const struct {
		void (*play)(void);
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{ exec_oversized, ERROR_INVALID,
			"nonsense: a malformed frame (type 17, flags 0, length 65537)" },
		{ exec_unknown_type, ERROR_INVALID, "nonsense: a malformed frame (type 77" },
		{ exec_not_started, ERROR_INVALID, "sent a stdout frame, out of order" },
		{ exec_started_twice, ERROR_INVALID, "sent a STARTED frame, out of order" },
		{ exec_beyond_credit, ERROR_INVALID, "sent: stderr data beyond its credit" },
		{ exec_empty_data, ERROR_INVALID, "sent: stdout data of no length" },
		{ exec_after_end, ERROR_INVALID, "sent: stdout data after its end" },
		{ exec_end_twice, ERROR_INVALID, "sent a EOF frame, out of order" },
		{ exec_bad_exit, ERROR_INVALID, "sent a EXIT frame, out of order" },
		{ exec_exit_unstarted, ERROR_INVALID, "sent a EXIT frame, out of order" },
		{ exec_bad_credit, ERROR_INVALID, "stdin credit of 4294967295 bytes" },
		{ exec_no_credit, ERROR_INVALID, "stdin credit of 0 bytes" },
		{ exec_orders, ERROR_INVALID, "sent a EXEC frame, out of order" },
		{ exec_answer, ERROR_INVALID, "sent a ANSWER frame, out of order" },
		{ exec_restart, ERROR_UNREACHABLE, "the agent in the box was started again" },
		{ exec_cut_and_gone, ERROR_UNREACHABLE, "the box, or the agent in it, went away" },
		{ exec_stalled, ERROR_INVALID, "stopped in the middle of a frame" },
		{ exec_endless_message, ERROR_INVALID,
			"sent a REFUSED of more than 1048576 bytes" },
		{ exec_mixed_message, ERROR_INVALID, "sent a stdout frame within a REFUSED" },
	};
	const char *argv[] = { "true", NULL };
	const struct guest_exec r = {
		.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};

	(void)state;
	guest_stall_ms = 300;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct villain v = villain_start(rows[i].play);
		struct guest_result result = { .code = 77 };
		uint64_t begin = clock_ms();
		struct error err = { 0 };
		struct guest *g = guest_open_fd(v.fd, &quick, &err);

		assert_non_null(g);
		if (rows[i].play == exec_beyond_credit) {
			/* A reader that does not read: what comes must be held, or refused. */
			struct guest_exec held = r;
			int pair[2];

			assert_int_equal(pipe(pair), 0);
			held.stderr_fd = pair[1];
			assert_int_equal(guest_exec(g, &held, &result, &err), -1);
			(void)close(pair[0]);
			(void)close(pair[1]);
		} else {
			assert_int_equal(guest_exec(g, &r, &result, &err), -1);
		}
		assert_error(&err, rows[i].kind, rows[i].text);
		assert_int_equal(result.code, 77);
		assert_true(clock_ms() - begin < 5000);
		guest_close(g);
		villain_end(&v);
	}
	guest_stall_ms = 30000;
}

/* ---- text that would do something to a terminal ---- */

static void play_escapes(void)
{
	_cleanup_str_ struct str fields = STR_INIT;

	greet();
	read_frame();
	field_put_u32(&fields, FIELD_REASON, REFUSE_SYSTEM);
	field_put_text(&fields, FIELD_TEXT, "\x1b]52;c;aGk=\x07 \x1bP$q\x1b\\ \x1b[6n\r\n");
	send_frame(FRAME_REFUSED, 0, fields.data, fields.len);
	read_frame(); /* INFO */
	str_clear(&fields);
	field_put_text(&fields, FIELD_NAME, "host\x1b[2Jname");
	field_put_text(&fields, FIELD_VALUE, "evil\x07");
	send_frame(FRAME_ANSWER, 0, fields.data, fields.len);
	wait_for_end();
}

static void test_text_is_escaped(void **state)
{
	struct villain v = villain_start(play_escapes);
	_cleanup_guest_items_ struct guest_items items = VEC_INIT;
	const char *argv[] = { "true", NULL };
	const struct guest_exec r = {
		.argv = argv, .user = "root", .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};
	struct guest_result result;
	struct error err = { 0 };
	struct guest *g = guest_open_fd(v.fd, &quick, &err);

	(void)state;
	assert_non_null(g);
	assert_int_equal(guest_exec(g, &r, &result, &err), -1);
	assert_error(&err, ERROR_FAILED, "\\x1b]52;c;aGk=\\x07 \\x1bP$q\\x1b\\ \\x1b[6n\\x0d");
	assert_null(strchr(err.text, '\x1b'));
	error_clear(&err);
	/* EXEC without stdin is followed by its EOF: the fake has read that as the INFO. */
	assert_ok(guest_info(g, &quick, &items, &err), &err);
	assert_string_equal(guest_items_get(&items, "host\\x1b[2Jname"), "evil\\x07");
	guest_close(g);
	villain_end(&v);
}

/* ---- other requests ---- */

static void play_stages_for_ever(void)
{
	_cleanup_str_ struct str fields = STR_INIT;

	greet();
	field_put_u32(&fields, FIELD_STATE, STAGE_RUNNING);
	field_put_text(&fields, FIELD_STAGE, "still at it");
	for (;;)
		send_frame(FRAME_STAGE, 0, fields.data, fields.len);
}

static void play_bad_stage(void)
{
	_cleanup_str_ struct str fields = STR_INIT;

	greet();
	field_put_u32(&fields, FIELD_STATE, 9);
	send_frame(FRAME_STAGE, 0, fields.data, fields.len);
	wait_for_end();
}

static void play_other_frame(void)
{
	greet();
	send_frame(FRAME_PONG, 0, "", 0);
	wait_for_end();
}

static void play_no_answer(void)
{
	greet();
	wait_for_end();
}

static void test_waiting_for_a_boot(void **state)
{
	static const struct {
		void (*play)(void);
		enum error_kind kind;
		const char *text;
	} rows[] = {
		{ play_stages_for_ever, ERROR_INVALID, "reports stages without end" },
		{ play_bad_stage, ERROR_INVALID, "sent a malformed stage" },
		{ play_other_frame, ERROR_INVALID, "sent a PONG frame, out of order" },
		{ play_no_answer, ERROR_TIMEOUT, "did not answer in time" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct villain v = villain_start(rows[i].play);
		struct error err = { 0 };
		struct guest *g = guest_open_fd(v.fd, &quick, &err);

		assert_non_null(g);
		assert_int_equal(guest_wait_ready(g, NULL, &brief, NULL, NULL, &err), -1);
		assert_error(&err, rows[i].kind, rows[i].text);
		guest_close(g);
		villain_end(&v);
	}
}

static void play_items_without_end(void)
{
	_cleanup_str_ struct str fields = STR_INIT;

	greet();
	for (int i = 0; i < 2000; i++)
		field_put_text(&fields, FIELD_NAME, "n");
	send_frame(FRAME_ANSWER, 0, fields.data, fields.len);
	wait_for_end();
}

static void play_value_first(void)
{
	_cleanup_str_ struct str fields = STR_INIT;

	greet();
	field_put_text(&fields, FIELD_VALUE, "v");
	send_frame(FRAME_ANSWER, 0, fields.data, fields.len);
	wait_for_end();
}

static void test_answers(void **state)
{
	static const struct {
		void (*play)(void);
		const char *text;
	} rows[] = {
		{ play_items_without_end, "sent too many items" },
		{ play_value_first, "sent a malformed answer" },
		{ play_other_frame, "sent a PONG frame, out of order" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct villain v = villain_start(rows[i].play);
		struct guest_items items = VEC_INIT;
		struct error err = { 0 };
		struct guest *g = guest_open_fd(v.fd, &quick, &err);

		assert_non_null(g);
		assert_int_equal(guest_info(g, &quick, &items, &err), -1);
		assert_error(&err, ERROR_INVALID, rows[i].text);
		assert_int_equal(items.len, 0);
		guest_close(g);
		villain_end(&v);
	}
}

/* Last: all of the above was done in bounded memory (which valgrind multiplies). */
static void test_memory(void **state)
{
	struct rusage usage;

	(void)state;
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory */
	assert_true(usage.ru_maxrss < 64 * 1024);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greetings),
		cmocka_unit_test(test_stale_bytes),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_text_is_escaped),
		cmocka_unit_test(test_waiting_for_a_boot),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_memory),
	};

	(void)virEventRegisterDefaultImpl();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

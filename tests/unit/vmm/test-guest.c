/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends for real: the host's sessions against the agent's program, over a socket pair. */
#include "base/clock.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/unit/agent-end.h"
#include "vmm/guest.h"
#include "vmm/virt.h"

static const struct guest_wait quick = { .timeout_ms = 20000 };

struct fixture {
	struct agent_end end;
	struct guest *g;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = { 0 };

	agent_start(&f->end, 1, NULL);
	f->g = guest_open_fd(f->end.fd, &quick, &err);
	f->end.fd = -1;
	if (!f->g)
		fail_msg("no session: %s", err.text);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	guest_close(f->g);
	assert_int_equal(agent_stop(&f->end, 1), 0);
	free(f);
	return 0;
}

static struct guest_exec request(const char *const *argv)
{
	return (struct guest_exec){
		.argv = argv, .user = agent_user(), .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};
}

/* A file in memory: what a descriptor wrote, from its beginning. */
static int memory_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static char *contents(int fd)
{
	struct str text = STR_INIT;
	struct error err = { 0 };

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_ok(fd_read_all(fd, 64 << 20, &text, "file", &err), &err);
	return str_take(&text, &err);
}

/* Run a command with stdin from a text (NULL: none), give its stdout. */
static char *run(
	struct fixture *f, struct guest_exec r, const char *input, struct guest_result *ret)
{
	struct error err = { 0 };
	int out = memory_file(), in = -1;
	char *text;

	if (input) {
		in = memory_file();
		assert_ok(fd_write_all(in, input, strlen(input), "input", &err), &err);
		assert_int_equal(lseek(in, 0, SEEK_SET), 0);
		r.stdin_fd = in;
	}
	r.stdout_fd = out;
	assert_ok(guest_exec(f->g, &r, ret, &err), &err);
	text = contents(out);
	(void)close(out);
	if (in >= 0)
		(void)close(in);
	return text;
}

static char *run_sh(
	struct fixture *f, const char *script, const char *input, struct guest_result *ret)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	return run(f, request(argv), input, ret);
}

static void test_statuses(void **state)
{
	const int statuses[] = { 0, 1, 7, 42, 124, 125, 126, 127, 130, 137, 143, 255 };

	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct guest_result result;
		char script[32];

		(void)snprintf(script, sizeof(script), "exit %d", statuses[i]);
		free(run_sh(*state, script, NULL, &result));
		assert_int_equal(result.outcome, GUEST_EXITED);
		assert_int_equal(result.code, statuses[i]);
		assert_int_equal(guest_result_status(&result), statuses[i]);
	}
}

static void test_death_by_signal(void **state)
{
	const int signals[] = { SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGSEGV };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct guest_result result;
		char script[32];

		(void)snprintf(script, sizeof(script), "kill -%d $$", signals[i]);
		free(run_sh(*state, script, NULL, &result));
		assert_int_equal(result.outcome, GUEST_SIGNALLED);
		assert_int_equal(guest_result_status(&result), 128 + signals[i]);
	}
}

static void test_not_executable(void **state)
{
	const struct {
		const char *name;
		int errnum;
	} rows[] = { { "no-such-command", ENOENT }, { "/etc/passwd", EACCES }, { "/", EACCES },
		{ "/no/such/file", ENOENT } };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *argv[] = { rows[i].name, NULL };
		struct guest_result result;

		free(run(f, request(argv), NULL, &result));
		assert_int_equal(result.outcome, GUEST_NOT_EXECUTABLE);
		assert_int_equal(result.code, rows[i].errnum);
		assert_string_equal(result.detail, strerror(rows[i].errnum));
		assert_int_equal(guest_result_status(&result), 127);
	}
}

static void test_unknown_user_and_folder(void **state)
{
	const char *argv[] = { "true", NULL };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	struct guest_result result = { .code = 77 };
	struct error err = { 0 };

	r.user = "nobody-by-that-name";
	assert_int_equal(guest_exec(f->g, &r, &result, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "there is no user 'nobody-by-that-name' in the box");
	assert_int_equal(result.code, 77);
	error_clear(&err);
	r = request(argv);
	r.cwd = "/no/such/folder";
	assert_int_equal(guest_exec(f->g, &r, &result, &err), -1);
	assert_error(&err, ERROR_FAILED, "cannot enter '/no/such/folder' in the box: No such file");
	/* The session is as good as before. */
	free(run(f, request(argv), NULL, &result));
	assert_int_equal(guest_result_status(&result), 0);
}

static void test_arguments_are_exact(void **state)
{
	_cleanup_free_ char *big = malloc(100001);
	const char *argv[] = { "sh", "-c", "for a; do printf '%s\\0' \"$a\" | cksum; done", "sh",
		"", "two\nlines\n", "$HOME `id` 'single' \"double\" \\", "\x1b]52;c;\x07\xff\xfe",
		big, NULL };
	struct guest_result result;
	_cleanup_free_ char *here = NULL, *there = NULL;
	struct fixture *f = *state;
	FILE *p;

	memset(big, 'x', 100000);
	big[100000] = 0;
	there = run(f, request(argv), NULL, &result);
	assert_int_equal(guest_result_status(&result), 0);
	/* The same program run directly is the judge. */
	here = calloc(1, 1000);
	{
		int pair[2];
		pid_t pid;

		assert_int_equal(pipe(pair), 0);
		pid = fork();
		if (pid == 0) {
			(void)dup2(pair[1], 1);
			(void)execvp(argv[0], (char *const *)argv);
			_exit(1);
		}
		(void)close(pair[1]);
		p = fdopen(pair[0], "r");
		assert_true(fread(here, 1, 999, p) > 20);
		(void)fclose(p);
		(void)waitpid(pid, NULL, 0);
	}
	assert_string_equal(here, there);
}

static void test_environment_and_folder(void **state)
{
	/* not this process' $HOME: who builds a package has another */
	const struct passwd *self = getpwuid(getuid());
	const char *env[] = { "BOX_TEST=one two\nthree", "LANG=xx", NULL };
	const char *argv[] = { "sh", "-c",
		"echo \"$BOX_TEST|$LANG|$USER|$(pwd)|$HOME\"; env | grep -c '^PATH='", NULL };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	_cleanup_free_ char *text = NULL, *wanted = NULL;
	struct guest_result result;
	struct error err = { 0 };

	r.env = env;
	r.cwd = "/tmp";
	text = run(f, r, NULL, &result);
	wanted = str_format(&err, "one two\nthree|xx|%s|/tmp|%s\n1\n", agent_user(), self->pw_dir);
	assert_string_equal(text, wanted);
}

static void test_login_environment(void **state)
{
	const char *argv[] = { "env", "-0", NULL };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	struct guest_result result;
	_cleanup_free_ char *text = NULL;

	r.flags = GUEST_LOGIN;
	text = run(f, r, NULL, &result);
	assert_int_equal(guest_result_status(&result), 0);
	assert_true(strlen(text) > 0);
	assert_true(!strstr(text, "SHLVL"));
}

static void test_streams_are_apart(void **state)
{
	const char *argv[] = { "sh", "-c", "printf out; printf err >&2; cat", NULL };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	struct guest_result result;
	_cleanup_free_ char *out = NULL, *errs = NULL;

	r.stderr_fd = memory_file();
	out = run(f, r, "in\r\n", &result);
	errs = contents(r.stderr_fd);
	(void)close(r.stderr_fd);
	assert_string_equal(out, "outin\r\n");
	assert_string_equal(errs, "err");
}

static void test_no_input_reads_as_empty(void **state)
{
	struct guest_result result;
	_cleanup_free_ char *text = run_sh(*state, "cat; echo done", NULL, &result);

	assert_string_equal(text, "done\n");
}

static void test_input_that_nobody_reads(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "head", "-c", "3", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), out = memory_file();

	r.stdin_fd = zero;
	r.stdout_fd = out;
	assert_ok(guest_exec(f->g, &r, &result, &err), &err);
	assert_int_equal(guest_result_status(&result), 0);
	assert_int_equal(lseek(out, 0, SEEK_END), 3);
	(void)close(zero);
	(void)close(out);
}

/* A pipe whose writer stays open and silent must not hold up the end. */
static void test_end_does_not_wait_for_input(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "sh", "-c", "exit 4", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	r.stdin_fd = pair[0];
	assert_ok(guest_exec(f->g, &r, &result, &err), &err);
	assert_int_equal(guest_result_status(&result), 4);
	/* Our own flags are as they were. */
	assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void test_early_reader_gives_sigpipe(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "yes", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	(void)close(pair[0]);
	r.stdout_fd = pair[1];
	assert_ok(guest_exec(f->g, &r, &result, &err), &err);
	assert_int_equal(result.outcome, GUEST_SIGNALLED);
	assert_int_equal(result.code, SIGPIPE);
	(void)close(pair[1]);
}

static void test_background_process_does_not_hold_the_end(void **state)
{
	struct guest_result result;
	_cleanup_free_ char *text = run_sh(*state, "sleep 60 & echo $!", NULL, &result);
	pid_t left = (pid_t)strtol(text, NULL, 10);

	assert_int_equal(guest_result_status(&result), 0);
	assert_true(left > 1);
	assert_int_equal(kill(left, SIGKILL), 0);
	/* Nor one that writes for ever. */
	free(text);
	text = run_sh(*state, "sh -c 'while :; do echo x; done' & sleep 0.1; echo $! >&2; exit 3",
		NULL, &result);
	assert_int_equal(guest_result_status(&result), 3);
}

static void test_timeout(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "sh", "-c",
		"trap '' TERM; echo begun; sleep 60 & sleep 60; sleep 60", NULL };
	const char *easy[] = { "sleep", "60", NULL };
	struct guest_exec r = request(easy);
	struct guest_result result;
	uint64_t begin = clock_ms();

	r.timeout_ms = 100;
	free(run(f, r, NULL, &result));
	assert_int_equal(result.outcome, GUEST_TIMED_OUT);
	assert_int_equal(guest_result_status(&result), 124);
	assert_true(clock_ms() - begin < 4000);
	/* One that ignores TERM is killed later. */
	r = request(argv);
	r.timeout_ms = 100;
	begin = clock_ms();
	free(run(f, r, NULL, &result));
	assert_int_equal(guest_result_status(&result), 124);
	assert_in_range(clock_ms() - begin, 4000, 12000);
}

/* What a signal handler would do, without a race: the signals wait in a signalfd. */
static int signals_open(sigset_t *before)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, before), 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_signals_reach_the_command(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "sh", "-c",
		"trap 'exit 9' INT; kill -INT $PPID_OF_TEST; while :; do sleep 0.05; done", NULL };
	char self[64];
	const char *env[] = { self, NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	sigset_t before;

	(void)snprintf(self, sizeof(self), "PPID_OF_TEST=%d", getpid());
	r.env = env;
	r.signal_fd = signals_open(&before);
	free(run(f, r, NULL, &result));
	assert_int_equal(result.outcome, GUEST_EXITED);
	assert_int_equal(result.code, 9);
	(void)close(r.signal_fd);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_third_signal_gives_up(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "sh", "-c",
		"trap '' INT TERM; for i in 1 2 3 4 5 6; do kill -TERM $PPID_OF_TEST; sleep 0.1; done; sleep 60",
		NULL };
	char self[64];
	const char *env[] = { self, NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };
	struct timespec none = { 0, 0 };
	sigset_t before, pending;

	(void)snprintf(self, sizeof(self), "PPID_OF_TEST=%d", getpid());
	r.env = env;
	r.signal_fd = signals_open(&before);
	assert_int_equal(guest_exec(f->g, &r, &result, &err), -1);
	assert_error(&err, ERROR_INTERRUPTED, "interrupted");
	guest_close(f->g);
	f->g = NULL;
	/* The hang-up ends what sends them; the last of them must not end this test. */
	assert_int_equal(agent_stop(&f->end, 1), 0);
	assert_int_equal(sigpending(&pending), 0);
	if (sigismember(&pending, SIGTERM)) {
		sigemptyset(&pending);
		sigaddset(&pending, SIGTERM);
		(void)sigtimedwait(&pending, NULL, &none);
	}
	(void)close(r.signal_fd);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	agent_start(&f->end, 1, NULL);
}

static void test_terminal(void **state)
{
	const char *argv[] = { "sh", "-c",
		"test -t 0 && test -t 1 && test -t 2 && stty size && tty >/dev/null; echo err >&2",
		NULL };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	struct guest_result result;
	_cleanup_free_ char *text = NULL;

	r.flags = GUEST_TTY;
	r.rows = 33;
	r.cols = 99;
	text = run(f, r, NULL, &result);
	assert_int_equal(guest_result_status(&result), 0);
	assert_string_equal(text, "33 99\r\nerr\r\n");
}

static void test_terminal_input_ends(void **state)
{
	const char *argv[] = { "cat", NULL };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	struct guest_result result;
	_cleanup_free_ char *text = NULL;

	r.flags = GUEST_TTY;
	text = run(f, r, "hello\n", &result);
	assert_int_equal(guest_result_status(&result), 0);
	assert_string_equal(text, "hello\r\nhello\r\n");
}

/* A person at a terminal: waits for a text, then types the next. */
struct line {
	const char *wait, *type;
};

static void person(int screen, int keyboard, const struct line *lines)
{
	static char text[65536];
	const char *from = text;
	size_t len = 0;

	for (; lines->type; lines++) {
		while (!strstr(from, lines->wait)) {
			ssize_t n = read(screen, text + len, sizeof(text) - 1 - len);

			if (n <= 0)
				_exit(1);
			len += (size_t)n;
			text[len] = 0;
		}
		from = strstr(from, lines->wait) + strlen(lines->wait);
		if (write(keyboard, lines->type, strlen(lines->type)) < 0)
			_exit(2);
	}
	while (read(screen, text, sizeof(text)) > 0)
		;
	_exit(0);
}

static pid_t with_person(struct guest_exec *r, const struct line *lines)
{
	int screen[2], keyboard[2];
	pid_t pid;

	assert_int_equal(pipe2(screen, O_CLOEXEC), 0);
	assert_int_equal(pipe2(keyboard, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(screen[1]);
		(void)close(keyboard[0]);
		person(screen[0], keyboard[1], lines);
	}
	(void)close(screen[0]);
	(void)close(keyboard[1]);
	r->stdin_fd = keyboard[0];
	r->stdout_fd = screen[1];
	return pid;
}

static void test_control_c_in_a_terminal(void **state)
{
	const char *argv[] = { "sh", "-c", "trap 'exit 5' INT; echo begun; read x; sleep 60",
		NULL };
	const struct line lines[] = { { "begun", "\x03" }, { NULL, NULL } };
	struct fixture *f = *state;
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };
	pid_t pid;
	int status;

	r.flags = GUEST_TTY;
	pid = with_person(&r, lines);
	assert_ok(guest_exec(f->g, &r, &result, &err), &err);
	(void)close(r.stdin_fd);
	(void)close(r.stdout_fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(guest_result_status(&result), 5);
}

static void test_shell_is_a_login_shell(void **state)
{
	const struct line lines[] = {
		/* A shell that comes back from a signal drops what was typed before its prompt. */
		{ "", "PS1='pro''mpt>'; echo \"<$0>\"\n" },
		{ "<-", "" },
		{ "prompt>", "tr a-z A-Z\n" },
		{ "tr a-z A-Z", "first\n" },
		{ "FIRST", "\x1a" },
		{ "Stopped", "" },
		{ "prompt>", "kill %1; echo kil''led\n" },
		{ "killed", "" },
		{ "prompt>", "tr a-z A-Z\n" },
		{ "tr a-z A-Z", "loud\n" },
		{ "LOUD", "\x03" },
		{ "prompt>", "echo st=$?\n" },
		{ "st=130", "exit 6\n" },
		{ NULL, NULL },
	};
	struct fixture *f = *state;
	struct guest_exec r = request(NULL);
	struct guest_result result;
	struct error err = { 0 };
	pid_t pid;
	int status;

	r.flags = GUEST_TTY | GUEST_SHELL;
	pid = with_person(&r, lines);
	assert_ok(guest_exec(f->g, &r, &result, &err), &err);
	(void)close(r.stdin_fd);
	(void)close(r.stdout_fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(guest_result_status(&result), 6);
}

/* cksum at both ends of a stream of this many bytes of a running pattern. */
enum { BULK = 64 << 20 };

static void bulk_writer(int fd)
{
	uint32_t block[4096];

	for (uint32_t n = 0; n < BULK / sizeof(block); n++) {
		struct error err = { 0 };

		for (uint32_t i = 0; i < ARRAY_LEN(block); i++)
			block[i] = n * 2654435761u + i * 40503u;
		if (fd_write_all(fd, block, sizeof(block), "bulk", &err) < 0)
			_exit(1);
	}
	_exit(0);
}

/* Start a process with one end of a pipe; the other is returned. */
static int with_pipe(void (*run_in_child)(int fd), bool child_writes, pid_t *ret)
{
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	*ret = fork();
	if (*ret == 0) {
		(void)close(pair[child_writes ? 0 : 1]);
		run_in_child(pair[child_writes ? 1 : 0]);
	}
	(void)close(pair[child_writes ? 1 : 0]);
	return pair[child_writes ? 0 : 1];
}

static void bulk_reader(int fd)
{
	uint32_t block[4096];
	uint8_t *bytes = (uint8_t *)block;

	for (uint32_t n = 0; n < BULK / sizeof(block); n++) {
		for (size_t have = 0; have < sizeof(block);) {
			ssize_t got = read(fd, bytes + have, sizeof(block) - have);

			if (got <= 0)
				_exit(1);
			have += (size_t)got;
		}
		for (uint32_t i = 0; i < ARRAY_LEN(block); i++) {
			if (block[i] != n * 2654435761u + i * 40503u)
				_exit(2);
		}
	}
	_exit(read(fd, block, 1) == 0 ? 0 : 3);
}

/* Through the guest and back: both directions at once, intact, in constant memory. */
static void test_bulk_both_ways(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = { "cat", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };
	pid_t writer, reader;
	int status;

	r.stdin_fd = with_pipe(bulk_writer, true, &writer);
	r.stdout_fd = with_pipe(bulk_reader, false, &reader);
	assert_ok(guest_exec(f->g, &r, &result, &err), &err);
	assert_int_equal(guest_result_status(&result), 0);
	(void)close(r.stdin_fd);
	(void)close(r.stdout_fd);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory */
	assert_true(agent_memory_kib(f->end.pid) < 8192);
#endif
}

static void test_ping_and_info(void **state)
{
	struct fixture *f = *state;
	_cleanup_guest_items_ struct guest_items items = VEC_INIT;
	struct error err = { 0 };
	char host[65] = { 0 };

	assert_ok(guest_ping(f->g, &quick, &err), &err);
	assert_ok(guest_info(f->g, &quick, &items, &err), &err);
	(void)gethostname(host, sizeof(host) - 1);
	assert_string_equal(guest_items_get(&items, "hostname"), host);
	assert_string_equal(guest_items_get(&items, "protocol"), "1");
	assert_non_null(guest_items_get(&items, "boot-id"));
	assert_null(guest_items_get(&items, "no-such-item"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_death_by_signal),
		cmocka_unit_test(test_not_executable),
		cmocka_unit_test(test_unknown_user_and_folder),
		cmocka_unit_test(test_arguments_are_exact),
		cmocka_unit_test(test_environment_and_folder),
		cmocka_unit_test(test_login_environment),
		cmocka_unit_test(test_streams_are_apart),
		cmocka_unit_test(test_no_input_reads_as_empty),
		cmocka_unit_test(test_input_that_nobody_reads),
		cmocka_unit_test(test_end_does_not_wait_for_input),
		cmocka_unit_test(test_early_reader_gives_sigpipe),
		cmocka_unit_test(test_background_process_does_not_hold_the_end),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_signals_reach_the_command),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_terminal_input_ends),
		cmocka_unit_test(test_control_c_in_a_terminal),
		cmocka_unit_test(test_shell_is_a_login_shell),
		cmocka_unit_test(test_bulk_both_ways),
		cmocka_unit_test(test_ping_and_info),
		cmocka_unit_test(test_third_signal_gives_up),
	};

	(void)virEventRegisterDefaultImpl();
	return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child makes a pseudo-terminal raw and ends in some way; its settings must be as they were. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/tty.h"

struct terminal {
	int master, slave;
	struct termios before;
};

static void terminal_open(struct terminal *t)
{
	assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, NULL), 0);
	assert_int_equal(tcgetattr(t->slave, &t->before), 0);
	assert_true(t->before.c_lflag & ICANON);
}

static bool is_raw(const struct terminal *t)
{
	struct termios now;

	assert_int_equal(tcgetattr(t->slave, &now), 0);
	return !(now.c_lflag & ICANON);
}

static void assert_restored(struct terminal *t)
{
	struct termios now;

	assert_int_equal(tcgetattr(t->slave, &now), 0);
	assert_int_equal(now.c_lflag, t->before.c_lflag);
	assert_int_equal(now.c_iflag, t->before.c_iflag);
	assert_int_equal(now.c_oflag, t->before.c_oflag);
	(void)close(t->master);
	(void)close(t->slave);
}

enum ending { RETURN, EXIT, WAIT };

/* A child that says when the terminal is raw, and then ends so or waits for a signal. */
static pid_t child(struct terminal *t, enum ending ending)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = { 0 };

		/*
		 * A group of its own, whose parent is in the session too: the kernel ignores SIGTSTP
		 * for an orphaned group, which is what a test runner may have put us in.
		 */
		(void)setpgid(0, 0);
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka has handlers of its own */
		(void)signal(SIGABRT, SIG_DFL);
		(void)signal(SIGINT, SIG_DFL); /* ignored in what a shell starts with "&" */
		(void)signal(SIGQUIT, SIG_DFL);
		if (tty_raw(t->slave, &err) < 0 || !is_raw(t) || write(ready[1], "x", 1) != 1)
			_exit(99);
		if (ending == RETURN) {
			tty_restore();
			_exit(0);
		}
		if (ending == EXIT)
			exit(7); /* NOLINT: atexit is what is tested */
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static int status_of(pid_t pid, int flags)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, flags), pid);
	return status;
}

static void test_return_and_exit_restore(void **state)
{
	struct terminal t;

	(void)state;
	terminal_open(&t);
	assert_int_equal(WEXITSTATUS(status_of(child(&t, RETURN), 0)), 0);
	assert_restored(&t);
	terminal_open(&t);
	assert_int_equal(WEXITSTATUS(status_of(child(&t, EXIT), 0)), 7);
	assert_restored(&t);
}

static void test_a_signal_restores_and_kills_all_the_same(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct terminal t;
		pid_t pid;
		int status;

		terminal_open(&t);
		pid = child(&t, WAIT);
		assert_true(is_raw(&t));
		assert_int_equal(kill(pid, signals[i]), 0);
		status = status_of(pid, 0);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_restored(&t);
	}
}

static void test_a_stopped_process_leaves_the_terminal_usable(void **state)
{
	struct terminal t;
	pid_t pid;

	(void)state;
	if (under_valgrind())
		skip();
	terminal_open(&t);
	pid = child(&t, WAIT);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(kill(pid, SIGTSTP), 0);
		assert_true(WIFSTOPPED(status_of(pid, WUNTRACED)));
		assert_false(is_raw(&t));
		assert_int_equal(kill(pid, SIGCONT), 0);
		assert_true(WIFCONTINUED(status_of(pid, WCONTINUED)));
		for (int i = 0; i < 2000 && !is_raw(&t); i++)
			(void)usleep(1000); /* the handler runs when the kernel lets it */
		assert_true(is_raw(&t));
	}
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(WIFSIGNALED(status_of(pid, 0)));
	assert_restored(&t);
}

static void test_what_is_no_terminal_is_refused(void **state)
{
	struct error err = { 0 };
	unsigned rows = 1, columns = 2;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(tty_raw(fd, &err), -1);
	assert_error(&err, ERROR_FAILED, "cannot read the terminal's settings: ");
	assert_false(tty_size(fd, &rows, &columns));
	assert_int_equal(rows, 1);
	tty_restore();
	(void)close(fd);
}

static void test_size_is_read(void **state)
{
	const struct winsize size = { .ws_row = 40, .ws_col = 132 };
	unsigned rows, columns;
	int master, slave;

	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	assert_true(tty_size(slave, &rows, &columns));
	assert_int_equal(rows, 40);
	assert_int_equal(columns, 132);
	(void)close(master);
	(void)close(slave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_return_and_exit_restore),
		cmocka_unit_test(test_a_signal_restores_and_kills_all_the_same),
		cmocka_unit_test(test_a_stopped_process_leaves_the_terminal_usable),
		cmocka_unit_test(test_what_is_no_terminal_is_refused),
		cmocka_unit_test(test_size_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

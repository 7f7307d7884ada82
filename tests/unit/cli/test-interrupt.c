/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/interrupt.h"

static bool readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, 0) == 1;
}

/* What a child did after it watched and got sig times times. */
static int child(int sig, int times)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = { 0 };

		(void)signal(SIGHUP, SIG_IGN);
		if (interrupt_check(&err) < 0 || interrupt_watch(&err) < 0 ||
			readable(interrupt_fd()))
			_exit(99);
		for (int i = 0; i < times; i++)
			(void)raise(sig);
		if (interrupt_check(&err) == 0)
			_exit(0);
		if (err.kind != ERROR_INTERRUPTED || !*interrupt_flag() ||
			!readable(interrupt_fd()))
			_exit(98);
		interrupt_die();
		_exit(97);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_the_first_is_noted_and_the_process_dies_of_it_in_the_end(void **state)
{
	int status = child(SIGTERM, 1);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void test_the_second_kills(void **state)
{
	int status = child(SIGINT, 2);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

static void test_what_was_ignored_stays_ignored(void **state)
{
	int status = child(SIGHUP, 2);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_is_noted_and_the_process_dies_of_it_in_the_end),
		cmocka_unit_test(test_the_second_kills),
		cmocka_unit_test(test_what_was_ignored_stays_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

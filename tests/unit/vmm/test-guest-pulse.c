/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many agents asked at once: real ones, that answer, are stopped or killed, and ends that nobody serves. */
#include "tests/unit/test.h"

#include <libvirt/libvirt.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/agent-end.h"
#include "vmm/guest-pulse.h"
#include "vmm/virt.h"

enum { BRIEF_MS = 700, PATIENT_MS = 20000, MANY = 50 };

/* The host's end of a pair; theirs is the test's. */
static int end_of_pair(int *ret_theirs)
{
	int pair[2];

	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	*ret_theirs = pair[1];
	return pair[0];
}

/* Ask, and say how long that took. */
static uint64_t ask(struct guest_pulse *all, size_t count, uint64_t ms)
{
	uint64_t begin = clock_ms();
	struct error err = { 0 };

	assert_ok(guest_pulse(all, count, ms, &err), &err);
	return clock_ms() - begin;
}

static void test_nobody(void **state)
{
	(void)state;
	assert_true(ask(NULL, 0, PATIENT_MS) < BRIEF_MS);
}

/* One that is there is not waited for. */
static void test_one_answers(void **state)
{
	struct guest_pulse p = { .fd = -1 };
	struct agent_end end;

	(void)state;
	agent_start(&end, 1, NULL);
	p.fd = end.fd;
	end.fd = -1;
	assert_true(ask(&p, 1, PATIENT_MS) < PATIENT_MS);
	assert_int_equal(ERROR_NONE, p.err.kind);
	assert_int_equal(0, agent_stop(&end, 1));
}

/* A stopped agent's stream stays open, a killed one's ends: the others are heard all the same. */
static void test_stopped_and_killed(void **state)
{
	struct agent_end stopped, killed, well;
	struct guest_pulse all[3] = { { .fd = -1 } };

	(void)state;
	agent_start(&stopped, 1, NULL);
	agent_start(&killed, 1, NULL);
	agent_start(&well, 1, NULL);
	assert_int_equal(0, kill(stopped.pid, SIGSTOP));
	assert_int_equal(0, kill(killed.pid, SIGKILL));
	assert_int_equal(killed.pid, waitpid(killed.pid, NULL, 0));
	all[0].fd = stopped.fd;
	all[1].fd = killed.fd;
	all[2].fd = well.fd;
	stopped.fd = well.fd = -1;
	assert_in_range(ask(all, 3, 3000), 2900, 6000);
	assert_error(&all[0].err, ERROR_UNREACHABLE, "its agent has not answered for 3.0 s");
	assert_error(&all[1].err, ERROR_UNREACHABLE, "");
	assert_int_equal(ERROR_NONE, all[2].err.kind);
	assert_int_equal(0, kill(stopped.pid, SIGCONT));
	assert_int_equal(0, agent_stop(&stopped, 1));
	assert_int_equal(0, agent_stop(&well, 1));
}

/* Fifty take as long as one. */
static void test_many_silent(void **state)
{
	struct guest_pulse all[MANY] = { { .fd = -1 } };
	int theirs[MANY];
	uint64_t took;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		all[i].fd = end_of_pair(&theirs[i]);
	took = ask(all, MANY, BRIEF_MS);
	assert_in_range(took, BRIEF_MS - 50, 4 * BRIEF_MS);
	for (size_t i = 0; i < MANY; i++) {
		assert_error(&all[i].err, ERROR_UNREACHABLE, "has not answered");
		(void)close(theirs[i]);
	}
}

/* Bytes without end, that are no answer: neither time nor the others are lost to them. */
static void test_noise(void **state)
{
	struct guest_pulse all[2] = { { .fd = -1 } };
	struct agent_end well;
	int theirs;
	pid_t pid;

	(void)state;
	agent_start(&well, 1, NULL);
	all[0].fd = end_of_pair(&theirs);
	all[1].fd = well.fd;
	well.fd = -1;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		static const char noise[4096];

		(void)signal(SIGPIPE, SIG_IGN);
		(void)close(all[0].fd);
		while (write(theirs, noise, sizeof(noise)) > 0)
			;
		_exit(0);
	}
	(void)close(theirs);
	assert_in_range(ask(all, 2, 3000), 2900, 6000);
	assert_error(&all[0].err, ERROR_UNREACHABLE, "has not answered");
	assert_int_equal(ERROR_NONE, all[1].err.kind);
	assert_int_equal(pid, waitpid(pid, NULL, 0));
	assert_int_equal(0, agent_stop(&well, 1));
}

static volatile sig_atomic_t raised;

static void on_alarm(int sig)
{
	(void)sig;
	raised = 1;
}

static void test_interrupted(void **state)
{
	const struct sigaction note = { .sa_handler = on_alarm };
	struct guest_pulse p = { .fd = -1 };
	uint64_t begin = clock_ms();
	struct error err = { 0 };
	int theirs;

	(void)state;
	p.fd = end_of_pair(&theirs);
	assert_int_equal(0, sigaction(SIGALRM, &note, NULL));
	virt_interrupt_flag(&raised);
	(void)alarm(1);
	assert_int_equal(-1, guest_pulse(&p, 1, PATIENT_MS, &err));
	assert_error(&err, ERROR_INTERRUPTED, "interrupted");
	assert_true(clock_ms() - begin < PATIENT_MS / 2);
	virt_interrupt_flag(NULL);
	(void)close(theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_one_answers),
		cmocka_unit_test(test_stopped_and_killed),
		cmocka_unit_test(test_many_silent),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_interrupted),
	};

	(void)virEventRegisterDefaultImpl();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

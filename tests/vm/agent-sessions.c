/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands in sessions: one, many after one another, many at once, and when an end vanishes. */
#include "tests/vm/agent-guest.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/channel.h"
#include "vmm/virt.h"

enum { ABORTS = 100, ROW = 50, AT_ONCE = 8 };

void test_statuses(void **state)
{
	const int statuses[] = { 0, 7, 42, 124, 125, 126, 127, 130, 137, 143, 255 };
	_cleanup_(guest_close_p) struct guest *g = agent_session(0);
	const char *missing[] = { "no-such-command", NULL };
	int status;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		char script[32];

		(void)snprintf(script, sizeof(script), "exit %d", statuses[i]);
		free(agent_sh(g, script, &status));
		assert_int_equal(status, statuses[i]);
	}
	free(agent_sh(g, "kill -KILL $$", &status));
	assert_int_equal(status, 137);
	free(agent_run(g, agent_request(missing), &status));
	assert_int_equal(status, 127);
}

void test_user_and_login(void **state)
{
	const char *argv[] = { "sh", "-c", "id -un; id -Gn; pwd; echo $FROM_PROFILE; echo $HOME",
		NULL };
	_cleanup_(guest_close_p) struct guest *g = agent_session(1);
	_cleanup_free_ char *plain = NULL, *login = NULL;
	struct guest_exec r = agent_request(argv);
	int status;

	(void)state;
	r.user = "dev";
	plain = agent_run(g, r, &status);
	assert_string_equal(plain, "dev\ndev wheel\n/home/dev\n\n/home/dev\n");
	r.flags = GUEST_LOGIN;
	login = agent_run(g, r, &status);
	assert_string_equal(login, "dev\ndev wheel\n/home/dev\nyes\n/home/dev\n");
}

void test_terminal(void **state)
{
	const char *argv[] = { "sh", "-c",
		"tty | sed s/[0-9]*$/N/; stty size; stat -c %u:%g:%a $(tty); id -u", NULL };
	_cleanup_(guest_close_p) struct guest *g = agent_session(0);
	struct guest_exec r = agent_request(argv);
	_cleanup_free_ char *text = NULL;
	int status;

	(void)state;
	r.user = "dev";
	r.flags = GUEST_TTY;
	r.rows = 50;
	r.cols = 132;
	text = agent_run(g, r, &status);
	assert_string_equal(text, "/dev/pts/N\r\n50 132\r\n1000:5:620\r\n1000\r\n");
}

void test_closed_ends(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = agent_session(3);
	const char *yes[] = { "yes", NULL };
	struct guest_exec r = agent_request(yes);
	struct guest_result result;
	struct error err = { 0 };
	_cleanup_free_ char *text = NULL;
	int pair[2], status;

	(void)state;
	text = agent_sh(g, "cat; echo end", &status);
	assert_string_equal(text, "end\n");
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	(void)close(pair[0]);
	r.stdout_fd = pair[1];
	assert_ok(guest_exec(g, &r, &result, &err), &err);
	assert_int_equal(guest_result_status(&result), 128 + SIGPIPE);
	(void)close(pair[1]);
}

void test_sessions_in_a_row(void **state)
{
	uint64_t begin = clock_ms(), execs;
	const char *argv[] = { "true", NULL };
	struct guest *g;
	int status;

	(void)state;
	for (int i = 0; i < ROW; i++) {
		g = agent_session(0);
		free(agent_run(g, agent_request(argv), &status));
		assert_int_equal(status, 0);
		guest_close(g);
	}
	execs = clock_ms();
	g = agent_session(0);
	for (int i = 0; i < ROW; i++)
		free(agent_run(g, agent_request(argv), &status));
	guest_close(g);
	print_message(
		"%d sessions of one true(1): %.1f ms each; one true(1) in an open session: %.1f ms\n",
		ROW, (double)(execs - begin) / ROW, (double)(clock_ms() - execs) / ROW);
}

/* ---- side by side, and ends that vanish ---- */

/* Goes on only when all the others are there too: sessions are side by side, or this ends with 9. */
void copy_a_megabyte(int port)
{
	static const char script[] =
		"mkdir -p /run/at; touch /run/at/%d; n=0;"
		"until [ $(ls /run/at | wc -l) = %d ]; do n=$((n+1)); [ $n -lt 400 ] || exit 9; sleep 0.1; done;"
		"head -c 1000000 /dev/zero | tr '\\0' x";
	struct error err = { 0 };
	_cleanup_free_ char *command = str_format(&err, script, port, AT_ONCE);
	struct guest *g = agent_session(port);
	int status;
	char *text = agent_sh(g, command, &status);

	if (status || strlen(text) != 1000000 || strspn(text, "x") != 1000000)
		_exit(status ? status : 1);
	guest_close(g);
}

void test_many_at_once(void **state)
{
	pid_t pids[AT_ONCE];

	(void)state;
	for (int i = 0; i < AT_ONCE; i++)
		pids[i] = agent_in_child("copy", i);
	for (int i = 0; i < AT_ONCE; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

void stream_for_ever(int port)
{
	struct guest *g = agent_session(port);
	const char *argv[] = { "sh", "-c", "exec tee /dev/stderr", NULL };
	struct guest_exec r = agent_request(argv);
	struct guest_result result;
	struct error err = { 0 };

	r.stdin_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	(void)!guest_exec(g, &r, &result, &err);
	_exit(1);
}

/* A host that vanishes within frames leaves nothing: neither bytes nor processes. */
void test_killed_in_mid_stream(void **state)
{
	uint64_t begin = clock_ms();
	_cleanup_free_ char *text = NULL;
	struct guest *g;
	int status;

	(void)state;
	for (int i = 0; i < ABORTS; i++) {
		pid_t pid = agent_in_child("stream", 4);
		long ms = 5 + i * 13 % 150;

		(void)nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
	g = agent_session(4);
	text = agent_sh(g, "echo clean; cat /dev/null", &status);
	guest_close(g);
	assert_string_equal(text, "clean\n");
	free(text);
	text = agent_sh_once("pidof tee || echo none");
	assert_string_equal(text, "none\n");
	print_message("%d aborted sessions in %llu ms\n", ABORTS,
		(unsigned long long)(clock_ms() - begin));
}

void sleep_at_a_terminal(int port)
{
	const char *argv[] = { "sh", "-c",
		"(trap '' HUP; exec /bin/sleep 987) & exec /bin/sleep 986", NULL };
	struct guest_exec r = agent_request(argv);
	struct guest_result result;
	struct error err = { 0 };

	r.flags = GUEST_TTY;
	(void)!guest_exec(agent_session(port), &r, &result, &err);
}

void test_hang_up_ends_what_runs(void **state)
{
	pid_t pid = agent_in_child("sleep", 5);
	_cleanup_free_ char *text = NULL;

	(void)state;
	text = agent_sh_once(
		"for i in $(seq 100); do [ $(ps -o args | grep -c '^/bin/sleep 98[67]') = 2 ] && exit; sleep 0.1; done; exit 1");
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)waitpid(pid, NULL, 0);
	free(text);
	text = agent_sh_once(
		"for i in $(seq 100); do ps -o args | grep -q '^/bin/sleep 986' || break; sleep 0.1; done;"
		"ps -o args | grep '^/bin/sleep'");
	/* What was told not to mind goes on, as after a closed terminal. */
	assert_non_null(strstr(text, "/bin/sleep 987"));
	assert_null(strstr(text, "/bin/sleep 986"));
}

/* The agent dies and is started again by its unit (here: the loop of init). */
void test_agent_restarted(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = agent_session(3);
	const char *argv[] = { "sh", "-c", "kill -9 $PPID; sleep 100", NULL };
	struct guest_exec r = agent_request(argv);
	struct guest_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(guest_exec(g, &r, &result, &err), -1);
	assert_error(&err, ERROR_UNREACHABLE, "the agent in the box was started again");
	guest_close(TAKE(g));
	g = agent_session(3);
	assert_ok(guest_ping(g, &agent_quick, &err), &err);
}

/* ---- with libvirt ---- */

void test_all_ports_in_use(void **state)
{
	struct guest *all[CHANNEL_PORTS];
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < CHANNEL_PORTS; i++)
		all[i] = agent_session(0);
	assert_null(guest_open(agent_dom, &agent_quick, &err));
	assert_error(&err, ERROR_BUSY, "all ways into box '");
	guest_close(all[7]);
	all[7] = agent_session(0);
	for (int i = 0; i < CHANNEL_PORTS; i++)
		guest_close(all[i]);
}

/* Last of all: the domain ends within a session. */
void test_domain_ends(void **state)
{
	const char *argv[] = { "sh", "-c", "echo begun; sleep 1000", NULL };
	struct guest_exec r = agent_request(argv);
	struct guest *g = agent_session(0);
	struct guest_result result;
	struct error err = { 0 };
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		(void)execlp("virsh", "virsh", "-q", "destroy", agent_domain, (char *)NULL);
		_exit(98);
	}
	assert_int_equal(guest_exec(g, &r, &result, &err), -1);
	assert_int_equal(err.kind, ERROR_UNREACHABLE);
	guest_close(g);
	(void)waitpid(pid, NULL, 0);
	error_clear(&err);
	assert_null(guest_open(agent_dom, &agent_quick, &err));
	assert_error(&err, ERROR_UNREACHABLE, "does not run; start it first: box start");
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session with the guest agent costs, without a guest: both ends on this machine, over a socket
 * pair, against the plain thing in the same run (fork and exec of the same command; the same bytes through
 * a pipe by two processes of cat). Prints a table; fails if the agent's memory grows with what it carries.
 *
 * usage: bench-session AGENT [MIB]
 */
#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "vmm/guest.h"

enum { COMMANDS = 300, MEMORY_MAX_KIB = 8192 };

static const struct guest_wait wait_for = { .timeout_ms = 10000 };

static double now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

NORETURN static void die(const char *what, const struct error *err)
{
	(void)fprintf(stderr, "bench-session: %s: %s\n", what, err->text);
	exit(1);
}

static struct guest *start_agent(const char *program, pid_t *ret_pid)
{
	struct error err = { 0 };
	struct guest *g;
	int pair[2];
	char number[16];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)fcntl(pair[1], F_SETFD, 0);
		(void)snprintf(number, sizeof(number), "%d", pair[1]);
		(void)execl(program, program, "serve", "--fd", number, (char *)NULL);
		_exit(99);
	}
	(void)close(pair[1]);
	g = guest_open_fd(pair[0], &wait_for, &err);
	if (!g)
		die("no session", &err);
	return g;
}

static void command(struct guest *g, const char *const *argv, int in, int out)
{
	const struct guest_exec r = {
		.argv = argv, .stdin_fd = in, .stdout_fd = out, .stderr_fd = -1
	};
	struct guest_result result;
	struct error err = { 0 };

	if (guest_exec(g, &r, &result, &err) < 0)
		die("no command", &err);
	if (guest_result_status(&result)) {
		(void)fprintf(stderr, "bench-session: '%s' ended with %d\n", argv[0],
			guest_result_status(&result));
		exit(1);
	}
}

static double latency_session(struct guest *g)
{
	const char *argv[] = { "/bin/true", NULL };
	double begin = now();

	for (int i = 0; i < COMMANDS; i++)
		command(g, argv, -1, -1);
	return (now() - begin) / COMMANDS * 1e6;
}

static double latency_plain(void)
{
	const char *argv[] = { "/bin/true", NULL };
	const struct run run = { .argv = argv };
	struct error err = { 0 };
	double begin = now();

	for (int i = 0; i < COMMANDS; i++) {
		if (run_program(&run, NULL, &err) < 0)
			die("plain", &err);
	}
	return (now() - begin) / COMMANDS * 1e6;
}

/* MB/s of one direction, by the shell that is given the number of MiB. */
static double throughput(struct guest *g, unsigned mib, bool to_guest)
{
	struct error err = { 0 };
	_cleanup_free_ char *script = str_format(&err, "head -c %uM /dev/zero", mib);
	_cleanup_free_ char *sink = str_format(
		&err, "test $(wc -c) = %llu", (unsigned long long)mib << 20);
	const char *argv[] = { "sh", "-c", to_guest ? sink : script, NULL };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), in = -1;
	double begin;

	if (to_guest) {
		FILE *f = popen(script, "re");

		in = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
		begin = now();
		command(g, argv, in, null);
		(void)close(in);
		(void)pclose(f);
	} else {
		begin = now();
		command(g, argv, -1, null);
	}
	(void)close(null);
	return (double)mib * 1.048576 / (now() - begin);
}

/* The same bytes through pipes and two copies, as little as can carry them between processes. */
static double throughput_plain(unsigned mib)
{
	struct error err = { 0 };
	_cleanup_free_ char *script = str_format(
		&err, "head -c %uM /dev/zero | cat | cat | cat >/dev/null", mib);
	const char *argv[] = { "sh", "-c", script, NULL };
	double begin = now();

	if (run_program(&(struct run){ .argv = argv }, NULL, &err) < 0)
		die("plain", &err);
	return (double)mib * 1.048576 / (now() - begin);
}

static long memory_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "VmHWM: %ld", &kib);
	if (f)
		(void)fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	unsigned mib = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1024;
	double session, plain, out, in, cats;
	long agent;
	struct guest *g;
	pid_t pid;

	if (argc < 2 || !mib)
		return 2;
	(void)virEventRegisterDefaultImpl();
	(void)signal(SIGPIPE, SIG_IGN);
	g = start_agent(argv[1], &pid);
	session = latency_session(g);
	plain = latency_plain();
	out = throughput(g, mib, false);
	in = throughput(g, mib, true);
	cats = throughput_plain(mib);
	agent = memory_kib(pid);
	guest_close(g);
	(void)waitpid(pid, NULL, 0);
	(void)printf("| what | session | plain | ratio |\n| --- | --- | --- | --- |\n"
		     "| one true(1), us | %.0f | %.0f | %.2f |\n"
		     "| command's output, %u MiB, MB/s | %.0f | %.0f | %.2f |\n"
		     "| command's input, %u MiB, MB/s | %.0f | %.0f | %.2f |\n"
		     "| agent's peak memory, KiB | %ld | | |\n"
		     "| host's peak memory, KiB | %ld | | |\n",
		session, plain, session / plain, mib, out, cats, out / cats, mib, in, cats,
		in / cats, agent, memory_kib(getpid()));
	return agent > MEMORY_MAX_KIB;
}

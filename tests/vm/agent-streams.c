/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes through the agent: exact, and many of them in little memory. */
#include "tests/vm/agent-guest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "vmm/virt.h"

enum { BULK_GROWTH_KB = 8192 };

void test_binary_input(void **state)
{
	enum { BYTES = 4 << 20 };
	_cleanup_(guest_close_p) struct guest *g = agent_session(2);
	_cleanup_free_ char *in = malloc(BYTES), *out = NULL;
	const char *argv[] = { "cat", NULL };
	struct guest_exec r = agent_request(argv);
	struct guest_result result;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < BYTES; i += 256)
		assert_int_equal(getrandom(in + i, 256, 0), 256);
	r.stdin_fd = memfd_create("in", MFD_CLOEXEC);
	r.stdout_fd = memfd_create("out", MFD_CLOEXEC);
	assert_ok(fd_write_all(r.stdin_fd, in, BYTES, "input", &err), &err);
	assert_int_equal(lseek(r.stdin_fd, 0, SEEK_SET), 0);
	assert_ok(guest_exec(g, &r, &result, &err), &err);
	assert_int_equal(guest_result_status(&result), 0);
	assert_int_equal(lseek(r.stdout_fd, 0, SEEK_END), BYTES);
	out = file_contents(r.stdout_fd);
	assert_memory_equal(in, out, BYTES);
	(void)close(r.stdin_fd);
	(void)close(r.stdout_fd);
}

/* ---- a long stream ---- */

/*
 * So many random blocks, each behind its number so that none is like another, and the same each time; in
 * the guest and on the host alike.
 */
static char *stream_of(const char *folder)
{
	static const char script[] =
		"cd %s; [ -e block ] || head -c 1048576 /dev/urandom >block; n=0;"
		"while [ $n -lt %llu ]; do echo $n; cat block; n=$((n+1)); done";

	return str_format(&(struct error){ 0 }, script, folder, (unsigned long long)agent_bulk_mib);
}

static char *digest_of(const char *stream)
{
	return str_format(&(struct error){ 0 }, "(%s) | md5sum", stream);
}

/* A program of the host with these for stdin and stdout, which it gets to keep. */
static pid_t host_run(const char *script, int in, int out)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(in, STDIN_FILENO);
		(void)dup2(out, STDOUT_FILENO);
		(void)execlp("sh", "sh", "-c", script, (char *)NULL);
		_exit(98);
	}
	(void)close(in);
	(void)close(out);
	return pid;
}

static void host_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A number of KiB from our /proc/self/status. */
static long own_memory(const char *field)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	const char *at;

	assert_ok(file_read(AT_FDCWD, "/proc/self/status", 1 << 16, &text, &err), &err);
	at = strstr(str_get(&text), field);
	assert_non_null(at);
	return strtol(at + strlen(field), NULL, 10);
}

/* From here on VmHWM is the peak of what comes. Returns what is resident, in KiB. */
static long forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "5", 1), 1);
	(void)close(fd);
	return own_memory("VmRSS:");
}

static void say_rate(const char *what, uint64_t begin)
{
	uint64_t ms = clock_ms() - begin;

	print_message("%s: %llu MiB, %.1f MB/s, digests and all\n", what,
		(unsigned long long)agent_bulk_mib,
		(double)(agent_bulk_mib << 20) / 1000.0 / (double)MAX(ms, (uint64_t)1));
}

/* What md5sum printed of both ends; of nothing it prints something, too. */
static void same_digest(const char *sent, const char *got)
{
	assert_int_equal(strlen(got), strlen("d41d8cd98f00b204e9800998ecf8427e  -\n"));
	assert_string_not_equal(got, "d41d8cd98f00b204e9800998ecf8427e  -\n");
	assert_string_equal(sent, got);
}

static void bulk_from_guest(struct guest *g)
{
	_cleanup_free_ char *stream = stream_of("/run"), *digest = digest_of(stream);
	_cleanup_free_ char *sent = NULL, *got = NULL;
	const char *argv[] = { "sh", "-c", stream, NULL };
	struct guest_exec r = agent_request(argv);
	uint64_t begin = clock_ms();
	struct guest_result result;
	struct error err = { 0 };
	int ends[2], sum = memfd_create("sum", MFD_CLOEXEC);
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = host_run("md5sum", ends[0], dup(sum));
	r.stdout_fd = ends[1];
	assert_ok(guest_exec(g, &r, &result, &err), &err);
	(void)close(ends[1]);
	assert_int_equal(guest_result_status(&result), 0);
	host_wait(pid);
	say_rate("guest to host", begin);
	got = file_contents(sum);
	(void)close(sum);
	sent = agent_sh_once(digest);
	same_digest(sent, got);
}

static void bulk_to_guest(struct guest *g)
{
	char folder[] = "/tmp/box-agent-bulk.XXXXXX";
	const char *argv[] = { "md5sum", NULL };
	struct guest_exec r = agent_request(argv);
	_cleanup_free_ char *stream = NULL, *digest = NULL, *got = NULL, *sent = NULL;
	int ends[2], status, sum = memfd_create("sum", MFD_CLOEXEC);
	uint64_t begin = clock_ms();
	struct error err = { 0 };
	pid_t pid;

	assert_non_null(mkdtemp(folder));
	stream = stream_of(folder);
	digest = digest_of(stream);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = host_run(stream, open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1]);
	r.stdin_fd = ends[0];
	got = agent_run(g, r, &status);
	(void)close(ends[0]);
	assert_int_equal(status, 0);
	host_wait(pid);
	say_rate("host to guest", begin);
	host_wait(host_run(digest, open("/dev/null", O_RDONLY | O_CLOEXEC), dup(sum)));
	sent = file_contents(sum);
	(void)close(sum);
	same_digest(sent, got);
	assert_ok(file_remove_tree(folder, &err), &err);
}

/* Intact each way, and the memory of both ends does not grow with the length. */
void test_bulk(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = agent_session(6);
	_cleanup_free_ char *text = NULL;
	long before = forget_peak(), growth;

	(void)state;
	bulk_from_guest(g);
	bulk_to_guest(g);
	growth = own_memory("VmHWM:") - before;
	print_message("peak memory: this end grew by %ld kB\n", growth);
	assert_in_range(MAX(growth, 0L), 0, BULK_GROWTH_KB);
	text = agent_sh_once(
		"sed -n 's/VmHWM: *//p' /proc/$(pidof box-agent | awk '{print $NF}')/status");
	print_message("agent's peak memory: %s", text);
	assert_in_range(strtol(text, NULL, 10), 100, 16384);
}

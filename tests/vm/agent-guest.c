/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's sessions against the agent inside a real guest kernel: QEMU without acceleration boots an
 * initramfs (micro-guest.sh) in a few seconds, and every port box.agent.N is a Unix socket of the test.
 *
 * With --domain the guest is a running libvirt domain instead, and the way in is libvirt's channel.
 *
 * usage: agent-guest [--bulk MIB] KERNEL INITRAMFS
 *        agent-guest [--bulk MIB] --domain NAME
 *        agent-guest --child WORK PORT PLACE     a process of a test; PLACE is its folder or domain
 */
#include "base/clock.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/run.h"
#include "vmm/channel.h"
#include "vmm/guest.h"
#include "vmm/virt.h"

enum { PORTS = 10, DISK_MIB = 32, ABORTS = 100, ROW = 50, AT_ONCE = 8, BULK_GROWTH_KB = 8192 };

static const struct guest_wait patient = { .timeout_ms = 200000 };
static const struct guest_wait quick = { .timeout_ms = 30000 };

static char dir[64] = "/tmp/box-agent-guest.XXXXXX";
static const char *kernel, *initramfs;
static pid_t qemu;
static bool child; /* in a process of a test: failing there must not go on with the other tests */
static const char *domain; /* NULL: QEMU of our own */
static virConnectPtr conn;
static virDomainPtr dom;
static uint64_t bulk_mib = 64;

/* ---- the guest ---- */

static char *socket_path(int port)
{
	struct error err = { 0 };
	char *path = str_format(&err, "%s/port%d", dir, port);

	assert_non_null(path);
	return path;
}

static void make_disk(void)
{
	struct error err = { 0 };
	_cleanup_free_ char *path = str_format(&err, "%s/disk", dir);
	const char *argv[] = { "mkfs.ext4", "-q", "-F", path, NULL };
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, DISK_MIB << 20), 0);
	(void)close(fd);
	assert_ok(run_program(&(struct run){ .argv = argv }, NULL, &err), &err);
}

struct text_list {
	char *items[128];
	size_t len;
};

PRINTF_LIKE(2, 3) static void add(struct text_list *list, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	assert_true(list->len + 1 < ARRAY_LEN(list->items));
	assert_true(vasprintf(&list->items[list->len++], fmt, ap) >= 0);
	va_end(ap);
}

static void start_qemu(void)
{
	struct text_list argv = { .len = 0 };
	const char *const fixed[] = {
		"qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
		"-m", "256", "-smp", "2", "-nodefaults", "-no-user-config", "-no-reboot",
		"-display", "none", "-append", "console=ttyS0 quiet no_timer_check panic=-1",
		"-device", "virtio-serial-pci", "-netdev", "hubport,id=n0,hubid=0", "-device",
		"virtio-net-pci,netdev=n0,mac=52:54:00:11:11:11", "-smbios",
		"type=1,uuid=11111111-2222-3333-4444-555555555555,serial=ds=nocloud;;i=iid-1;;h=first"
	};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		add(&argv, "%s", fixed[i]);
	add(&argv, "-kernel");
	add(&argv, "%s", kernel);
	add(&argv, "-initrd");
	add(&argv, "%s", initramfs);
	add(&argv, "-serial");
	add(&argv, "file:%s/console", dir);
	add(&argv, "-drive");
	add(&argv, "file=%s/disk,format=raw,if=virtio", dir);
	for (int i = 0; i < PORTS; i++) {
		add(&argv, "-chardev");
		add(&argv, "socket,id=p%d,path=%s/port%d,server=on,wait=off", i, dir, i);
		add(&argv, "-device");
		add(&argv, "virtserialport,chardev=p%d,name=box.agent.%d", i, i);
	}
	qemu = fork();
	assert_true(qemu >= 0);
	if (qemu == 0) {
		(void)execvp(argv.items[0], argv.items);
		_exit(99);
	}
	for (size_t i = 0; i < argv.len; i++)
		free(argv.items[i]);
}

/* Connect to a port; QEMU makes the sockets within its first moments. */
static int port_connect(int port)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_free_ char *path = socket_path(port);

	memccpy(address.sun_path, path, 0, sizeof(address.sun_path) - 1);
	for (int tries = 0; tries < 500; tries++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_true(fd >= 0);
		if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		(void)close(fd);
		assert_int_equal(waitpid(qemu, NULL, WNOHANG), 0);
		(void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	fail_msg("no socket '%s'", path);
	return -1;
}

/* On a port; with libvirt on any that is free. */
static struct guest *open_session(int port, const struct guest_wait *wait, struct error *err)
{
	return domain ? guest_open(dom, wait, err) : guest_open_fd(port_connect(port), wait, err);
}

static struct guest *session(int port)
{
	struct error err = { 0 };
	struct guest *g = open_session(port, &quick, &err);

	if (!g && child)
		_exit(3);
	if (!g)
		fail_msg("no session on port %d: %s", port, err.text);
	return g;
}

static void connect_libvirt(void)
{
	struct error err = { 0 };

	conn = virt_open(NULL, &err);
	if (!conn)
		fail_msg("%s", err.text);
	dom = virDomainLookupByName(conn, domain);
	assert_non_null(dom);
}

static int start(void **state)
{
	uint64_t begin = clock_ms();
	struct error err = { 0 };
	struct guest *g;

	(void)state;
	if (domain) {
		connect_libvirt();
	} else {
		assert_non_null(mkdtemp(dir));
		make_disk();
		start_qemu();
	}
	g = open_session(0, &patient, &err);
	if (!g)
		fail_msg("the guest does not answer: %s", err.text);
	guest_close(g);
	print_message("first answer after %llu ms\n", (unsigned long long)(clock_ms() - begin));
	return 0;
}

static int stop(void **state)
{
	struct error err = { 0 };

	(void)state;
	if (domain) {
		(void)virDomainFree(dom);
		return virConnectClose(conn) > 0 ? -1 : 0;
	}
	(void)kill(qemu, SIGKILL);
	(void)waitpid(qemu, NULL, 0);
	return file_remove_tree(dir, &err);
}

/* ---- running commands ---- */

static struct guest_exec request(const char *const *argv)
{
	return (struct guest_exec){
		.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};
}

static char *contents(int fd)
{
	struct str text = STR_INIT;
	struct error err = { 0 };

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_ok(fd_read_all(fd, 64 << 20, &text, "file", &err), &err);
	return str_take(&text, &err);
}

/* Run r; its stdout, given. */
static char *run_request(struct guest *g, struct guest_exec r, int *ret_status)
{
	struct guest_result result;
	struct error err = { 0 };
	char *text;

	r.stdout_fd = memfd_create("out", MFD_CLOEXEC);
	if (guest_exec(g, &r, &result, &err) < 0) {
		if (child)
			_exit(4);
		fail_msg("no command: %s", err.text);
	}
	text = contents(r.stdout_fd);
	(void)close(r.stdout_fd);
	*ret_status = guest_result_status(&result);
	return text;
}

static char *sh(struct guest *g, const char *script, int *ret_status)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	return run_request(g, request(argv), ret_status);
}

/* The same in a session of its own; the command must succeed. */
static char *sh_once(const char *script)
{
	struct guest *g = session(9);
	int status;
	char *text = sh(g, script, &status);

	guest_close(g);
	if (status)
		fail_msg("'%s' ended with %d: %s", script, status, text);
	return text;
}

/* ---- tests ---- */

static void test_statuses(void **state)
{
	const int statuses[] = { 0, 7, 42, 124, 125, 126, 127, 130, 137, 143, 255 };
	_cleanup_(guest_close_p) struct guest *g = session(0);
	const char *missing[] = { "no-such-command", NULL };
	int status;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		char script[32];

		(void)snprintf(script, sizeof(script), "exit %d", statuses[i]);
		free(sh(g, script, &status));
		assert_int_equal(status, statuses[i]);
	}
	free(sh(g, "kill -KILL $$", &status));
	assert_int_equal(status, 137);
	free(run_request(g, request(missing), &status));
	assert_int_equal(status, 127);
}

static void test_user_and_login(void **state)
{
	const char *argv[] = { "sh", "-c", "id -un; id -Gn; pwd; echo $FROM_PROFILE; echo $HOME",
		NULL };
	_cleanup_(guest_close_p) struct guest *g = session(1);
	_cleanup_free_ char *plain = NULL, *login = NULL;
	struct guest_exec r = request(argv);
	int status;

	(void)state;
	r.user = "dev";
	plain = run_request(g, r, &status);
	assert_string_equal(plain, "dev\ndev wheel\n/home/dev\n\n/home/dev\n");
	r.flags = GUEST_LOGIN;
	login = run_request(g, r, &status);
	assert_string_equal(login, "dev\ndev wheel\n/home/dev\nyes\n/home/dev\n");
}

static void test_terminal(void **state)
{
	const char *argv[] = { "sh", "-c",
		"tty | sed s/[0-9]*$/N/; stty size; stat -c %u:%g:%a $(tty); id -u", NULL };
	_cleanup_(guest_close_p) struct guest *g = session(0);
	struct guest_exec r = request(argv);
	_cleanup_free_ char *text = NULL;
	int status;

	(void)state;
	r.user = "dev";
	r.flags = GUEST_TTY;
	r.rows = 50;
	r.cols = 132;
	text = run_request(g, r, &status);
	assert_string_equal(text, "/dev/pts/N\r\n50 132\r\n1000:5:620\r\n1000\r\n");
}

static void test_binary_input(void **state)
{
	enum { BYTES = 4 << 20 };
	_cleanup_(guest_close_p) struct guest *g = session(2);
	_cleanup_free_ char *in = malloc(BYTES), *out = NULL;
	const char *argv[] = { "cat", NULL };
	struct guest_exec r = request(argv);
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
	out = contents(r.stdout_fd);
	assert_memory_equal(in, out, BYTES);
	(void)close(r.stdin_fd);
	(void)close(r.stdout_fd);
}

static void test_closed_ends(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = session(3);
	const char *yes[] = { "yes", NULL };
	struct guest_exec r = request(yes);
	struct guest_result result;
	struct error err = { 0 };
	_cleanup_free_ char *text = NULL;
	int pair[2], status;

	(void)state;
	text = sh(g, "cat; echo end", &status);
	assert_string_equal(text, "end\n");
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	(void)close(pair[0]);
	r.stdout_fd = pair[1];
	assert_ok(guest_exec(g, &r, &result, &err), &err);
	assert_int_equal(guest_result_status(&result), 128 + SIGPIPE);
	(void)close(pair[1]);
}

static void test_sessions_in_a_row(void **state)
{
	uint64_t begin = clock_ms(), execs;
	const char *argv[] = { "true", NULL };
	struct guest *g;
	int status;

	(void)state;
	for (int i = 0; i < ROW; i++) {
		g = session(0);
		free(run_request(g, request(argv), &status));
		assert_int_equal(status, 0);
		guest_close(g);
	}
	execs = clock_ms();
	g = session(0);
	for (int i = 0; i < ROW; i++)
		free(run_request(g, request(argv), &status));
	guest_close(g);
	print_message(
		"%d sessions of one true(1): %.1f ms each; one true(1) in an open session: %.1f ms\n",
		ROW, (double)(execs - begin) / ROW, (double)(clock_ms() - execs) / ROW);
}

/*
 * In a process of its own, and a program of its own: libvirt's loop belongs to one thread, and its
 * connections do not survive a fork.
 */
static pid_t in_child(const char *work, int port)
{
	pid_t pid = fork();
	char number[16];

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)snprintf(number, sizeof(number), "%d", port);
		(void)execl("/proc/self/exe", "agent-guest", "--child", work, number,
			domain ? domain : dir, (char *)NULL);
		_exit(98);
	}
	return pid;
}

/* Goes on only when all the others are there too: sessions are side by side, or this ends with 9. */
static void copy_a_megabyte(int port)
{
	static const char script[] =
		"mkdir -p /run/at; touch /run/at/%d; n=0;"
		"until [ $(ls /run/at | wc -l) = %d ]; do n=$((n+1)); [ $n -lt 400 ] || exit 9; sleep 0.1; done;"
		"head -c 1000000 /dev/zero | tr '\\0' x";
	struct error err = { 0 };
	_cleanup_free_ char *command = str_format(&err, script, port, AT_ONCE);
	struct guest *g = session(port);
	int status;
	char *text = sh(g, command, &status);

	if (status || strlen(text) != 1000000 || strspn(text, "x") != 1000000)
		_exit(status ? status : 1);
	guest_close(g);
}

static void test_many_at_once(void **state)
{
	pid_t pids[AT_ONCE];

	(void)state;
	for (int i = 0; i < AT_ONCE; i++)
		pids[i] = in_child("copy", i);
	for (int i = 0; i < AT_ONCE; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static void stream_for_ever(int port)
{
	struct guest *g = session(port);
	const char *argv[] = { "sh", "-c", "exec tee /dev/stderr", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };

	r.stdin_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	(void)!guest_exec(g, &r, &result, &err);
	_exit(1);
}

/* A host that vanishes within frames leaves nothing: neither bytes nor processes. */
static void test_killed_in_mid_stream(void **state)
{
	uint64_t begin = clock_ms();
	_cleanup_free_ char *text = NULL;
	struct guest *g;
	int status;

	(void)state;
	for (int i = 0; i < ABORTS; i++) {
		pid_t pid = in_child("stream", 4);
		long ms = 5 + i * 13 % 150;

		(void)nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
	g = session(4);
	text = sh(g, "echo clean; cat /dev/null", &status);
	guest_close(g);
	assert_string_equal(text, "clean\n");
	free(text);
	text = sh_once("pidof tee || echo none");
	assert_string_equal(text, "none\n");
	print_message("%d aborted sessions in %llu ms\n", ABORTS,
		(unsigned long long)(clock_ms() - begin));
}

static void sleep_at_a_terminal(int port)
{
	const char *argv[] = { "sh", "-c",
		"(trap '' HUP; exec /bin/sleep 987) & exec /bin/sleep 986", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };

	r.flags = GUEST_TTY;
	(void)!guest_exec(session(port), &r, &result, &err);
}

static void test_hang_up_ends_what_runs(void **state)
{
	pid_t pid = in_child("sleep", 5);
	_cleanup_free_ char *text = NULL;

	(void)state;
	text = sh_once(
		"for i in $(seq 100); do [ $(ps -o args | grep -c '^/bin/sleep 98[67]') = 2 ] && exit; sleep 0.1; done; exit 1");
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)waitpid(pid, NULL, 0);
	free(text);
	text = sh_once(
		"for i in $(seq 100); do ps -o args | grep -q '^/bin/sleep 986' || break; sleep 0.1; done;"
		"ps -o args | grep '^/bin/sleep'");
	/* What was told not to mind goes on, as after a closed terminal. */
	assert_non_null(strstr(text, "/bin/sleep 987"));
	assert_null(strstr(text, "/bin/sleep 986"));
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

	return str_format(&(struct error){ 0 }, script, folder, (unsigned long long)bulk_mib);
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
		(unsigned long long)bulk_mib,
		(double)(bulk_mib << 20) / 1000.0 / (double)MAX(ms, (uint64_t)1));
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
	struct guest_exec r = request(argv);
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
	got = contents(sum);
	(void)close(sum);
	sent = sh_once(digest);
	same_digest(sent, got);
}

static void bulk_to_guest(struct guest *g)
{
	char folder[] = "/tmp/box-agent-bulk.XXXXXX";
	const char *argv[] = { "md5sum", NULL };
	struct guest_exec r = request(argv);
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
	got = run_request(g, r, &status);
	(void)close(ends[0]);
	assert_int_equal(status, 0);
	host_wait(pid);
	say_rate("host to guest", begin);
	host_wait(host_run(digest, open("/dev/null", O_RDONLY | O_CLOEXEC), dup(sum)));
	sent = contents(sum);
	(void)close(sum);
	same_digest(sent, got);
	assert_ok(file_remove_tree(folder, &err), &err);
}

/* Intact each way, and the memory of both ends does not grow with the length. */
static void test_bulk(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = session(6);
	_cleanup_free_ char *text = NULL;
	long before = forget_peak(), growth;

	(void)state;
	bulk_from_guest(g);
	bulk_to_guest(g);
	growth = own_memory("VmHWM:") - before;
	print_message("peak memory: this end grew by %ld kB\n", growth);
	assert_in_range(MAX(growth, 0L), 0, BULK_GROWTH_KB);
	text = sh_once(
		"sed -n 's/VmHWM: *//p' /proc/$(pidof box-agent | awk '{print $NF}')/status");
	print_message("agent's peak memory: %s", text);
	assert_in_range(strtol(text, NULL, 10), 100, 16384);
}

static void test_identity(void **state)
{
	static const char seed[] =
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	const struct guest_identity items[] = {
		{ "uuid", "99999999-2222-3333-4444-555555555555" },
		{ "seed", seed },
		{ "clock", "2000000000.5" },
		{ "hostname", "second" },
		{ "machine-id", "new" },
		{ "mac", "52:54:00:99:99:99" },
	};
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT, info = VEC_INIT;
	_cleanup_(guest_close_p) struct guest *g = session(7);
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	int status;

	(void)state;
	/* What the boot unit did, from SMBIOS alone. */
	assert_ok(guest_info(g, &quick, &info, &err), &err);
	assert_string_equal(guest_items_get(&info, "hostname"), "first");
	assert_string_equal(
		guest_items_get(&info, "identity.uuid"), "11111111-2222-3333-4444-555555555555");
	assert_string_equal(guest_items_get(&info, "identity.instance-id"), "iid-1");
	assert_string_equal(guest_items_get(&info, "identity.made-for"), "mint");
	assert_string_equal(
		guest_items_get(&info, "machine-id"), "0123456789abcdef0123456789abcdef");
	assert_string_equal(guest_items_get(&info, "mac"), "52:54:00:11:11:11");
	assert_ok(guest_identity(g, items, ARRAY_LEN(items), &quick, &answer, &err), &err);
	assert_string_equal(guest_items_get(&answer, "hostname"), "second");
	assert_string_equal(guest_items_get(&answer, "mac"), "52:54:00:99:99:99");
	assert_string_equal(guest_items_get(&answer, "seed"), "credited");
	text = sh(g,
		"hostname; cat /sys/class/net/eth0/address /etc/hostname; date -u +%Y; wc -c </etc/machine-id;"
		"grep second /etc/hosts",
		&status);
	assert_string_equal(
		text, "second\n52:54:00:99:99:99\nsecond\n2033\n33\n127.0.1.1 second\n");
	free(text);
	text = sh(g, "cat /etc/machine-id", &status);
	text[strcspn(text, "\n")] = 0;
	assert_string_equal(guest_items_get(&answer, "machine-id"), text);
	assert_string_not_equal(text, "0123456789abcdef0123456789abcdef");
	guest_items_free(&info);
	assert_ok(guest_info(g, &quick, &info, &err), &err);
	assert_string_equal(
		guest_items_get(&info, "identity.uuid"), "99999999-2222-3333-4444-555555555555");
}

static void test_identity_is_checked(void **state)
{
	const struct guest_identity bad[] = { { "hostname", "second" }, { "machine-id", "zzz" } };
	const struct guest_identity unknown[] = { { "shoe-size", "44" } };
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT;
	_cleanup_(guest_close_p) struct guest *g = session(7);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(guest_identity(g, bad, 2, &quick, &answer, &err), -1);
	assert_error(&err, ERROR_FAILED, "'machine-id': machine-id: not 32 lower-case hex digits");
	assert_string_equal(guest_items_get(&answer, "hostname"), "second");
	guest_items_free(&answer);
	error_clear(&err);
	assert_int_equal(guest_identity(g, unknown, 1, &quick, &answer, &err), -1);
	assert_error(&err, ERROR_FAILED, "no identity item of that name");
}

static void test_freeze(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = session(8);
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(guest_freeze(g, 10000, &quick, &err), &err);
	text = sh_once(
		"(echo x >/mnt/during; echo written >/run/during) & sleep 0.5; cat /run/during 2>/dev/null; echo -");
	assert_string_equal(text, "-\n");
	assert_ok(guest_thaw(g, &quick, &err), &err);
	free(text);
	text = sh_once(
		"for i in $(seq 50); do [ -s /run/during ] && break; sleep 0.1; done; cat /run/during /mnt/during");
	assert_string_equal(text, "written\nx\n");
	/* A host that goes away leaves nothing frozen. */
	assert_ok(guest_freeze(g, 60000, &quick, &err), &err);
	guest_close(TAKE(g));
	free(sh_once("timeout 10 sh -c 'echo y >/mnt/after'"));
	/* Nor one that takes too long, and it is told. */
	g = session(8);
	assert_ok(guest_freeze(g, 50, &quick, &err), &err);
	free(sh_once("timeout 10 sh -c 'echo y >/mnt/after'"));
	assert_int_equal(guest_thaw(g, &quick, &err), -1);
	assert_error(&err, ERROR_TIMEOUT, "thawed its file systems before the end");
}

static void note_stage(const struct guest_stage *stage, void *data)
{
	str_printf(data, "%s%s", ((struct str *)data)->len ? "," : "", stage->name);
}

static void write_stages(int port)
{
	struct guest *g = session(port);
	int status;

	free(sh(g,
		"mkdir -p /var/lib/cloud/data /run/cloud-init; ln -sf ../../var/lib/cloud/data/status.json /run/cloud-init/;"
		"w() { echo \"$1\" >/var/lib/cloud/data/t; mv /var/lib/cloud/data/t /var/lib/cloud/data/status.json; sleep 0.3; };"
		"w '{\"v1\":{\"stage\":\"init\"}}'; w '{\"v1\":{\"stage\":\"modules-config\"}}';"
		"w '{\"v1\":{\"stage\":null,\"modules-final\":{\"errors\":[],\"finished\":1.5}}}';"
		"/usr/lib/box/box-agent ready",
		&status));
	_exit(status);
}

static void test_first_boot(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = session(1);
	_cleanup_str_ struct str seen = STR_INIT;
	struct error err = { 0 };
	pid_t pid = in_child("stages", 2);
	int status;

	(void)state;
	assert_ok(guest_wait_ready(g, "dev", &quick, note_stage, &seen, &err), &err);
	assert_string_equal(
		str_get(&seen), "boot,cloud-init init,cloud-init modules-config,finishing,usable");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(guest_wait_ready(g, "ghost", &quick, NULL, NULL, &err), -1);
	assert_error(&err, ERROR_FAILED,
		"the first boot of the box failed: the box's user does not exist");
}

/* The agent dies and is started again by its unit (here: the loop of init). */
static void test_agent_restarted(void **state)
{
	_cleanup_(guest_close_p) struct guest *g = session(3);
	const char *argv[] = { "sh", "-c", "kill -9 $PPID; sleep 100", NULL };
	struct guest_exec r = request(argv);
	struct guest_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(guest_exec(g, &r, &result, &err), -1);
	assert_error(&err, ERROR_UNREACHABLE, "the agent in the box was started again");
	guest_close(TAKE(g));
	g = session(3);
	assert_ok(guest_ping(g, &quick, &err), &err);
}

/* ---- with libvirt ---- */

static void test_all_ports_in_use(void **state)
{
	struct guest *all[CHANNEL_PORTS];
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < CHANNEL_PORTS; i++)
		all[i] = session(0);
	assert_null(guest_open(dom, &quick, &err));
	assert_error(&err, ERROR_BUSY, "all ways into box '");
	guest_close(all[7]);
	all[7] = session(0);
	for (int i = 0; i < CHANNEL_PORTS; i++)
		guest_close(all[i]);
}

/* Last of all: the domain ends within a session. */
static void test_domain_ends(void **state)
{
	const char *argv[] = { "sh", "-c", "echo begun; sleep 1000", NULL };
	struct guest_exec r = request(argv);
	struct guest *g = session(0);
	struct guest_result result;
	struct error err = { 0 };
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		(void)execlp("virsh", "virsh", "-q", "destroy", domain, (char *)NULL);
		_exit(98);
	}
	assert_int_equal(guest_exec(g, &r, &result, &err), -1);
	assert_int_equal(err.kind, ERROR_UNREACHABLE);
	guest_close(g);
	(void)waitpid(pid, NULL, 0);
	error_clear(&err);
	assert_null(guest_open(dom, &quick, &err));
	assert_error(&err, ERROR_UNREACHABLE, "does not run; start it first: box start");
}

/* ---- main ---- */

static const struct {
	const char *name;
	void (*work)(int port);
} works[] = {
	{ "copy", copy_a_megabyte },
	{ "stream", stream_for_ever },
	{ "sleep", sleep_at_a_terminal },
	{ "stages", write_stages },
};

static int be_child(const char *work, const char *port, const char *place)
{
	child = true;
	if (*place == '/') {
		(void)snprintf(dir, sizeof(dir), "%s", place);
	} else {
		domain = place;
		connect_libvirt();
	}
	for (size_t i = 0; i < ARRAY_LEN(works); i++) {
		if (str_equal(works[i].name, work)) {
			works[i].work((int)strtol(port, NULL, 10));
			return 0;
		}
	}
	return 97;
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: agent-guest [--bulk MIB] KERNEL INITRAMFS | --domain NAME\n");
	return 2;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_user_and_login),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_binary_input),
		cmocka_unit_test(test_closed_ends),
		cmocka_unit_test(test_sessions_in_a_row),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_killed_in_mid_stream),
		cmocka_unit_test(test_hang_up_ends_what_runs),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_identity_is_checked),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_first_boot),
		cmocka_unit_test(test_agent_restarted),
	};
	const struct CMUnitTest with_libvirt[] = {
		cmocka_unit_test(test_all_ports_in_use),
		cmocka_unit_test(test_domain_ends),
	};
	struct error err = { 0 };
	int failed;

	(void)virEventRegisterDefaultImpl();
	if (argc == 5 && str_equal(argv[1], "--child"))
		return be_child(argv[2], argv[3], argv[4]);
	if (argc > 2 && str_equal(argv[1], "--bulk")) {
		if (parse_u64(argv[2], 1, 100000, "--bulk", &bulk_mib, &err) < 0)
			return usage();
		argc -= 2;
		argv += 2;
	}
	if (argc != 3)
		return usage();
	if (!str_equal(argv[1], "--domain")) {
		kernel = argv[1];
		initramfs = argv[2];
		return cmocka_run_group_tests(tests, start, stop);
	}
	domain = argv[2];
	failed = cmocka_run_group_tests_name("agent", tests, start, stop);
	return failed ? failed : cmocka_run_group_tests_name("libvirt", with_libvirt, start, stop);
}

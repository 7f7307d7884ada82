/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest of these tests (agent-guest.h has the files): QEMU without acceleration boots an initramfs
 * (micro-guest.sh) in a few seconds, and every port box.agent.N is a Unix socket of the test.
 *
 * With --domain the guest is a running libvirt domain instead, and the way in is libvirt's channel.
 *
 * usage: agent-guest [--bulk MIB] KERNEL INITRAMFS
 *        agent-guest [--bulk MIB] --domain NAME
 *        agent-guest --child WORK PORT PLACE     a process of a test; PLACE is its folder or domain
 */
#include "tests/vm/agent-guest.h"

#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/run.h"
#include "vmm/virt.h"

enum { PORTS = 10, DISK_MIB = 32 };

const struct guest_wait agent_quick = { .timeout_ms = 30000 };
const char *agent_domain;
virDomainPtr agent_dom;
uint64_t agent_bulk_mib = 64;

static const struct guest_wait patient = { .timeout_ms = 200000 };
static char dir[64] = "/tmp/box-agent-guest.XXXXXX";
static const char *kernel, *initramfs;
static pid_t qemu;
static bool child; /* in a process of a test: failing there must not go on with the other tests */
static virConnectPtr conn;

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

struct guest *agent_open(int port, const struct guest_wait *wait, struct error *err)
{
	return agent_domain ? guest_open(agent_dom, wait, err)
			    : guest_open_fd(port_connect(port), wait, err);
}

struct guest *agent_session(int port)
{
	struct error err = { 0 };
	struct guest *g = agent_open(port, &agent_quick, &err);

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
	agent_dom = virDomainLookupByName(conn, agent_domain);
	assert_non_null(agent_dom);
}

static int start(void **state)
{
	uint64_t begin = clock_ms();
	struct error err = { 0 };
	struct guest *g;

	(void)state;
	if (agent_domain) {
		connect_libvirt();
	} else {
		assert_non_null(mkdtemp(dir));
		make_disk();
		start_qemu();
	}
	g = agent_open(0, &patient, &err);
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
	if (agent_domain) {
		(void)virDomainFree(agent_dom);
		return virConnectClose(conn) > 0 ? -1 : 0;
	}
	(void)kill(qemu, SIGKILL);
	(void)waitpid(qemu, NULL, 0);
	return file_remove_tree(dir, &err);
}

/* ---- running commands ---- */

struct guest_exec agent_request(const char *const *argv)
{
	return (struct guest_exec){
		.argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};
}

char *file_contents(int fd)
{
	struct str text = STR_INIT;
	struct error err = { 0 };

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_ok(fd_read_all(fd, 64 << 20, &text, "file", &err), &err);
	return str_take(&text, &err);
}

char *agent_run(struct guest *g, struct guest_exec r, int *ret_status)
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
	text = file_contents(r.stdout_fd);
	(void)close(r.stdout_fd);
	*ret_status = guest_result_status(&result);
	return text;
}

char *agent_sh(struct guest *g, const char *script, int *ret_status)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	return agent_run(g, agent_request(argv), ret_status);
}

char *agent_sh_once(const char *script)
{
	struct guest *g = agent_session(9);
	int status;
	char *text = agent_sh(g, script, &status);

	guest_close(g);
	if (status)
		fail_msg("'%s' ended with %d: %s", script, status, text);
	return text;
}

pid_t agent_in_child(const char *work, int port)
{
	pid_t pid = fork();
	char number[16];

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)snprintf(number, sizeof(number), "%d", port);
		(void)execl("/proc/self/exe", "agent-guest", "--child", work, number,
			agent_domain ? agent_domain : dir, (char *)NULL);
		_exit(98);
	}
	return pid;
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
		agent_domain = place;
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
		if (parse_u64(argv[2], 1, 100000, "--bulk", &agent_bulk_mib, &err) < 0)
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
	agent_domain = argv[2];
	failed = cmocka_run_group_tests_name("agent", tests, start, stop);
	return failed ? failed : cmocka_run_group_tests_name("libvirt", with_libvirt, start, stop);
}

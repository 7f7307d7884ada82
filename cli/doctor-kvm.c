/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: /dev/kvm that opens, and even a virtual machine that can be made, say little. There are hosts
 * whose KVM is there while the processor has no virtualisation to give, since it is a virtual one
 * itself and its hypervisor does not nest: on such hosts guests hang or die in their first second. So
 * two things are asked: does the processor announce the feature, and does a guest of five bytes run to
 * its end in time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/fd.h"
#include "cli/doctor.h"

enum { GUEST_BYTES = 4096, GUEST_PORT = 0x10, GUEST_VALUE = 0x2a, GUEST_SECONDS = 2 };

static int open_kvm(struct error *err)
{
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return fd < 0 ? error_errno(err, errno, "cannot open '/dev/kvm'") : fd;
}

/* Somebody chose the emulator: then KVM is not asked for, and the verdict says what that means. */
static bool accel_is_tcg(struct finding *ret)
{
	if (!str_equal(getenv("BOX_ACCEL"), "tcg"))
		return false;
	finding_say(ret, VERDICT_OK, "not asked for: BOX_ACCEL=tcg, which is no security boundary");
	return true;
}

#if defined(__x86_64__)

/* A word of the "flags" line of the first processor. */
static bool cpu_has(const char *cpuinfo, const char *flag)
{
	const char *line = strstr(cpuinfo, "\nflags"), *end, *at;
	size_t len = strlen(flag);

	if (!line)
		return false;
	end = strchr(line + 1, '\n');
	for (at = strstr(line, flag); at && (!end || at < end); at = strstr(at + 1, flag))
		if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

struct guest {
	int vm, cpu; /* -1: none */
	void *memory; /* GUEST_BYTES; MAP_FAILED: none */
	struct kvm_run *run; /* MAP_FAILED: none */
	size_t run_len;
};

static void guest_done(struct guest *g)
{
	if (g->run != MAP_FAILED)
		(void)munmap(g->run, g->run_len);
	if (g->cpu >= 0)
		(void)close(g->cpu);
	if (g->vm >= 0)
		(void)close(g->vm);
	if (g->memory != MAP_FAILED)
		(void)munmap(g->memory, GUEST_BYTES);
}

static int guest_make(struct guest *g, int kvm, struct error *err)
{
	/* mov $42, %al; out %al, $16; hlt */
	static const unsigned char code[] = { 0xb0, GUEST_VALUE, 0xe6, GUEST_PORT, 0xf4 };
	struct kvm_userspace_memory_region region = { .memory_size = GUEST_BYTES };
	struct kvm_sregs special;
	struct kvm_regs regs = { .rflags = 2 };

	g->memory = mmap(
		NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	g->vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (g->memory == MAP_FAILED || g->vm < 0)
		return error_errno(err, errno, "KVM does not make a machine");
	memcpy(g->memory, code, sizeof(code));
	region.userspace_addr = (uint64_t)(uintptr_t)g->memory;
	g->cpu = ioctl(g->vm, KVM_CREATE_VCPU, 0);
	g->run_len = (size_t)MAX(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), 0);
	if (g->cpu < 0 || ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return error_errno(err, errno, "KVM does not make a processor");
	g->run = mmap(NULL, g->run_len, PROT_READ | PROT_WRITE, MAP_SHARED, g->cpu, 0);
	if (g->run == MAP_FAILED || ioctl(g->cpu, KVM_GET_SREGS, &special) < 0)
		return error_errno(err, errno, "KVM does not show the processor's state");
	special.cs.base = 0;
	special.cs.selector = 0;
	if (ioctl(g->cpu, KVM_SET_SREGS, &special) < 0 || ioctl(g->cpu, KVM_SET_REGS, &regs) < 0)
		return error_errno(err, errno, "KVM does not take the processor's state");
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* 0 when the guest wrote its value and halted in time. */
static int guest_run(struct guest *g, struct error *err)
{
	struct sigaction action = { .sa_handler = on_alarm }, old;
	struct itimerspec limit = { .it_value.tv_sec = GUEST_SECONDS };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	bool wrote = false;
	timer_t timer;
	int ret;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return error_errno(err, errno, "cannot make a timer");
	(void)sigaction(SIGALRM, &action, &old);
	(void)timer_settime(timer, 0, &limit, NULL);
	while ((ret = ioctl(g->cpu, KVM_RUN, 0)) == 0 && g->run->exit_reason == KVM_EXIT_IO)
		wrote |= g->run->io.port == GUEST_PORT &&
			 ((unsigned char *)g->run)[g->run->io.data_offset] == GUEST_VALUE;
	if (ret < 0)
		error_set(err, ERROR_FAILED, "KVM does not run a guest of five bytes: %s",
			errno == EINTR ? "it hangs" : strerror(errno));
	else if (g->run->exit_reason != KVM_EXIT_HLT || !wrote)
		ret = error_set(err, ERROR_FAILED,
			"KVM does not run a guest of five bytes: exit %u", g->run->exit_reason);
	(void)timer_delete(timer);
	(void)sigaction(SIGALRM, &old, NULL);
	return ret;
}

int doctor_look_kvm(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(guest_done) struct guest g = { -1, -1, MAP_FAILED, MAP_FAILED, 0 };
	_cleanup_str_ struct str cpuinfo = STR_INIT;
	_cleanup_close_ int kvm = -1;

	(void)d;
	if (accel_is_tcg(ret))
		return 0;
	finding_repair(ret,
		"turn virtualisation on in the firmware, or nesting on in the hypervisor "
		"that runs this machine");
	if (file_read(AT_FDCWD, "/proc/cpuinfo", 4 << 20, &cpuinfo, err) < 0)
		return -1;
	if (!cpu_has(str_get(&cpuinfo), "vmx") && !cpu_has(str_get(&cpuinfo), "svm"))
		return error_set(err, ERROR_FAILED,
			"the processor has neither vmx nor svm, so KVM cannot be relied on");
	kvm = open_kvm(err);
	if (kvm < 0 || guest_make(&g, kvm, err) < 0 || guest_run(&g, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "KVM runs a guest");
	return 0;
}

#else

/* Elsewhere the five bytes are other bytes: what can be asked is whether a machine can be made. */
int doctor_look_kvm(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_close_ int kvm = -1, vm = -1;

	(void)d;
	if (accel_is_tcg(ret))
		return 0;
	kvm = open_kvm(err);
	if (kvm < 0)
		return -1;
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		return error_errno(err, errno, "KVM does not make a machine");
	finding_say(ret, VERDICT_OK, "KVM makes a machine");
	return 0;
}

#endif

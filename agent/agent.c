/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#define PORTS_FOLDER "/sys/class/virtio-ports"
#define PORT_PREFIX "box.agent."

int agent_open(struct agent *a, const char *root, const char *program, struct error *err)
{
	memset(a, 0, sizeof(*a));
	a->root = root;
	a->program = program;
	a->uevents = (struct source)SOURCE_NONE;
	for (size_t i = 0; i < AGENT_LINGER_MAX; i++)
		a->lingering[i].pidfd = (struct source)SOURCE_NONE;
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (a->epoll < 0)
		return error_errno(err, errno, "cannot make an epoll descriptor");
	return stages_open(&a->stages, root, a->epoll, err);
}

void agent_done(struct agent *a)
{
	for (size_t i = 0; i < a->len; i++)
		session_done(&a->sessions[i]);
	for (size_t i = 0; i < AGENT_LINGER_MAX; i++)
		source_close(&a->lingering[i].pidfd, a->epoll);
	source_close(&a->uevents, a->epoll);
	stages_done(&a->stages, a->epoll);
	(void)close(a->epoll);
}

int agent_add(struct agent *a, int fd, const char *name, struct error *err)
{
	struct session *s = NULL;

	for (size_t i = 0; i < a->len && !s; i++) {
		if (a->sessions[i].port.fd < 0)
			s = &a->sessions[i];
	}
	if (s) {
		session_done(s);
	} else if (a->len == AGENT_PORTS_MAX) {
		(void)close(fd);
		return error_set(err, ERROR_BUSY, "more than %d ports", AGENT_PORTS_MAX);
	} else {
		s = &a->sessions[a->len++];
	}
	return session_open(s, a, fd, name, err);
}

static bool is_open(const struct agent *a, const char *name)
{
	for (size_t i = 0; i < a->len; i++) {
		if (a->sessions[i].port.fd >= 0 && str_equal(a->sessions[i].name, name))
			return true;
	}
	return false;
}

/* Is /sys/class/virtio-ports/DEVICE one of ours? */
static bool is_ours(const char *device)
{
	_cleanup_str_ struct str path = STR_INIT, name = STR_INIT;
	struct error ignored = { 0 };

	str_printf(&path, PORTS_FOLDER "/%s/name", device);
	return !path.failed && file_read(AT_FDCWD, str_get(&path), 256, &name, &ignored) == 0 &&
	       str_starts(str_get(&name), PORT_PREFIX);
}

/* The node is the kernel's own (devtmpfs): the agent does not wait for udev's links. */
static void open_port(struct agent *a, const char *device)
{
	_cleanup_str_ struct str path = STR_INIT;
	struct error err = { 0 };
	int fd;

	str_printf(&path, "/dev/%s", device);
	fd = path.failed ? -1 : open(str_get(&path), O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		log_debug("cannot open '%s': %s", str_get(&path), strerror(errno));
	else if (agent_add(a, fd, device, &err) < 0)
		log_debug("cannot serve on '%s': %s", device, err.text);
}

static void scan_ports(struct agent *a)
{
	DIR *dir = opendir(PORTS_FOLDER);

	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		if (str_starts(d->d_name, "vport") && !is_open(a, d->d_name) && is_ours(d->d_name))
			open_port(a, d->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

int agent_add_ports(struct agent *a, struct error *err)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	_cleanup_close_ int sock = socket(
		AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (sock < 0 || bind(sock, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return error_errno(err, errno, "cannot listen for new devices");
	if (source_open(&a->uevents, a->epoll, fd_take(&sock), err) < 0)
		return -1;
	scan_ports(a);
	return 0;
}

static void step_uevents(struct agent *a)
{
	char text[8192];
	bool ports = false;
	ssize_t n;

	while ((n = read(a->uevents.fd, text, sizeof(text))) > 0)
		ports |= memmem(text, (size_t)n, "virtio-ports", 12) != NULL;
	/* ENOBUFS: some were lost, perhaps ours. */
	if (ports || errno == ENOBUFS)
		scan_ports(a);
	a->uevents.readable = errno == ENOBUFS;
}

void agent_linger(struct agent *a, struct process *p)
{
	if (!p->pid)
		return;
	for (size_t i = 0; i < AGENT_LINGER_MAX; i++) {
		if (!a->lingering[i].pid) {
			process_move(&a->lingering[i], p, a->epoll);
			return;
		}
	}
	/* So many that will not go: this one gets no grace, and the first slot is tried again. */
	(void)kill(-p->pid, SIGKILL);
	(void)kill(-a->lingering[0].pid, SIGKILL);
	source_close(&a->lingering[0].pidfd, a->epoll);
	process_move(&a->lingering[0], p, a->epoll);
}

static uint64_t step_lingering(struct agent *a, uint64_t now, bool *ret_some)
{
	uint64_t deadline = 0;
	int status;

	for (size_t i = 0; i < AGENT_LINGER_MAX; i++) {
		struct process *p = &a->lingering[i];

		if (!p->pid)
			continue;
		process_tick(p, now);
		if (process_reap(p, a->epoll, false, &status))
			continue;
		*ret_some = true;
		deadline = deadline_min(deadline, p->next_at);
	}
	return deadline;
}

/* One round over everything. Returns how long to sleep, in milliseconds, -1: until something happens. */
static int agent_step(struct agent *a, bool *ret_alive)
{
	uint64_t now = clock_ms(), deadline;
	bool progress = false;

	*ret_alive = a->uevents.fd >= 0;
	if (a->stages.watch.readable)
		(void)stages_step(&a->stages);
	if (a->uevents.readable)
		step_uevents(a);
	deadline = step_lingering(a, now, ret_alive);
	for (size_t i = 0; i < a->len; i++) {
		progress |= session_step(&a->sessions[i], now);
		deadline = deadline_min(deadline, session_deadline(&a->sessions[i]));
		*ret_alive |= a->sessions[i].port.fd >= 0;
	}
	if (progress)
		return 0;
	return !deadline ? -1 : deadline <= now ? 0 : (int)MIN(deadline - now, (uint64_t)60000);
}

int agent_run(struct agent *a, struct error *err)
{
	struct epoll_event events[64];
	bool alive;

	for (;;) {
		int sleep_ms = agent_step(a, &alive), n;

		/* A hang-up in this round may have left a process to see to: look once more. */
		if (!alive && sleep_ms == -1)
			return 0;
		n = epoll_wait(a->epoll, events, ARRAY_LEN(events), sleep_ms);
		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot wait for events");
		for (int i = 0; i < n; i++)
			source_event(events[i].data.ptr, events[i].events);
	}
}

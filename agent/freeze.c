/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FREEZE: bring the file systems to rest for a live snapshot, and never leave them so.
 *
 * Theory: the worker opens every mounted file system of a block device, freezes them in the reverse
 * order of mounting, answers, and waits for the end of its input, or for its time to run out. Then it
 * thaws them through the descriptors it holds and answers again. It does not touch a file in between: a
 * write to a frozen file system would hold it, and with it the thaw.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/identity-item.h"
#include "agent/worker.h"
#include "base/fd.h"

enum { MOUNTS_MAX = 64, FREEZE_DEFAULT_MS = 10000, FREEZE_MAX_MS = 120000 };

struct mount {
	int fd;
	dev_t device;
	char path[256];
	bool frozen;
};

struct mounts {
	struct mount items[MOUNTS_MAX];
	size_t len;
};

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned code;

		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
			*to = (char)code;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

static bool known(const struct mounts *m, dev_t device)
{
	for (size_t i = 0; i < m->len; i++) {
		if (m->items[i].device == device)
			return true;
	}
	return false;
}

/* One line of /proc/self/mountinfo: "id parent major:minor root path options ... - type source". */
static void add_mount(struct mounts *m, const char *line)
{
	char path[256], options[256], source[256];
	const char *dash = strstr(line, " - ");
	unsigned major, minor;
	int fd;

	if (m->len == MOUNTS_MAX || !dash ||
		sscanf(line, "%*u %*u %u:%u %*s %255s %255s", &major, &minor, path, options) != 4 ||
		sscanf(dash + 3, "%*s %255s", source) != 1)
		return;
	if (!str_starts(source, "/dev/") || !str_starts(options, "rw") ||
		known(m, makedev(major, minor)))
		return;
	unescape(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	m->items[m->len] = (struct mount){ .fd = fd, .device = makedev(major, minor) };
	memcpy(m->items[m->len++].path, path, sizeof(path));
}

static void find_mounts(struct mounts *m)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2048];

	while (f && fgets(line, sizeof(line), f))
		add_mount(m, line);
	if (f)
		(void)fclose(f);
}

static void thaw(struct mounts *m, struct str *answer)
{
	for (size_t i = 0; i < m->len; i++) {
		struct mount *mount = &m->items[i];

		if (!mount->frozen)
			continue;
		mount->frozen = false;
		field_put_text(answer, FIELD_NAME, mount->path);
		if (ioctl(mount->fd, FITHAW, 0) < 0)
			field_put_text(answer, FIELD_ERROR, strerror(errno));
		else
			field_put_text(answer, FIELD_VALUE, "thawed");
	}
}

/* All or none. */
static bool freeze(struct mounts *m, struct str *answer)
{
	for (size_t i = m->len; i-- > 0;) {
		struct mount *mount = &m->items[i];
		struct str ignored = STR_INIT;

		if (ioctl(mount->fd, FIFREEZE, 0) == 0) {
			mount->frozen = true;
			field_put_text(answer, FIELD_NAME, mount->path);
			field_put_text(answer, FIELD_VALUE, "frozen");
			continue;
		}
		if (errno == EOPNOTSUPP)
			continue;
		str_clear(answer);
		field_put_text(answer, FIELD_NAME, mount->path);
		field_put_text(answer, FIELD_ERROR, strerror(errno));
		thaw(m, &ignored);
		str_done(&ignored);
		return false;
	}
	return true;
}

static uint32_t time_limit(const struct str *request)
{
	const uint8_t *at = (const uint8_t *)str_get(request);
	struct field_reader reader = { at, at + request->len };
	uint32_t ms = FREEZE_DEFAULT_MS;
	struct error ignored = { 0 };
	struct field f;

	while (field_next(&reader, &f, &ignored) > 0) {
		if (f.tag == FIELD_TIMEOUT && field_u32(&f, &ms, &ignored) < 0)
			break;
	}
	return MIN(MAX(ms, 1U), (uint32_t)FREEZE_MAX_MS);
}

int worker_freeze(const char *root, const struct str *request, int input, int output)
{
	static struct mounts mounts; /* too large for a stack that must not grow now */
	_cleanup_str_ struct str answer = STR_INIT;
	struct pollfd p = { .fd = input, .events = POLLIN };
	uint32_t ms = time_limit(request);

	if (!*root)
		find_mounts(&mounts);
	sync();
	if (freeze(&mounts, &answer)) {
		if (worker_answer(output, &answer, false) == 0)
			(void)poll(&p, 1, (int)ms);
		str_clear(&answer);
		thaw(&mounts, &answer);
	}
	return worker_answer(output, &answer, true) < 0;
}

/* POWER: an orderly end by the init system; FIELD_VALUE says which. */
int worker_power(const char *root, const struct str *request, int input, int output)
{
	_cleanup_str_ struct str answer = STR_INIT;
	const uint8_t *at = (const uint8_t *)str_get(request);
	struct field_reader reader = { at, at + request->len };
	struct error err = { 0 };
	const char *verb = "poweroff";
	struct field f;

	(void)input;
	while (field_next(&reader, &f, &err) > 0) {
		if (f.tag == FIELD_VALUE && f.len == 6 && memcmp(f.bytes, "reboot", 6) == 0)
			verb = "reboot";
	}
	field_put_text(&answer, FIELD_NAME, verb);
	if (!*root) {
		const char *argv[] = { "systemctl", "--no-block", verb, NULL };

		if (identity_run(argv, &err) < 0)
			field_put_text(&answer, FIELD_ERROR, err.text);
		else
			field_put_text(&answer, FIELD_VALUE, "under way");
	}
	return worker_answer(output, &answer, true) < 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/account.h"
#include "agent/status-json.h"
#include "base/fd.h"

enum { FILE_MAX = 1048576, LOG_TAIL = 2000 };

/* The link in /run points into /var/lib/cloud/data, where the file is replaced. */
static const char *const watched[] = { "/run", "/run/box", "/run/cloud-init",
	"/var/lib/cloud/data" };

/* Below root, the whole file. False when there is none, or it cannot be read. */
static bool read_below(const char *root, const char *path, struct str *into)
{
	_cleanup_str_ struct str name = STR_INIT;
	struct error ignored = { 0 };

	str_printf(&name, "%s%s", root, path);
	return !name.failed && file_read(AT_FDCWD, str_get(&name), FILE_MAX, into, &ignored) == 0;
}

static bool exists_below(const char *root, const char *path)
{
	_cleanup_str_ struct str name = STR_INIT;

	str_printf(&name, "%s%s", root, path);
	return !name.failed && access(str_get(&name), F_OK) == 0;
}

/* Folders appear during the boot: adding a watch that is there already changes nothing. */
static void add_watches(struct stages *s)
{
	for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
		_cleanup_str_ struct str path = STR_INIT;

		str_printf(&path, "%s%s", s->root, watched[i]);
		if (!path.failed)
			(void)inotify_add_watch(s->watch.fd, str_get(&path),
				IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
	}
}

struct look {
	enum stage_state state;
	char name[96];
	struct str text;
};

/* /run/box/ready, if it is there. */
static bool look_result(const char *root, struct look *look)
{
	_cleanup_str_ struct str file = STR_INIT;
	const char *text;

	if (!read_below(root, "/run/box/ready", &file))
		return false;
	text = str_get(&file);
	look->state = str_starts(text, "usable\n") ? STAGE_USABLE : STAGE_FAILED;
	(void)snprintf(look->name, sizeof(look->name), "%s",
		look->state == STAGE_USABLE ? "usable" : "failed");
	text = strchr(text, '\n');
	if (text)
		str_append_escaped(&look->text, text + 1, strlen(text + 1), true);
	return true;
}

static void look_cloud_init(const char *root, struct look *look)
{
	_cleanup_str_ struct str file = STR_INIT;
	struct cloud_status status = { .errors = STR_INIT };
	struct error ignored = { 0 };

	(void)snprintf(look->name, sizeof(look->name), "boot");
	if (!read_below(root, "/run/cloud-init/status.json", &file) ||
		cloud_status_read(str_get(&file), file.len, &status, &ignored) < 0)
		return;
	if (status.finished)
		(void)snprintf(look->name, sizeof(look->name), "finishing");
	else
		(void)snprintf(look->name, sizeof(look->name), "cloud-init%s%s",
			*status.stage ? " " : "", status.stage);
	str_done(&status.errors);
}

/* True when what is seen differs from what is known. */
static bool look_again(struct stages *s)
{
	struct look look = { .state = STAGE_RUNNING, .text = STR_INIT };

	if (!look_result(s->root, &look))
		look_cloud_init(s->root, &look);
	if (s->serial && look.state == s->state && str_equal(look.name, s->name) &&
		str_equal(str_get(&look.text), str_get(&s->text))) {
		str_done(&look.text);
		return false;
	}
	s->state = look.state;
	memcpy(s->name, look.name, sizeof(s->name));
	str_done(&s->text);
	s->text = look.text;
	s->serial = s->serial + 1 ? s->serial + 1 : 1;
	return true;
}

int stages_open(struct stages *s, const char *root, int epoll, struct error *err)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	*s = (struct stages){ .root = root, .watch = SOURCE_NONE, .text = STR_INIT };
	if (fd < 0)
		return error_errno(err, errno, "cannot watch '/run'");
	if (source_open(&s->watch, epoll, fd, err) < 0)
		return -1;
	add_watches(s);
	(void)look_again(s);
	return 0;
}

void stages_done(struct stages *s, int epoll)
{
	source_close(&s->watch, epoll);
	str_done(&s->text);
}

bool stages_step(struct stages *s)
{
	char events[4096] __attribute__((aligned(8)));

	while (read(s->watch.fd, events, sizeof(events)) > 0)
		;
	s->watch.readable = false;
	add_watches(s);
	return look_again(s);
}

static bool user_exists(const char *root, const char *user)
{
	_cleanup_(account_done) struct account a = { 0 };
	struct error ignored = { 0 };

	return account_find(root, user, &a, &ignored) == 0;
}

void stages_put(const struct stages *s, const char *user, struct str *into)
{
	bool missing = s->state == STAGE_USABLE && user && !user_exists(s->root, user);
	struct timespec up;

	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	field_put_u32(into, FIELD_STATE, missing ? STAGE_FAILED : s->state);
	field_put_text(into, FIELD_STAGE, missing ? "failed" : s->name);
	field_put_u32(into, FIELD_UPTIME,
		(uint32_t)((uint64_t)up.tv_sec * 1000 + (uint64_t)up.tv_nsec / 1000000));
	if (missing)
		field_put_text(into, FIELD_TEXT, "the box's user does not exist");
	else if (s->text.len)
		field_put(into, FIELD_TEXT, s->text.data, MIN(s->text.len, (size_t)8192));
}

/* The last lines of what first-boot programs printed. */
static void append_log(const char *root, struct str *into)
{
	_cleanup_str_ struct str name = STR_INIT;
	char tail[LOG_TAIL];
	_cleanup_close_ int fd = -1;
	const char *from = tail;
	ssize_t n;

	str_printf(&name, "%s/var/log/cloud-init-output.log", root);
	fd = name.failed ? -1 : open(str_get(&name), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (lseek(fd, -LOG_TAIL, SEEK_END) < 0)
		(void)lseek(fd, 0, SEEK_SET);
	n = read(fd, tail, sizeof(tail));
	if (n == LOG_TAIL && memchr(tail, '\n', sizeof(tail)))
		from = (const char *)memchr(tail, '\n', sizeof(tail)) + 1;
	if (n > 0)
		str_append_escaped(into, from, (size_t)(tail + n - from), true);
}

static void conclude(const char *root, struct str *result)
{
	_cleanup_str_ struct str file = STR_INIT;
	struct cloud_status status = { .errors = STR_INIT };
	struct error why = { 0 };

	if (!exists_below(root, "/run/cloud-init/status.json")) {
		/* cloud-init is not installed, or was switched off. */
		str_append(result, "usable\n");
	} else if (!read_below(root, "/run/cloud-init/status.json", &file) ||
		   cloud_status_read(str_get(&file), file.len, &status, &why) < 0) {
		str_append(result, "failed\ncloud-init left no readable status\n");
	} else if (status.errors.len || !status.finished) {
		str_printf(result, "failed\n%s\n",
			status.errors.len ? str_get(&status.errors) : "cloud-init did not finish");
		append_log(root, result);
	} else {
		str_append(result, "usable\n");
	}
	str_done(&status.errors);
}

int stages_conclude(const char *root, struct error *err)
{
	_cleanup_str_ struct str result = STR_INIT, dir = STR_INIT, path = STR_INIT;

	conclude(root, &result);
	str_printf(&dir, "%s/run/box", root);
	str_printf(&path, "%s/ready", str_get(&dir));
	if (str_ok(&result, err) < 0 || str_ok(&path, err) < 0)
		return -1;
	if (file_mkdirs(str_get(&dir), 0755, err) < 0)
		return -1;
	return file_replace(AT_FDCWD, str_get(&path), result.data, result.len, 0644, err);
}

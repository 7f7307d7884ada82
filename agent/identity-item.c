/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/identity-item.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/run.h"

enum { SEED_MIN = 32, SEED_MAX = 512, SMALL_FILE = 65536, SERVICE_MS = 20000 };

char *identity_path(const struct identity_context *c, const char *path, struct error *err)
{
	return str_format(err, "%s%s", c->root, path);
}

static int whole_file(
	const struct identity_context *c, const char *path, struct str *into, struct error *err)
{
	_cleanup_free_ char *name = identity_path(c, path, err);

	return name ? file_read(AT_FDCWD, name, SMALL_FILE, into, err) : -1;
}

int identity_line(
	const struct identity_context *c, const char *path, struct str *into, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	size_t len;

	if (whole_file(c, path, &text, err) < 0)
		return -1;
	len = strcspn(str_get(&text), "\n");
	while (len && isspace((unsigned char)text.data[len - 1]))
		len--;
	str_append_len(into, str_get(&text), len);
	return str_ok(into, err);
}

int identity_write(const struct identity_context *c, const char *path, const void *bytes,
	size_t len, mode_t mode, struct error *err)
{
	_cleanup_free_ char *name = identity_path(c, path, err);
	_cleanup_free_ char *folder = name ? str_dup(name, err) : NULL;

	if (!folder)
		return -1;
	*strrchr(folder, '/') = 0;
	if (*folder && file_mkdirs(folder, 0755, err) < 0)
		return -1;
	return file_replace_unsynced(AT_FDCWD, name, bytes, len, mode, err);
}

int identity_sync(const struct identity_context *c, struct error *err)
{
	_cleanup_close_ int fd = open(*c->root ? c->root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return error_errno(err, errno, "cannot write the identity to disk");
	return 0;
}

int identity_run(const char *const *argv, struct error *err)
{
	const struct run run = { .argv = argv, .timeout_ms = SERVICE_MS };

	(void)setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	return run_program(&run, NULL, err);
}

int identity_uuid(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	(void)c;
	if (strlen(value) != 36 || strspn(value, "0123456789abcdef-") != 36)
		return error_set(err, ERROR_INVALID, "not a UUID in lower case");
	str_append(into, value);
	return str_ok(into, err);
}

/* ---- randomness and time ---- */

static int hex_bytes(const char *text, uint8_t *ret, size_t max, struct error *err)
{
	size_t len = strlen(text) / 2;

	if (strlen(text) % 2 || len < SEED_MIN || len > max ||
		strspn(text, "0123456789abcdefABCDEF") != 2 * len)
		return error_set(err, ERROR_INVALID, "not %d to %zu bytes in hex", SEED_MIN, max);
	for (size_t i = 0; i < len; i++) {
		char pair[3] = { text[2 * i], text[2 * i + 1], 0 };
		ret[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return (int)len;
}

/* To the kernel's generator, counted as entropy, and make it use that at once. */
static int credit(const uint8_t *bytes, int len, struct error *err)
{
	_cleanup_close_ int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	_cleanup_free_ struct rand_pool_info *info = calloc(1, sizeof(*info) + SEED_MAX);

	if (!info)
		return error_oom(err);
	info->entropy_count = len * 8;
	info->buf_size = len;
	memcpy(info->buf, bytes, (size_t)len);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, info) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		return error_errno(err, errno, "cannot credit the random generator");
	return 0;
}

int identity_seed(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	uint8_t bytes[SEED_MAX], fresh[SEED_MAX];
	bool given = !str_equal(value, "new");
	int len = given ? hex_bytes(value, bytes, sizeof(bytes), err) : 0;

	if (len < 0 || (given && c->live && credit(bytes, len, err) < 0))
		return -1;
	explicit_bzero(bytes, sizeof(bytes));
	/* Never waits: at boot the generator may not be ready, and what it gives then still differs. */
	if (getrandom(fresh, sizeof(fresh), GRND_NONBLOCK) < 0 &&
		getrandom(fresh, sizeof(fresh), GRND_INSECURE) < 0)
		return error_errno(err, errno, "cannot get random bytes");
	if (identity_write(c, "/var/lib/systemd/random-seed", fresh, sizeof(fresh), 0600, err) < 0)
		return -1;
	explicit_bzero(fresh, sizeof(fresh));
	str_append(into, given ? "credited" : "replaced");
	return str_ok(into, err);
}

int identity_clock(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	struct timespec ts = { 0 };
	char *end;
	double fraction = 0;

	ts.tv_sec = strtoll(value, &end, 10);
	if (*end == '.')
		fraction = strtod(end, &end);
	if (!isdigit((unsigned char)*value) || *end || fraction < 0 || fraction >= 1)
		return error_set(err, ERROR_INVALID, "not seconds since 1970");
	ts.tv_nsec = (long)(fraction * 1e9);
	if (c->live && clock_settime(CLOCK_REALTIME, &ts) < 0)
		return error_errno(err, errno, "cannot set the clock");
	if (c->live)
		(void)clock_gettime(CLOCK_REALTIME, &ts);
	str_printf(into, "%lld.%09ld", (long long)ts.tv_sec, ts.tv_nsec);
	return str_ok(into, err);
}

/* ---- names ---- */

/* Replace the name in the line of 127.0.1.1; other lines stay as they are. */
static int rewrite_hosts(const struct identity_context *c, const char *name, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT, out = STR_INIT;
	struct error ignored = { 0 };
	bool done = false;

	if (whole_file(c, "/etc/hosts", &text, &ignored) < 0)
		str_append(&text, "127.0.0.1 localhost\n");
	for (const char *line = str_get(&text); *line;) {
		size_t len = strcspn(line, "\n");

		if (str_starts(line, "127.0.1.1") && isspace((unsigned char)line[9])) {
			if (!done)
				str_printf(&out, "127.0.1.1 %s\n", name);
			done = true;
		} else {
			str_append_len(&out, line, len);
			str_append_char(&out, '\n');
		}
		line += len + (line[len] == '\n');
	}
	if (!done)
		str_printf(&out, "127.0.1.1 %s\n", name);
	return str_ok(&out, err) < 0
		       ? -1
		       : identity_write(c, "/etc/hosts", out.data, out.len, 0644, err);
}

int identity_hostname(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	_cleanup_free_ char *line = str_format(err, "%s\n", value);
	char name[65] = { 0 };

	if (!line)
		return -1;
	if (parse_box_name(value, err) < 0)
		return -1;
	if (identity_write(c, "/etc/hostname", line, strlen(line), 0644, err) < 0 ||
		rewrite_hosts(c, value, err) < 0)
		return -1;
	if (!c->live)
		return identity_line(c, "/etc/hostname", into, err);
	if (sethostname(value, strlen(value)) < 0)
		return error_errno(err, errno, "cannot set the host name");
	(void)gethostname(name, sizeof(name) - 1);
	str_append(into, name);
	return str_ok(into, err);
}

bool identity_machine_id_valid(const char *text)
{
	return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32 &&
	       strspn(text, "0") != 32;
}

/* A random UUID of version 4 without its dashes: what systemd takes for a machine-id. */
static int machine_id_new(char ret[33], struct error *err)
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_errno(err, errno, "cannot get random bytes");
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int identity_machine_id(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	_cleanup_free_ char *dbus = identity_path(c, "/var/lib/dbus/machine-id", err);
	struct stat st;
	char id[34];

	if (!dbus)
		return -1;
	if (str_equal(value, "new")) {
		if (machine_id_new(id, err) < 0)
			return -1;
	} else if (identity_machine_id_valid(value)) {
		memcpy(id, value, 33);
	} else {
		return error_set(err, ERROR_INVALID, "not 32 lower-case hex digits");
	}
	id[32] = '\n';
	if (identity_write(c, "/etc/machine-id", id, 33, 0444, err) < 0)
		return -1;
	/* Usually a link to the above; a copy would go on naming the source. */
	if (lstat(dbus, &st) == 0 && S_ISREG(st.st_mode) &&
		identity_write(c, "/var/lib/dbus/machine-id", id, 33, 0644, err) < 0)
		return -1;
	return identity_line(c, "/etc/machine-id", into, err);
}

/*
 * cloud-init keeps the marks of once-per-instance work in instances/<id>: under the new name they
 * still count, so the source's user-data is not run again.
 */
int identity_instance_id(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	_cleanup_str_ struct str old = STR_INIT;
	_cleanup_free_ char *from = NULL, *to = NULL, *link = NULL, *target = NULL;
	_cleanup_free_ char *line = str_format(err, "%s\n", value);
	struct error ignored = { 0 };

	if (!line)
		return -1;
	if (!*value || strchr(value, '/') || *value == '.' || strlen(value) > 128)
		return error_set(err, ERROR_INVALID, "not an instance-id");
	if (identity_line(c, "/var/lib/cloud/data/instance-id", &old, &ignored) < 0 || !old.len ||
		strchr(str_get(&old), '/')) {
		str_append(into, value); /* cloud-init has not run yet: it will see the new one */
		return str_ok(into, err);
	}
	from = str_format(err, "%s/var/lib/cloud/instances/%s", c->root, str_get(&old));
	to = str_format(err, "%s/var/lib/cloud/instances/%s", c->root, value);
	link = identity_path(c, "/var/lib/cloud/instance", err);
	target = str_format(err, "/var/lib/cloud/instances/%s", value);
	if (!from || !to || !link || !target)
		return -1;
	if (!str_equal(from, to) && rename(from, to) < 0 && errno != ENOENT)
		return error_errno(err, errno, "cannot rename cloud-init's instance");
	if ((unlink(link) < 0 && errno != ENOENT) || symlink(target, link) < 0)
		return error_errno(err, errno, "cannot link cloud-init's instance");
	if (identity_write(c, "/var/lib/cloud/data/instance-id", line, strlen(line), 0644, err) < 0)
		return -1;
	return identity_line(c, "/var/lib/cloud/data/instance-id", into, err);
}

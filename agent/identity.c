/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/identity.h"

#include <fcntl.h>
#include <string.h>

#include "agent/identity-item.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#define RECORD_FOLDER "/var/lib/box"
#define RECORD RECORD_FOLDER "/identity"

enum { VALUE_MAX = 2048 };

/* In the order in which they are applied: see the header. */
static const struct item {
	const char *name;
	identity_item_fn *apply;
	/* Before all items: takes away what the network must not see any more. What fails here fails again
	 * when the item is applied, and is an error there. */
	void (*prepare)(const struct identity_context *c, const char *value);
	/* As soon as the seed is in: begins what then goes on beside the items before this one. */
	void (*start)(const struct identity_context *c, const char *value);
} items[] = {
	{ "uuid", identity_uuid, NULL, NULL },
	{ "seed", identity_seed, NULL, NULL },
	{ "clock", identity_clock, NULL, NULL },
	{ "hostname", identity_hostname, NULL, NULL },
	{ "machine-id", identity_machine_id, NULL, NULL },
	{ "instance-id", identity_instance_id, NULL, NULL },
	{ "mac", identity_mac, NULL, NULL },
	{ "address", identity_address, NULL, NULL },
	{ "ssh-host-keys", identity_ssh_keys, identity_drop_ssh_keys, identity_start_ssh_keys },
};

enum { AFTER_SEED = 2 };

/* A value for each item, NULL where none is asked for. */
struct wish {
	char *values[ARRAY_LEN(items)]; /* owned */
};

static void wish_done(struct wish *w)
{
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		free(w->values[i]);
}

static int wish_set(struct wish *w, const char *name, char *value, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		if (!str_equal(items[i].name, name))
			continue;
		free(w->values[i]);
		w->values[i] = value;
		return 0;
	}
	free(value);
	return error_set(err, ERROR_INVALID, "there is no identity item of that name");
}

static int wish_read(struct wish *w, const void *request, size_t len, struct error *err)
{
	const uint8_t *at = request;
	struct field_reader reader = { at, at + len };
	_cleanup_free_ char *name = NULL;
	struct field f;
	int found;

	while ((found = field_next(&reader, &f, err)) > 0) {
		char *text = f.len > VALUE_MAX ? NULL : field_text(&f, err);

		if (!text)
			return error_set(err, ERROR_INVALID, "a malformed identity item");
		if (f.tag == FIELD_NAME) {
			free(name);
			name = text;
		} else if (f.tag != FIELD_VALUE || !name) {
			free(text);
			return error_set(err, ERROR_INVALID, "a malformed identity item");
		} else if (wish_set(w, name, text, err) < 0) {
			return -1;
		}
	}
	return found;
}

static void put_time(struct str *answer, const char *item, uint64_t usec)
{
	_cleanup_str_ struct str name = STR_INIT, value = STR_INIT;

	str_printf(&name, "usec.%s", item);
	str_printf(&value, "%llu", (unsigned long long)usec);
	field_put_text(answer, FIELD_NAME, str_get(&name));
	field_put_text(answer, FIELD_VALUE, str_get(&value));
}

static void start_all(const struct identity_context *c, const struct wish *w)
{
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		if (w->values[i] && items[i].start)
			items[i].start(c, w->values[i]);
}

/* What was done goes into the answer, what was done well also into the record. */
static unsigned apply_all(const struct identity_context *c, const struct wish *w,
	struct str *answer, struct str *record, struct error *first)
{
	unsigned failed = 0;

	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		if (w->values[i] && items[i].prepare)
			items[i].prepare(c, w->values[i]);
	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		_cleanup_str_ struct str now = STR_INIT;
		struct error err = { 0 };
		uint64_t begin = clock_us();

		if (i == AFTER_SEED)
			start_all(c, w);
		if (!w->values[i])
			continue;
		field_put_text(answer, FIELD_NAME, items[i].name);
		if (items[i].apply(c, w->values[i], &now, &err) < 0) {
			error_wrap(&err, "%s", items[i].name);
			log_debug("identity: %s", err.text);
			field_put_text(answer, FIELD_ERROR, err.text);
			if (!failed++)
				*first = err;
			continue;
		}
		field_put(answer, FIELD_VALUE, now.data, now.len);
		put_time(answer, items[i].name, clock_us() - begin);
		str_printf(record, "%s=%s\n", items[i].name, str_get(&now));
	}
	return failed;
}

static int write_record(
	const struct identity_context *c, const struct str *record, struct error *err)
{
	_cleanup_free_ char *folder = identity_path(c, RECORD_FOLDER, err);
	_cleanup_free_ char *path = identity_path(c, RECORD, err);

	/* last: what it says is on the disk by then */
	if (!folder || !path || str_ok(record, err) < 0 || identity_sync(c, err) < 0 ||
		file_mkdirs(folder, 0755, err) < 0)
		return -1;
	return file_replace(AT_FDCWD, path, record->data, record->len, 0644, err);
}

int identity_apply(
	const char *root, const void *request, size_t len, struct str *into, struct error *err)
{
	pid_t key_maker = 0;
	const struct identity_context c = { .root = root, .live = !*root, .key_maker = &key_maker };
	_cleanup_(wish_done) struct wish w = { 0 };
	_cleanup_str_ struct str record = STR_INIT;
	struct error ignored = { 0 };

	if (wish_read(&w, request, len, err) < 0)
		return -1;
	/* Only with the UUID, and when all went well, need the next boot not do it again. */
	if (!apply_all(&c, &w, into, &record, &ignored) && w.values[0] &&
		write_record(&c, &record, &ignored) < 0) {
		field_put_text(into, FIELD_NAME, "record");
		field_put_text(into, FIELD_ERROR, ignored.text);
	}
	return str_ok(into, err);
}

/* ---- at boot ---- */

/* The value of NAME in the record, given; NULL without an error when there is none. */
static char *record_get(const struct identity_context *c, const char *name)
{
	_cleanup_str_ struct str path = STR_INIT, text = STR_INIT;
	struct error ignored = { 0 };
	size_t len = strlen(name);

	str_printf(&path, "%s%s", c->root, RECORD);
	if (path.failed || file_read(AT_FDCWD, str_get(&path), 65536, &text, &ignored) < 0)
		return NULL;
	for (char *line = text.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == '=') {
			line[strcspn(line, "\n")] = 0;
			return str_dup(line + len + 1, &ignored);
		}
	}
	return NULL;
}

/* "ds=nocloud;i=ID;h=NAME": the value of key, given; NULL when it is not there. */
static char *serial_get(const char *serial, char key)
{
	struct error ignored = { 0 };

	for (const char *part = serial; part; part = strchr(part, ';')) {
		part += *part == ';';
		if (part[0] == key && part[1] == '=')
			return str_format(&ignored, "%.*s", (int)strcspn(part + 2, ";"), part + 2);
	}
	return NULL;
}

static void wish_put(struct wish *w, const char *name, char *value)
{
	struct error ignored = { 0 };

	if (value)
		(void)!wish_set(w, name, value, &ignored);
}

/* A first boot has a machine-id that systemd made, and that may not be on the disk yet. */
static bool has_machine_id(const struct identity_context *c)
{
	_cleanup_str_ struct str id = STR_INIT;
	struct error ignored = { 0 };

	return identity_line(c, "/etc/machine-id", &id, &ignored) == 0 &&
	       identity_machine_id_valid(str_get(&id));
}

static bool has_ssh_keys(const struct identity_context *c)
{
	_cleanup_str_ struct str key = STR_INIT;
	struct error ignored = { 0 };

	return identity_line(c, "/etc/ssh/ssh_host_ed25519_key.pub", &key, &ignored) == 0;
}

static void boot_wish(
	const struct identity_context *c, struct wish *w, const char *uuid, bool clone)
{
	_cleanup_str_ struct str serial = STR_INIT;
	struct error ignored = { 0 };

	(void)!identity_line(c, "/sys/class/dmi/id/product_serial", &serial, &ignored);
	wish_put(w, "uuid", str_dup(uuid, &ignored));
	wish_put(w, "seed", str_dup("new", &ignored));
	wish_put(w, "hostname", serial_get(str_get(&serial), 'h'));
	wish_put(w, "instance-id", serial_get(str_get(&serial), 'i'));
	if (clone || !has_machine_id(c))
		wish_put(w, "machine-id", str_dup("new", &ignored));
	if (clone || !has_ssh_keys(c))
		wish_put(w, "ssh-host-keys", str_dup("new", &ignored));
}

int identity_boot(const char *root, struct error *err)
{
	pid_t key_maker = 0;
	const struct identity_context c = { .root = root, .live = !*root, .key_maker = &key_maker };
	_cleanup_str_ struct str uuid = STR_INIT, answer = STR_INIT, record = STR_INIT;
	_cleanup_free_ char *known = record_get(&c, "uuid");
	_cleanup_(wish_done) struct wish w = { 0 };
	struct error first = { 0 };
	unsigned failed;

	if (identity_line(&c, "/sys/class/dmi/id/product_uuid", &uuid, err) < 0)
		return error_wrap(err, "cannot tell which machine this is");
	for (char *p = uuid.data; p && *p; p++) {
		if (*p >= 'A' && *p <= 'F')
			*p = (char)(*p - 'A' + 'a');
	}
	if (known && str_equal(known, str_get(&uuid)))
		return 0;
	boot_wish(&c, &w, str_get(&uuid), known != NULL);
	failed = apply_all(&c, &w, &answer, &record, &first);
	str_printf(&record, "made-for=%s\n", known ? "clone" : "mint");
	if (failed) {
		*err = first; /* nothing is recorded: the next boot tries again */
		return -1;
	}
	return write_record(&c, &record, err);
}

void identity_put_record(const char *root, struct str *into)
{
	_cleanup_str_ struct str path = STR_INIT, text = STR_INIT;
	struct error ignored = { 0 };
	char *save = NULL;

	str_printf(&path, "%s%s", root, RECORD);
	if (path.failed || file_read(AT_FDCWD, str_get(&path), 65536, &text, &ignored) < 0 ||
		!text.len)
		return;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		_cleanup_str_ struct str name = STR_INIT;
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = 0;
		str_printf(&name, "identity.%s", line);
		field_put_text(into, FIELD_NAME, str_get(&name));
		field_put_text(into, FIELD_VALUE, value);
	}
}

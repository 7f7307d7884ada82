/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "seed/text.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/yaml.h"
#include "seed/cloud-key.h"

static const char cloud_config[] = "#cloud-config";

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\n", text[i]))
			return false;
	return true;
}

/* The first line is "#cloud-config", alone but for blanks, as cloud-init demands. */
static bool is_cloud_config(const char *text, size_t len)
{
	size_t head = sizeof(cloud_config) - 1, end = head;

	if (len < head || memcmp(text, cloud_config, head) != 0)
		return false;
	while (end < len && text[end] != '\n')
		end++;
	return is_blank(text + head, end - head);
}

static int check_config(const struct seed_part *part, struct error *err)
{
	_cleanup_(yml_free_p) struct yml *doc = yml_parse(part->text, part->len, part->name, err);

	if (!doc)
		return -1;
	if (yml_kind(yml_root(doc)) != YML_MAP && yml_kind(yml_root(doc)) != YML_NONE)
		return yml_error(err, yml_root(doc),
			"a #cloud-config must be a mapping of cloud-init's keys");
	return cloud_keys_check(yml_root(doc), err);
}

int seed_part_check(struct seed_part *part, struct error *err)
{
	if (part->len > SEED_USER_DATA_MAX)
		return error_set(err, ERROR_INVALID, "%s is larger than %u KiB", part->name,
			SEED_USER_DATA_MAX / 1024);
	if (is_blank(part->text, part->len)) {
		part->kind = SEED_PART_NONE;
		return 0;
	}
	if (memchr(part->text, '\0', part->len))
		return error_set(
			err, ERROR_INVALID, "%s: has a NUL byte, so it is no text", part->name);
	if (part->len > 2 && memcmp(part->text, "#!", 2) == 0) {
		part->kind = SEED_PART_SCRIPT;
		return 0;
	}
	if (!is_cloud_config(part->text, part->len))
		return error_set(err, ERROR_INVALID,
			"%s:1: cloud-init takes what begins with the line '#cloud-config', or a script that begins with '#!'",
			part->name);
	if (check_config(part, err) < 0)
		return -1;
	part->kind = SEED_PART_CLOUD_CONFIG;
	return 0;
}

enum { PARTS_MAX = 4 };

static bool occurs(const struct seed_part *const *parts, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (memmem(parts[i]->text, parts[i]->len, text, strlen(text)))
			return true;
	return false;
}

/* A boundary that does not occur in the parts, as RFC 2046 wants it. */
static void choose_boundary(const struct seed_part *const *parts, size_t count, char boundary[32])
{
	unsigned n = 0;

	do {
		snprintf(boundary, 32, "box-part-%u", n++);
	} while (occurs(parts, count, boundary));
}

static void put_part(struct str *out, const char *boundary, const struct seed_part *part)
{
	str_printf(out, "--%s\nMIME-Version: 1.0\nContent-Type: text/%s; charset=\"utf-8\"\n\n",
		boundary, part->kind == SEED_PART_SCRIPT ? "x-shellscript" : "cloud-config");
	str_append_len(out, part->text, part->len);
	if (part->text[part->len - 1] != '\n')
		str_append_char(out, '\n');
}

static char *copy_part(const struct seed_part *part, struct error *err)
{
	_cleanup_str_ struct str out = STR_INIT;

	str_append_len(&out, part->text, part->len);
	return str_take(&out, err);
}

char *seed_user_data(const struct seed_part *const *parts, size_t count, struct error *err)
{
	const struct seed_part *there[PARTS_MAX];
	_cleanup_str_ struct str out = STR_INIT;
	char boundary[32];
	size_t n = 0;

	for (size_t i = 0; i < count && n < PARTS_MAX; i++)
		if (parts[i] && parts[i]->kind != SEED_PART_NONE)
			there[n++] = parts[i];
	if (n == 0)
		return str_format(err, "%s\n{}\n", cloud_config);
	if (n == 1)
		return copy_part(there[0], err);
	choose_boundary(there, n, boundary);
	str_printf(&out, "Content-Type: multipart/mixed; boundary=\"%s\"\nMIME-Version: 1.0\n\n",
		boundary);
	for (size_t i = 0; i < n; i++)
		put_part(&out, boundary, there[i]);
	str_printf(&out, "--%s--\n", boundary);
	return str_take(&out, err);
}

char *seed_meta_data(const char *instance_id, const char *hostname, struct error *err)
{
	_cleanup_(yml_writer_free_p) struct yml_writer *w = yml_writer_new(err);

	if (!w)
		return NULL;
	yml_open_map(w);
	yml_pair(w, "instance-id", instance_id);
	yml_pair(w, "local-hostname", hostname);
	yml_close(w);
	return yml_finish(w, err);
}

char *seed_network_config(struct error *err)
{
	_cleanup_(yml_writer_free_p) struct yml_writer *w = yml_writer_new(err);

	if (!w)
		return NULL;
	yml_open_map(w);
	yml_put(w, "version");
	yml_put_plain(w, "2");
	yml_put(w, "ethernets");
	yml_open_map(w);
	yml_put(w, "box");
	yml_open_map(w);
	yml_put(w, "match");
	yml_open_map(w);
	yml_pair(w, "name", "e*");
	yml_close(w);
	yml_put(w, "dhcp4");
	yml_put_plain(w, "true");
	yml_put(w, "dhcp6");
	yml_put_plain(w, "false");
	yml_put(w, "accept-ra");
	yml_put_plain(w, "false");
	yml_put(w, "link-local");
	yml_open_list(w);
	yml_close(w);
	yml_pair(w, "dhcp-identifier", "mac");
	yml_close(w);
	yml_close(w);
	yml_close(w);
	return yml_finish(w, err);
}

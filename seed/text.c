/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "seed/text.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/yaml.h"

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
	return 0;
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

/* A boundary that no line of the parts begins with: RFC 2046 wants it not to occur in them. */
static void choose_boundary(const struct seed_part *a, const struct seed_part *b, char boundary[32])
{
	unsigned n = 0;

	do {
		snprintf(boundary, 32, "box-part-%u", n++);
	} while (memmem(a->text, a->len, boundary, strlen(boundary)) ||
		 memmem(b->text, b->len, boundary, strlen(boundary)));
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

char *seed_user_data(const struct seed_part *base, const struct seed_part *own, struct error *err)
{
	_cleanup_str_ struct str out = STR_INIT;
	bool has_base = base && base->kind != SEED_PART_NONE;
	bool has_own = own && own->kind != SEED_PART_NONE;
	char boundary[32];

	if (!has_base && !has_own)
		return str_format(err, "%s\n{}\n", cloud_config);
	if (!has_base || !has_own)
		return copy_part(has_own ? own : base, err);
	choose_boundary(base, own, boundary);
	str_printf(&out, "Content-Type: multipart/mixed; boundary=\"%s\"\nMIME-Version: 1.0\n\n",
		boundary);
	put_part(&out, boundary, base);
	put_part(&out, boundary, own);
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

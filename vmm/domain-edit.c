/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/domain-edit.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/xml.h"
#include "vmm/domain-xml.h"

#define DISK "/domain/devices/disk[target/@dev='vda']"
#define SERIAL_MAX 512

struct editing {
	struct xml *x;
	const struct domain_change *change;
	struct error *err;
};

/* The one element that the path finds. */
static struct xml_node *find_one(struct editing *e, const char *path, const char *what)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(e->x, NULL, path, &nodes, e->err) < 0)
		return NULL;
	if (nodes.len != 1) {
		error_set(e->err, ERROR_INVALID, "the domain has %zu times %s, where a box has one",
			nodes.len, what);
		return NULL;
	}
	return nodes.items[0];
}

static int remove_all(struct editing *e, const char *path)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(e->x, NULL, path, &nodes, e->err) < 0)
		return -1;
	xml_foreach(node, &nodes) {
		xml_remove(e->x, node);
	}
	return 0;
}

static int edit_disk(struct editing *e)
{
	struct xml_node *source;

	if (remove_all(e, DISK "/backingStore") < 0)
		return -1;
	if (!e->change->disk)
		return 0;
	source = find_one(e, DISK "/source", "a disk 'vda' with a source");
	if (!source)
		return -1;
	return xml_set_attr(e->x, source, "file", e->change->disk, e->err);
}

static char *format_meta(const struct box_meta *meta, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	meta_write(meta, w);
	return xml_finish(w, err);
}

static int edit_meta(struct editing *e)
{
	_cleanup_free_ char *fragment = NULL;
	struct xml_node *metadata;

	if (!e->change->meta)
		return 0;
	if (remove_all(e, "/domain/metadata/*[namespace-uri()='" META_NAMESPACE "']") < 0)
		return -1;
	metadata = find_one(e, "/domain/metadata", "metadata");
	if (!metadata)
		return -1;
	fragment = format_meta(e->change->meta, e->err);
	return fragment ? xml_insert(e->x, metadata, fragment, e->err) : -1;
}

/* The hostname is the last part of "ds=nocloud;i=...;h=NAME". */
static int edit_hostname(struct editing *e)
{
	struct xml_node *entry = find_one(
		e, "/domain/sysinfo/system/entry[@name='serial']", "a serial number in SMBIOS");
	char serial[SERIAL_MAX], edited[SERIAL_MAX + 128];
	char *host;

	if (!entry || xml_copy(e->x, entry, ".", serial, sizeof(serial), e->err) < 0)
		return -1;
	host = strstr(serial, ";h=");
	if (!host)
		return error_set(e->err, ERROR_INVALID,
			"the domain's serial number in SMBIOS, which carries the hostname, was changed");
	*host = '\0';
	(void)snprintf(edited, sizeof(edited), "%s;h=%s", serial, e->change->name);
	return xml_set_text(e->x, entry, edited, e->err);
}

static int edit_console_logs(struct editing *e)
{
	_cleanup_xml_nodes_ struct xml_nodes logs = { 0 };
	char path[256];

	(void)snprintf(path, sizeof(path), DOMAIN_CONSOLE_LOG, e->change->name);
	if (xml_nodes(e->x, NULL, "/domain/devices/serial/log | /domain/devices/console/log", &logs,
		    e->err) < 0)
		return -1;
	xml_foreach(log, &logs) {
		if (xml_set_attr(e->x, log, "file", path, e->err) < 0)
			return -1;
	}
	return 0;
}

static int edit_name(struct editing *e)
{
	struct xml_node *name;

	if (!e->change->name)
		return 0;
	name = find_one(e, "/domain/name", "a name");
	if (!name || xml_set_text(e->x, name, e->change->name, e->err) < 0)
		return -1;
	return edit_hostname(e) < 0 ? -1 : edit_console_logs(e);
}

char *domain_edit(const char *xml, const struct domain_change *change, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(
		xml, strlen(xml), "the box's definition", err);
	struct editing e = { .x = x, .change = change, .err = err };

	if (!x || edit_disk(&e) < 0 || edit_meta(&e) < 0 || edit_name(&e) < 0)
		return NULL;
	return xml_dump(x, err);
}

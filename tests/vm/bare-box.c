/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/vm/bare-box.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/run.h"
#include "base/xml.h"
#include "vmm/network.h"

void bare_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	exit(1);
}

static void show_line(const char *text, void *data)
{
	(void)data;
	(void)fprintf(stderr, "    %s\n", text);
}

int bare_run(const char *const *argv, const char *const *env, bool quiet)
{
	struct run run = { .argv = argv, .env = env, .timeout_ms = 120000 };
	struct error err = { 0 };
	int status = -1;

	if (!quiet)
		run.line = show_line;
	if (run_program(&run, &status, &err) == 0)
		return 0;
	if (status < 0)
		bare_die("%s", err.text);
	return status;
}

/* ---- making ---- */

static void put_nic(struct xml_writer *w, const char *uuid, const struct box_meta *meta)
{
	char mac[DOMAIN_MAC_TEXT];

	domain_mac(uuid, mac);
	xml_open(w, "interface", "type", "network", NULL);
	xml_empty(w, "mac", "address", mac, NULL);
	xml_empty(w, "source", "network", NETWORK_NAME, NULL);
	xml_empty(w, "target", "dev", meta->tap, NULL);
	xml_empty(w, "model", "type", "virtio", NULL);
	xml_empty(w, "port", "isolated", "yes", NULL);
	xml_empty(w, "rom", "enabled", "no", NULL);
	xml_close(w);
}

/* It has none of its own: all have this one, as boxes have their template's. */
static void put_seed(struct xml_writer *w)
{
	xml_open(w, "disk", "type", "file", "device", "disk", NULL);
	xml_empty(w, "driver", "name", "qemu", "type", "raw", NULL);
	xml_empty(w, "source", "file", BARE_FOLDER "/" BARE_SEED, NULL);
	xml_empty(w, "target", "dev", "vdb", "bus", "virtio", NULL);
	xml_empty(w, "readonly", NULL);
	xml_close(w);
}

static void put_devices(struct xml_writer *w, const char *name, const char *disk)
{
	xml_open(w, "disk", "type", "file", "device", "disk", NULL);
	xml_empty(w, "driver", "name", "qemu", "type", "qcow2", "discard", "unmap", NULL);
	xml_empty(w, "source", "file", disk, NULL);
	xml_empty(w, "target", "dev", "vda", "bus", "virtio", NULL);
	xml_close(w);
	put_seed(w);
	xml_open(w, "serial", "type", "pty", NULL);
	xml_open(w, "log", "append", "off", NULL);
	xml_attr(w, "file", "/var/log/libvirt/qemu/%s-console.log", name);
	xml_close(w);
	xml_close(w);
	xml_empty(w, "controller", "type", "usb", "model", "none", NULL);
	xml_empty(w, "memballoon", "model", "none", NULL);
}

static char *make_xml(const char *name, const char *uuid, const char *disk,
	const struct box_meta *meta, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	xml_open(w, "domain", "type", "qemu", NULL);
	xml_leaf(w, "name", "%s", name);
	xml_leaf(w, "uuid", "%s", uuid);
	xml_open(w, "metadata", NULL);
	meta_write(meta, w);
	xml_close(w);
	xml_leaf(w, "memory", "%d", 64 * 1024);
	xml_leaf(w, "vcpu", "1");
	xml_open(w, "sysinfo", "type", "smbios", NULL);
	xml_open(w, "system", NULL);
	xml_open(w, "entry", "name", "serial", NULL);
	xml_textf(w, "ds=nocloud;i=i-%s;h=%s", uuid, name);
	xml_close(w);
	xml_close(w);
	xml_close(w);
	xml_open(w, "os", NULL);
	xml_open(w, "type", "arch", "x86_64", "machine", "q35", NULL);
	xml_text(w, "hvm");
	xml_close(w);
	xml_empty(w, "smbios", "mode", "sysinfo", NULL);
	xml_close(w);
	xml_open(w, "devices", NULL);
	put_devices(w, name, disk);
	put_nic(w, uuid, meta);
	xml_close(w);
	return xml_finish(w, err);
}

static void fill_meta(struct box_meta *meta, const char *uuid, const struct clone *clone)
{
	*meta = (struct box_meta){ .schema = META_SCHEMA, .created = (int64_t)time(NULL) };
	(void)snprintf(meta->template, sizeof(meta->template), "bare");
	(void)snprintf(meta->user, sizeof(meta->user), "dev");
	(void)snprintf(meta->image, sizeof(meta->image), "%s", BARE_GOLDEN);
	(void)snprintf(meta->tap, sizeof(meta->tap), "bxt%.8s", uuid);
	if (clone) {
		meta->clone = true;
		(void)snprintf(meta->source, sizeof(meta->source), "%s", clone->from);
	}
}

/* As a real box has it: a reservation, and the hook lets the port's frames through while it runs. */
static void reserve_address(virConnectPtr conn, const char *uuid, struct box_meta *meta)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = NULL;
	struct error err = { 0 };
	char mac[DOMAIN_MAC_TEXT];

	domain_mac(uuid, mac);
	net = network_open(conn, &err);
	if (!net || network_reserve(net, mac, &meta->address, &err) < 0)
		bare_die("%s", err.text);
}

void bare_new(virConnectPtr conn, virStoragePoolPtr pool, const char *name, struct clone *clone)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	_cleanup_free_ char *golden = NULL;
	_cleanup_free_ char *xml = NULL;
	struct error err = { 0 };
	char uuid[DOMAIN_UUID_TEXT], layer[LAYER_NAME_MAX], path[512];
	virDomainPtr dom;

	if (domain_uuid(uuid, &err) < 0)
		bare_die("%s", err.text);
	layer_name_format(uuid, 1, layer, sizeof(layer));
	golden = pool_path(pool, BARE_GOLDEN, &err);
	if (!golden ||
		pool_create_layer(pool, layer, clone ? clone->layer : BARE_GOLDEN, 0, &err) < 0)
		bare_die("%s", err.text);
	(void)snprintf(
		path, sizeof(path), "%.*s/%s", (int)(strrchr(golden, '/') - golden), golden, layer);
	fill_meta(&meta, uuid, clone);
	reserve_address(conn, uuid, &meta);
	xml = make_xml(name, uuid, path, &meta, &err);
	dom = xml ? virDomainDefineXML(conn, xml) : NULL;
	if (!dom)
		bare_die("cannot define %s: %s", name, xml ? virGetLastErrorMessage() : err.text);
	(void)virDomainFree(dom);
}

/* ---- content ---- */

static void monitor(const char *name, const char *command)
{
	char line[256];
	const char *const argv[] = { "virsh", "-q", "qemu-monitor-command", name, "--hmp", line,
		NULL };

	(void)snprintf(line, sizeof(line),
		"qemu-io -d /machine/peripheral/virtio-disk0/virtio-backend \"%s\"", command);
	if (bare_run(argv, NULL, false) != 0)
		bare_die("QEMU of %s refused: %s", name, command);
}

void bare_flush(const char *name)
{
	monitor(name, "flush");
}

void bare_put(virConnectPtr conn, const char *name, unsigned slot, unsigned char value)
{
	_cleanup_box_ struct box box = { 0 };
	struct box_hardware hw = { 0 };
	enum box_state state = BOX_STOPPED;
	struct error err = { 0 };
	char command[64];
	const char *const argv[] = { "qemu-io", "-f", "qcow2", "-c", command, hw.disk, NULL };

	(void)snprintf(command, sizeof(command), "write -P %u %uk %uk", value, slot * BARE_SLOT_KIB,
		BARE_SLOT_KIB);
	if (box_find(conn, name, &box, &err) < 0 || box_hardware(&box, &hw, &err) < 0 ||
		box_get_state(&box, &state, &err) < 0)
		bare_die("%s", err.text);
	if (state != BOX_STOPPED)
		monitor(name, command);
	else if (bare_run(argv, NULL, false) != 0)
		bare_die("cannot write into %s", hw.disk);
}

/* qemu-io's status is 1 when a pattern is not what was read. */
bool bare_same(const char *path, const struct bare_content *wanted)
{
	char commands[BARE_SLOTS][64];
	const char *argv[8 + 2 * BARE_SLOTS];
	size_t n = 0;

	argv[n++] = "qemu-io";
	argv[n++] = "-r";
	argv[n++] = "-U";
	argv[n++] = "-f";
	argv[n++] = "qcow2";
	for (unsigned i = 0; i < BARE_SLOTS; i++) {
		(void)snprintf(commands[i], sizeof(commands[i]), "read -P %u %uk %uk",
			wanted->slot[i], i * BARE_SLOT_KIB, BARE_SLOT_KIB);
		argv[n++] = "-c";
		argv[n++] = commands[i];
	}
	argv[n++] = path;
	argv[n] = NULL;
	return bare_run(argv, NULL, true) == 0;
}

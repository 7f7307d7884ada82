/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/domain-xml.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/xml.h"

/* ---- names from a UUID ---- */

int domain_uuid(char uuid[DOMAIN_UUID_TEXT], struct error *err)
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return error_set(
			err, ERROR_FAILED, "cannot draw a UUID: the kernel has no randomness");
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4 */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80); /* variant of RFC 4122 */
	snprintf(uuid, DOMAIN_UUID_TEXT,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		b[15]);
	return 0;
}

void domain_tap(const char *uuid, char tap[DOMAIN_TAP_TEXT])
{
	snprintf(tap, DOMAIN_TAP_TEXT, "bxt%.8s", uuid);
}

/* The last three bytes: the first four are the tap's. */
void domain_mac(const char *uuid, char mac[DOMAIN_MAC_TEXT])
{
	const char *tail = uuid + DOMAIN_UUID_TEXT - 1 - 6;

	snprintf(mac, DOMAIN_MAC_TEXT, "52:54:00:%.2s:%.2s:%.2s", tail, tail + 2, tail + 4);
}

/* ---- the shape ---- */

static bool is_uuid(const char *text)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != strlen(shape))
		return false;
	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == '-' ? text[i] != '-' : !strchr("0123456789abcdef", text[i]))
			return false;
	return true;
}

static int check(const struct domain_spec *s, struct error *err)
{
	uint8_t mac[6];

	if (parse_box_name(s->name, err) < 0)
		return -1;
	if (!is_uuid(s->uuid))
		return error_set(err, ERROR_INVALID, "'%s' is not a UUID", s->uuid);
	if (!*s->instance ||
		strspn(s->instance, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(s->instance))
		return error_set(err, ERROR_INVALID, "'%s' is not an instance-id", s->instance);
	if (s->cpus < 1 || s->cpus > 512)
		return error_set(err, ERROR_INVALID, "a box cannot have %u CPUs", s->cpus);
	if (s->memory < (64u << 20) || s->memory % 1024)
		return error_set(
			err, ERROR_INVALID, "a box needs at least 64MiB of memory, in whole KiB");
	if (*s->disk != '/' || *s->seed != '/')
		return error_set(err, ERROR_INVALID, "a box's disk and seed need absolute paths");
	if (strncmp(s->tap, "bxt", 3) != 0 || strlen(s->tap) >= DOMAIN_TAP_TEXT)
		return error_set(err, ERROR_INVALID, "'%s' is not a tap of a box", s->tap);
	return parse_mac(s->mac, "the MAC of a box", mac, err);
}

static void write_identity(struct xml_writer *w, const struct domain_spec *s)
{
	xml_leaf(w, "name", "%s", s->name);
	xml_leaf(w, "uuid", "%s", s->uuid);
	/* libvirt fills it in; the guest reseeds its random numbers whenever it changes */
	xml_empty(w, "genid", NULL);
	xml_open(w, "metadata", NULL);
	meta_write(s->meta, w);
	xml_close(w);
}

static void write_resources(struct xml_writer *w, const struct domain_spec *s)
{
	xml_open(w, "memory", "unit", "KiB", NULL);
	xml_textf(w, "%llu", (unsigned long long)(s->memory / 1024));
	xml_close(w);
	xml_open(w, "memoryBacking", NULL);
	xml_empty(w, "nosharepages", NULL); /* KSM would let one box learn another's memory */
	xml_close(w);
	xml_leaf(w, "vcpu", "%u", s->cpus);
}

static void write_cpu(struct xml_writer *w, const struct domain_spec *s)
{
	xml_open(w, "cpu", "mode", s->tcg ? "maximum" : "host-passthrough", "check", "none", NULL);
	/* one socket: guests and licences count sockets */
	xml_open(w, "topology", "sockets", "1", "dies", "1", NULL);
	xml_attr(w, "cores", "%u", s->cpus);
	xml_attr(w, "threads", "1");
	xml_close(w);
	xml_close(w);
}

static void write_machine(struct xml_writer *w, const struct domain_spec *s)
{
	xml_open(w, "sysinfo", "type", "smbios", NULL);
	xml_open(w, "system", NULL);
	xml_open(w, "entry", "name", "serial", NULL);
	xml_textf(w, "ds=nocloud;i=%s;h=%s", s->instance, s->name);
	xml_close(w);
	xml_close(w);
	xml_close(w);

	xml_open(w, "os", NULL);
	xml_open(w, "type", "arch", "x86_64", "machine", "q35", NULL);
	xml_text(w, "hvm");
	xml_close(w);
	xml_empty(w, "smbios", "mode", "sysinfo", NULL);
	xml_close(w);

	xml_open(w, "features", NULL);
	xml_empty(w, "acpi", NULL);
	xml_empty(w, "apic", NULL);
	xml_empty(w, "vmport", "state", "off", NULL);
	xml_close(w);
	write_cpu(w, s);
	xml_open(w, "clock", "offset", "utc", NULL);
	xml_empty(w, "timer", "name", "rtc", "tickpolicy", "catchup", NULL);
	xml_empty(w, "timer", "name", "pit", "tickpolicy", "delay", NULL);
	xml_empty(w, "timer", "name", "hpet", "present", "no", NULL);
	xml_close(w);
	xml_leaf(w, "on_poweroff", "destroy");
	xml_leaf(w, "on_reboot", "restart");
	xml_leaf(w, "on_crash", "destroy");
}

static void write_disks(struct xml_writer *w, const struct domain_spec *s)
{
	xml_open(w, "disk", "type", "file", "device", "disk", NULL);
	/* writeback, not none: boxes share the pages of their golden image through the page cache */
	xml_empty(w, "driver", "name", "qemu", "type", "qcow2", "cache", "writeback", "discard",
		"unmap", "detect_zeroes", "unmap", NULL);
	xml_empty(w, "source", "file", s->disk, NULL);
	xml_empty(w, "target", "dev", "vda", "bus", "virtio", NULL);
	xml_empty(w, "boot", "order", "1", NULL);
	xml_close(w);

	/* a plain virtio disk: a CD-ROM may turn up after cloud-init has looked for it */
	xml_open(w, "disk", "type", "file", "device", "disk", NULL);
	xml_empty(w, "driver", "name", "qemu", "type", "raw", NULL);
	xml_empty(w, "source", "file", s->seed, NULL);
	xml_empty(w, "target", "dev", "vdb", "bus", "virtio", NULL);
	xml_empty(w, "readonly", NULL);
	xml_close(w);
}

static void write_nic(struct xml_writer *w, const struct domain_spec *s)
{
	xml_open(w, "interface", "type", "network", NULL);
	xml_empty(w, "mac", "address", s->mac, NULL);
	xml_empty(w, "source", "network", "boxnet", NULL);
	xml_empty(w, "target", "dev", s->tap, NULL);
	xml_empty(w, "model", "type", "virtio", NULL);
	xml_empty(w, "port", "isolated", "yes", NULL);
	xml_empty(w, "rom", "enabled", "no", NULL); /* nothing boots from the network */
	xml_close(w);
}

static void write_channel(struct xml_writer *w, const char *name)
{
	xml_open(w, "channel", "type", "unix", NULL);
	xml_empty(w, "source", "mode", "bind", NULL); /* libvirt chooses the path */
	xml_empty(w, "target", "type", "virtio", "name", name, NULL);
	xml_close(w);
}

static void write_channels(struct xml_writer *w)
{
	for (unsigned i = 0; i < DOMAIN_AGENT_PORTS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "box.agent.%u", i);
		write_channel(w, name);
	}
	write_channel(w, "org.qemu.guest_agent.0");
}

static void write_console(struct xml_writer *w, const struct domain_spec *s)
{
	xml_open(w, "serial", "type", "pty", NULL);
	xml_open(w, "log", NULL);
	xml_attr(w, "file", DOMAIN_CONSOLE_LOG, s->name);
	xml_attr(w, "append", "off");
	xml_close(w);
	xml_empty(w, "target", "type", "isa-serial", "port", "0", NULL);
	xml_close(w);
	xml_open(w, "console", "type", "pty", NULL);
	xml_empty(w, "target", "type", "serial", "port", "0", NULL);
	xml_close(w);
}

static void write_rest(struct xml_writer *w)
{
	xml_empty(w, "controller", "type", "usb", "model", "none", NULL);
	xml_open(w, "video", NULL);
	xml_empty(w, "model", "type", "none", NULL);
	xml_close(w);
	xml_open(w, "rng", "model", "virtio", NULL);
	xml_open(w, "backend", "model", "random", NULL);
	xml_text(w, "/dev/urandom");
	xml_close(w);
	xml_close(w);
	xml_empty(w, "memballoon", "model", "virtio", "freePageReporting", "on", NULL);
}

char *domain_xml(const struct domain_spec *spec, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = NULL;

	if (check(spec, err) < 0)
		return NULL;
	w = xml_writer_new(err);
	if (!w)
		return NULL;
	xml_open(w, "domain", "type", spec->tcg ? "qemu" : "kvm", NULL);
	write_identity(w, spec);
	write_resources(w, spec);
	write_machine(w, spec);
	xml_open(w, "devices", NULL);
	write_disks(w, spec);
	write_nic(w, spec);
	write_channels(w);
	write_console(w, spec);
	write_rest(w);
	xml_close(w);
	return xml_finish(w, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The domain of a box as libvirt XML. Pure, golden-tested (tests/golden/domain-xml). The shape is
 * fixed: what this struct cannot say, no template, option or environment variable can put into a box.
 * In particular there is no way to name a device, folder, socket or network of the host.
 */
#ifndef VMM_DOMAIN_XML_H
#define VMM_DOMAIN_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "vmm/metadata.h"

#define DOMAIN_UUID_TEXT 37 /* with NUL */
#define DOMAIN_MAC_TEXT 18
#define DOMAIN_TAP_TEXT 16
#define DOMAIN_AGENT_PORTS 16
#define DOMAIN_CONSOLE_LOG "/var/log/libvirt/qemu/%s-console.log" /* of the hypervisor */

/* All strings are lent. */
struct domain_spec {
	const char *name; /* a valid box name; also the guest's hostname */
	const char *uuid; /* 36 characters, lower case */
	const char *instance; /* cloud-init's instance-id, letters, digits and "-" */
	bool tcg; /* QEMU's emulator instead of KVM; no security boundary */
	unsigned cpus;
	uint64_t memory; /* bytes; a multiple of 1 KiB */
	const char *disk; /* path of the top layer, as the hypervisor sees it */
	const char *seed; /* path of the seed, as the hypervisor sees it */
	const char *mac;
	const char *tap;
	const struct box_meta *meta;
};

/* The XML, given (free it). ERROR_INVALID for a spec that is out of bounds. */
char *domain_xml(const struct domain_spec *spec, struct error *err) MUST_CHECK;

/* Names that follow from a UUID's text: "bxt01234567", "52:54:00:xx:yy:zz". */
void domain_tap(const char *uuid, char tap[DOMAIN_TAP_TEXT]);
void domain_mac(const char *uuid, char mac[DOMAIN_MAC_TEXT]);

/* A fresh random (version 4) UUID as text, from the kernel. */
int domain_uuid(char uuid[DOMAIN_UUID_TEXT], struct error *err) MUST_CHECK;

#endif

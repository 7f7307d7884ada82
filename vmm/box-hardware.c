/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/str.h"
#include "base/xml.h"
#include "vmm/box.h"
#include "vmm/opening.h"

/*
 * The box is confined when the only way out of it is the one that our rules know: no second NIC of any
 * kind, nothing of the opening table (opening.c), and the one NIC as it was made. Shared folders, sockets
 * and the like do not leave the stack through the network, but are as much an opening.
 */
int box_confined(struct xml *x, const char *tap, bool *ret, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes nics = { 0 };
	char dev[DOMAIN_TAP_TEXT] = "";
	int other, same;

	if (xml_nodes(x, NULL, "/domain/devices/interface", &nics, err) < 0)
		return -1;
	other = opening_any(x, err);
	same = xml_has(x, NULL,
		"/domain/devices/interface[@type='network' and source/@network='boxnet' and "
		"port/@isolated='yes']",
		err);
	if (other < 0 || same < 0)
		return -1;
	if (xml_copy(x, NULL, "/domain/devices/interface/target/@dev", dev, sizeof(dev), err) < 0)
		error_clear(err); /* longer than any tap of ours */
	*ret = nics.len == 1 && !other && same && str_equal(dev, tap);
	return 0;
}

static int read_resources(struct xml *x, struct box_hardware *h, struct error *err)
{
	uint64_t cpus = 0, memory = 0;

	/* libvirt gives memory in KiB, whatever was written */
	if (xml_u64(x, NULL, "/domain/vcpu", 4096, &cpus, err) < 0 ||
		xml_u64(x, NULL, "/domain/memory", UINT64_MAX / 1024, &memory, err) < 0)
		return -1;
	h->cpus = (unsigned)cpus;
	h->memory = memory * 1024;
	return 0;
}

int box_hardware_parse(
	const char *domain_xml, const char *tap, struct box_hardware *ret, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(
		domain_xml, strlen(domain_xml), "a box's XML", err);
	struct box_hardware h = { 0 };
	int tcg;

	if (!x || read_resources(x, &h, err) < 0 || box_confined(x, tap, &h.confined, err) < 0)
		return -1;
	tcg = xml_has(x, NULL, "/domain[@type='qemu']", err);
	if (tcg < 0 ||
		xml_copy(x, NULL, "/domain/devices/interface[1]/mac/@address", h.mac, sizeof(h.mac),
			err) < 0 ||
		xml_copy(x, NULL, "/domain/devices/disk[target/@dev='vda']/source/@file", h.disk,
			sizeof(h.disk), err) < 0 ||
		xml_copy(x, NULL, "/domain/devices/disk[target/@dev='vdb']/source/@file", h.seed,
			sizeof(h.seed), err) < 0)
		return -1;
	h.tcg = tcg == 1;
	*ret = h;
	return 0;
}

int box_hardware(const struct box *box, struct box_hardware *ret, struct error *err)
{
	_cleanup_free_ char *text = virDomainGetXMLDesc(box->dom, 0);

	if (!text)
		return error_virt(err, "cannot read box '%s'", box->name);
	return box_hardware_parse(text, box->meta.tap, ret, err);
}

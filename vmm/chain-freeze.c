/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest thaws by itself when the session with its agent ends, and after FREEZE_MS at the latest: so
 * a box that is left frozen by a process that died comes back.
 */
#include "vmm/chain-freeze.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/xml.h"
#include "vmm/guest.h"

#define ANSWER_MS 3000 /* an agent that is there answers within a tenth of it */
#define FREEZE_MS 30000

/* Disks that are not ours to move, or read-only: libvirt would choose names of its own for them. */
static int leave_others(struct xml_writer *w, struct xml *domain, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes targets = { 0 };

	if (xml_nodes(domain, NULL, "/domain/devices/disk/target[@dev!='vda']", &targets, err) < 0)
		return -1;
	xml_foreach(target, &targets) {
		char name[32] = "";

		if (xml_copy(domain, target, "@dev", name, sizeof(name), err) < 0)
			return -1;
		xml_empty(w, "disk", "name", name, "snapshot", "no", NULL);
	}
	return 0;
}

/* A snapshot of vda into a volume that exists, and of memory (NULL: not). libvirt's own record of it is not
 * wanted. */
static char *snapshot_xml(struct box *box, const char *path, const char *memory, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);
	_cleanup_(xml_free_p) struct xml *domain = NULL;
	_cleanup_free_ char *text = virDomainGetXMLDesc(box->dom, 0);

	if (!text) {
		(void)error_virt(err, "cannot read the definition of box '%s'", box->name);
		return NULL;
	}
	domain = xml_parse(text, strlen(text), "the box's definition", err);
	if (!w || !domain)
		return NULL;
	xml_open(w, "domainsnapshot", NULL);
	if (memory)
		xml_empty(w, "memory", "snapshot", "external", "file", memory, NULL);
	else
		xml_empty(w, "memory", "snapshot", "no", NULL);
	xml_open(w, "disks", NULL);
	if (leave_others(w, domain, err) < 0)
		return NULL;
	xml_open(w, "disk", "name", "vda", "snapshot", "external", "type", "file", NULL);
	xml_empty(w, "driver", "type", "qcow2", NULL);
	xml_empty(w, "source", "file", path, NULL);
	return xml_finish(w, err);
}

static int move_disk(struct box *box, const char *path, const char *memory, struct error *err)
{
	_cleanup_free_ char *xml = snapshot_xml(box, path, memory, err);
	unsigned flags = memory ? VIR_DOMAIN_SNAPSHOT_CREATE_LIVE
				: VIR_DOMAIN_SNAPSHOT_CREATE_DISK_ONLY |
					  VIR_DOMAIN_SNAPSHOT_CREATE_ATOMIC;
	virDomainSnapshotPtr snapshot;

	if (!xml)
		return -1;
	snapshot = virDomainSnapshotCreateXML(box->dom, xml,
		flags | VIR_DOMAIN_SNAPSHOT_CREATE_NO_METADATA |
			VIR_DOMAIN_SNAPSHOT_CREATE_REUSE_EXT);
	if (!snapshot)
		return error_virt(
			err, "cannot move the running box '%s' to a new layer", box->name);
	(void)virDomainSnapshotFree(snapshot);
	return 0;
}

/* The disk that the running domain has now. */
static int check_disk(struct box *box, const char *path, struct error *err)
{
	struct box_hardware hw = { 0 };

	if (box_hardware(box, &hw, err) < 0)
		return -1;
	if (!str_equal(hw.disk, path))
		return error_set(err, ERROR_FAILED,
			"box '%s' still writes to '%s' after it was moved to a new layer",
			box->name, hw.disk);
	return 0;
}

/* A session in which the guest is at rest; NULL with the reason in ret. */
static struct guest *freeze(struct box *box, struct chain_freeze *ret)
{
	_cleanup_(guest_close_p) struct guest *g = NULL;
	struct guest_wait wait = { .timeout_ms = ANSWER_MS };
	struct error err = { 0 };
	enum box_state state = BOX_RUNNING;

	if (box_get_state(box, &state, &err) == 0 && state == BOX_PAUSED) {
		(void)snprintf(ret->why, sizeof(ret->why), "it is paused");
		return NULL;
	}
	g = guest_open(box->dom, &wait, &err);
	wait.timeout_ms = FREEZE_MS;
	if (!g || guest_freeze(g, FREEZE_MS, &wait, &err) < 0) {
		(void)snprintf(ret->why, sizeof(ret->why), "%.250s", err.text);
		return NULL;
	}
	return TAKE(g);
}

int chain_pivot(struct box *box, const char *path, const char *memory, struct chain_freeze *ret,
	struct error *err)
{
	struct chain_freeze freezing = { 0 };
	_cleanup_(guest_close_p) struct guest *g = memory ? NULL : freeze(box, &freezing);
	struct guest_wait wait = { .timeout_ms = FREEZE_MS };
	struct error thaw = { 0 };

	if (move_disk(box, path, memory, err) < 0)
		return -1;
	if (g) {
		freezing.quiesced = guest_thaw(g, &wait, &thaw) == 0;
		(void)snprintf(freezing.why, sizeof(freezing.why), "%.250s", thaw.text);
	}
	*ret = freezing;
	return check_disk(box, path, err);
}

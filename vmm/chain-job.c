/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory. Pulling adds to a layer what shows through it from below, and changes what it stands on only
 * at the end; committing a layer into the one below it changes nothing that is seen through it. So
 * both may be cancelled, or their QEMU killed, at any moment.
 *
 * The QEMU of our own is a transient domain that libvirt ends when this connection ends, however that
 * is (AUTODESTROY); its name follows from the box's UUID, so that what outlives a crash of libvirtd is
 * found. It has a disk and nothing else, no network above all, and is created paused: no
 * instruction is ever executed in it, so emulation is as good as KVM. QEMU's own locks of image files
 * keep it and a QEMU that somebody starts for the box off each other.
 */
#include "vmm/chain-job.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xml.h"

#define DISK "vda"
#define LOOK_AGAIN_MS 1000 /* events can be lost when libvirtd is restarted */
#define HELPER_NAME_MAX 32
#define SNAPSHOT_WAIT_MS 120000 /* a memory of some GiB, to a slow disk */
#define SNAPSHOT_LOOK_MS 50

/* ---- waiting for a job ---- */

struct job {
	virConnectPtr conn;
	virDomainPtr dom;
	int callback; /* -1: none */
	bool ended;
	int status; /* virConnectDomainEventBlockJobStatus, once it has ended */
};

static void on_block_job(
	virConnectPtr conn, virDomainPtr dom, const char *disk, int type, int status, void *data)
{
	struct job *job = data;

	(void)conn;
	(void)dom;
	(void)type;
	if (strcmp(disk, DISK) != 0 || status == VIR_DOMAIN_BLOCK_JOB_READY)
		return;
	job->status = status;
	job->ended = true;
}

static int job_watch(struct job *job, virConnectPtr conn, virDomainPtr dom, struct error *err)
{
	*job = (struct job){ .conn = conn, .dom = dom, .callback = -1 };
	job->callback = virConnectDomainEventRegisterAny(conn, dom, VIR_DOMAIN_EVENT_ID_BLOCK_JOB_2,
		VIR_DOMAIN_EVENT_CALLBACK(on_block_job), job, NULL);
	if (job->callback < 0)
		return error_virt(err, "cannot watch the merging of layers");
	return 0;
}

static void job_done(struct job *job)
{
	if (job->callback >= 0)
		(void)virConnectDomainEventDeregisterAny(job->conn, job->callback);
}

/* 1 a job runs on the disk, 0 none does, -1. */
static int job_runs(virDomainPtr dom, struct error *err)
{
	virDomainBlockJobInfo info;
	int found = virDomainGetBlockJobInfo(dom, DISK, &info, 0);

	if (found < 0)
		return error_virt(err, "cannot ask how far the merging of layers is");
	return found;
}

static void job_cancel(struct job *job)
{
	struct error ignored = { 0 };

	if (virDomainBlockJobAbort(job->dom, DISK, 0) < 0) {
		(void)error_virt(&ignored, "cannot cancel the merging of layers");
		log_debug("%s", ignored.text);
	}
}

static int job_result(const struct job *job, struct error *err)
{
	if (job->status == VIR_DOMAIN_BLOCK_JOB_COMPLETED)
		return 0;
	if (job->status == VIR_DOMAIN_BLOCK_JOB_CANCELED)
		return error_set(err, ERROR_FAILED,
			"the merging of layers was cancelled; was the box stopped meanwhile?");
	return error_set(err, ERROR_FAILED,
		"QEMU could not merge the layers (its reason is in libvirtd's log; often the pool is full)");
}

/* Wait for its end. When its event does not come, the job's absence says that it has ended. */
static int job_wait(struct job *job, struct error *err)
{
	while (!job->ended) {
		int ret = virt_wait(job->conn, &job->ended, clock_ms() + LOOK_AGAIN_MS, err);

		if (ret < 0) {
			job_cancel(job);
			return -1;
		}
		if (ret == 0) {
			ret = job_runs(job->dom, err);
			if (ret < 0)
				return -1;
			if (ret == 0 && !job->ended)
				return 0; /* the caller reads back what has come of it */
		}
	}
	return job_result(job, err);
}

/* ---- pull and commit ---- */

int chain_pull_live(virConnectPtr conn, virDomainPtr dom, const char *base, struct error *err)
{
	_cleanup_(job_done) struct job job = { .callback = -1 };
	int ret;

	if (job_watch(&job, conn, dom, err) < 0)
		return -1;
	ret = base ? virDomainBlockRebase(dom, DISK, base, 0, 0)
		   : virDomainBlockPull(dom, DISK, 0, 0);
	if (ret < 0)
		return error_virt(
			err, "cannot merge layers into the disk of '%s'", virDomainGetName(dom));
	return job_wait(&job, err);
}

int chain_commit_live(virConnectPtr conn, virDomainPtr dom, const char *layer, const char *below,
	struct error *err)
{
	_cleanup_(job_done) struct job job = { .callback = -1 };

	if (job_watch(&job, conn, dom, err) < 0)
		return -1;
	if (virDomainBlockCommit(dom, DISK, below, layer, 0, 0) < 0)
		return error_virt(
			err, "cannot merge layers under the disk of '%s'", virDomainGetName(dom));
	return job_wait(&job, err);
}

/* ---- a QEMU for the disk alone ---- */

static void helper_name(const char *uuid, char name[HELPER_NAME_MAX])
{
	(void)snprintf(name, HELPER_NAME_MAX, "box-merge-%.8s", uuid);
}

/* alone: without what the layer stands on. */
static char *helper_xml(const char *uuid, const char *layer, bool alone, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);
	char name[HELPER_NAME_MAX];

	if (!w)
		return NULL;
	helper_name(uuid, name);
	xml_open(w, "domain", "type", "qemu", NULL);
	xml_leaf(w, "name", "%s", name);
	xml_leaf(w, "title", "merges layers of box %s", uuid);
	xml_leaf(w, "memory", "%d", 32 * 1024);
	xml_leaf(w, "vcpu", "1");
	xml_open(w, "os", NULL);
	xml_open(w, "type", "arch", "x86_64", "machine", "q35", NULL);
	xml_text(w, "hvm");
	xml_close(w);
	xml_close(w);
	xml_open(w, "devices", NULL);
	xml_open(w, "disk", "type", "file", "device", "disk", NULL);
	xml_empty(w, "driver", "name", "qemu", "type", "qcow2", "discard", "unmap", NULL);
	xml_empty(w, "source", "file", layer, NULL);
	if (alone)
		xml_empty(w, "backingStore", NULL);
	xml_empty(w, "target", "dev", DISK, "bus", "virtio", NULL);
	xml_close(w);
	xml_empty(w, "controller", "type", "usb", "model", "none", NULL);
	xml_empty(w, "memballoon", "model", "none", NULL);
	return xml_finish(w, err);
}

static int helper_end(virConnectPtr conn, const char *uuid, struct error *err)
{
	char name[HELPER_NAME_MAX];
	virDomainPtr dom;
	int ret = 0;

	helper_name(uuid, name);
	dom = virDomainLookupByName(conn, name);
	if (!dom)
		return 0;
	if (virDomainIsPersistent(dom) == 0 && virDomainDestroy(dom) < 0 &&
		virt_last_code() != VIR_ERR_NO_DOMAIN &&
		virt_last_code() != VIR_ERR_OPERATION_INVALID)
		ret = error_virt(err, "cannot end '%s', which merges layers", name);
	(void)virDomainFree(dom);
	return ret;
}

int chain_pull_stopped(virConnectPtr conn, const char *uuid, const char *layer, const char *base,
	struct error *err)
{
	_cleanup_(virDomainFree_p) virDomainPtr dom = NULL;
	_cleanup_free_ char *xml = helper_xml(uuid, layer, false, err);
	struct error second = { 0 };
	int ret;

	if (!xml)
		return -1;
	dom = virDomainCreateXML(conn, xml, VIR_DOMAIN_START_PAUSED | VIR_DOMAIN_START_AUTODESTROY);
	if (!dom)
		return error_virt(err, "cannot start a QEMU that merges layers");
	ret = chain_pull_live(conn, dom, base, err);
	if (helper_end(conn, uuid, ret < 0 ? &second : err) < 0)
		return -1;
	return ret;
}

/* ---- recovery ---- */

int chain_layer_in_use(virConnectPtr conn, const char *uuid, const char *layer, struct error *err)
{
	_cleanup_(virDomainFree_p) virDomainPtr dom = NULL;
	_cleanup_free_ char *xml = helper_xml(uuid, layer, true, err);

	if (!xml)
		return -1;
	dom = virDomainCreateXML(conn, xml, VIR_DOMAIN_START_PAUSED | VIR_DOMAIN_START_AUTODESTROY);
	if (dom)
		return helper_end(conn, uuid, err);
	(void)error_virt(err, "cannot open the layer '%s'", layer);
	if (virConnectIsAlive(conn) != 1)
		return -1;
	log_debug("%s", err->text);
	error_clear(err);
	return 1;
}

/*
 * A snapshot goes on in libvirtd when the client that asked for it has been killed. Nothing can be said of the chain
 * until it has ended, and it is not to be cancelled: QEMU may have moved to the new layer already.
 */
static int snapshot_wait(virConnectPtr conn, virDomainPtr dom, struct error *err)
{
	uint64_t deadline = clock_ms() + SNAPSHOT_WAIT_MS;
	const bool never = false;
	virDomainJobInfo info;

	while (virDomainGetJobInfo(dom, &info) == 0 &&
		(info.type == VIR_DOMAIN_JOB_BOUNDED || info.type == VIR_DOMAIN_JOB_UNBOUNDED)) {
		if (clock_ms() >= deadline)
			return error_set(err, ERROR_BUSY,
				"libvirtd is still at work on '%s'; see: virsh domjobinfo %s",
				virDomainGetName(dom), virDomainGetName(dom));
		if (virt_wait(conn, &never, clock_ms() + SNAPSHOT_LOOK_MS, err) < 0)
			return -1;
	}
	return 0;
}

int chain_jobs_end(virConnectPtr conn, virDomainPtr dom, const char *uuid, struct error *err)
{
	_cleanup_(job_done) struct job job = { .callback = -1 };
	struct error cancelled = { 0 };
	int runs;

	if (helper_end(conn, uuid, err) < 0)
		return -1;
	if (virDomainIsActive(dom) != 1)
		return 0;
	if (snapshot_wait(conn, dom, err) < 0 || job_watch(&job, conn, dom, err) < 0)
		return -1;
	runs = job_runs(dom, err);
	if (runs <= 0)
		return runs;
	job_cancel(&job);
	if (job_wait(&job, &cancelled) < 0)
		log_debug("%s", cancelled.text); /* as it should be */
	runs = job_runs(dom, err);
	if (runs > 0)
		return error_set(err, ERROR_BUSY,
			"'%s' is still merging layers; wait, or cancel it: virsh blockjob %s %s --abort",
			virDomainGetName(dom), virDomainGetName(dom), DISK);
	return runs;
}

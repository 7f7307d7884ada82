/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: the disks are known by label. The kernel names them in the order in which it finds them, which
 * varies; libguestfs translates names in its own calls, but not in the arguments of a command that it
 * runs: a tar that reads the wrong disk may find zeros there, an empty archive to it, and be content.
 *
 * The payload's archive is a raw disk of the appliance and is unpacked by the guest's own tar: under emulation
 * this is several times as fast as sending it through the appliance's channel.
 */
#include "mint/appliance.h"

#include <errno.h>
#include <guestfs.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/steps.h"
#include "base/str.h"
#include "mint/event.h"
#include "mint/launch.h"

#define DISK LAUNCH_BY_LABEL "root"
#define SEED (LAUNCH_BY_LABEL "seed")
#define LAYER (LAUNCH_BY_LABEL "layer")
#define SEED_MOUNT "/mnt"

struct appliance {
	const struct appliance_job *job;
	guestfs_h *g;
};

static int step_launch(void *ctx, struct error *err)
{
	struct appliance *a = ctx;
	const struct launch_disk disks[] = {
		{ a->job->disk, "root", "qcow2", false },
		{ a->job->seed, "seed", "raw", true },
		{ a->job->layer, "layer", "raw", true },
	};

	if (launch_with(a->g, disks, ARRAY_LEN(disks), err) < 0)
		return -1;
	if (guestfs_mount_options(a->g, "noatime", DISK, "/") < 0)
		return error_guestfs(err, a->g, "mount the layer");
	return 0;
}

/* Run a program of the guest. */
static int command(
	struct appliance *a, const char *const *argv, const char *what, struct error *err)
{
	_cleanup_free_ char *output = guestfs_command(a->g, (char *const *)argv);

	return output ? 0 : error_guestfs(err, a->g, what);
}

static int step_payload(void *ctx, struct error *err)
{
	static const char *const unpack[] = { "tar", "--extract", "--file", LAYER, "--directory",
		"/", "--preserve-permissions", "--same-owner", "--numeric-owner", "--xattrs",
		"--xattrs-include=*", NULL };
	struct appliance *a = ctx;

	if (a->job->removed)
		vec_foreach(char *, path, a->job->removed) {
			_cleanup_free_ char *absolute = str_format(err, "/%s", *path);

			if (!absolute)
				return -1;
			if (guestfs_rm_rf(a->g, absolute) < 0)
				return error_guestfs(err, a->g, "remove what the payload removed");
		}
	return a->job->layer ? command(a, unpack, "unpack the payload", err) : 0;
}

/* Groups that the user is in as far as they exist. */
static int join_groups(struct appliance *a, struct error *err)
{
	static const char *const groups[] = { "sudo", "docker" };
	_cleanup_free_ char *known = guestfs_read_file(a->g, "/etc/group", &(size_t){ 0 });

	if (!known)
		return error_guestfs(err, a->g, "read the groups of the image");
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		const char *const argv[] = { "usermod", "--append", "--groups", groups[i],
			a->job->user, NULL };
		_cleanup_free_ char *line = str_format(err, "\n%s:", groups[i]);

		if (!line)
			return -1;
		if (strstr(known, line) &&
			command(a, argv, "put the user into his groups", err) < 0)
			return -1;
	}
	return 0;
}

/* useradd locks the password of a user who gets none. */
static int step_user(void *ctx, struct error *err)
{
	struct appliance *a = ctx;
	const char *const argv[] = { "useradd", "--create-home", "--user-group", "--uid", "1000",
		"--shell", "/bin/bash", a->job->user, NULL };

	if (command(a, argv, "make the user", err) < 0 || join_groups(a, err) < 0)
		return -1;
	if (guestfs_tar_in(a->g, a->job->files, "/") < 0)
		return error_guestfs(err, a->g, "put our files into the image");
	return 0;
}

/* The layer's own copy: a boot sector speaks of the blocks in which the loader is. */
static int step_boot(void *ctx, struct error *err)
{
	struct appliance *a = ctx;

	if (guestfs_extlinux(a->g, "/boot/extlinux") < 0)
		return error_guestfs(err, a->g, "install the boot loader");
	return 0;
}

/* ---- proofs ---- */

static int expect_text(struct appliance *a, const char *path, const char *want, struct error *err)
{
	size_t len = 0;
	_cleanup_free_ char *got = guestfs_read_file(a->g, path, &len);

	if (!got)
		return error_guestfs(err, a->g, "read back what was written");
	if (len != strlen(want) || memcmp(got, want, len) != 0)
		return error_set(err, ERROR_FAILED, "'%s' reads back as something else", path);
	return 0;
}

/* As a guest sees it: by its label, on a disk that it mounts. */
static int prove_seed(struct appliance *a, struct error *err)
{
	const struct seed *texts = a->job->texts;
	const struct {
		const char *path, *text;
	} files[] = {
		{ SEED_MOUNT "/user-data", texts->user_data },
		{ SEED_MOUNT "/meta-data", texts->meta_data },
		{ SEED_MOUNT "/network-config", texts->network_config },
	};
	_cleanup_free_ char *label = guestfs_vfs_label(a->g, SEED);

	if (!label)
		return error_guestfs(err, a->g, "read the seed's label");
	if (!str_equal(label, SEED_LABEL))
		return error_set(
			err, ERROR_FAILED, "the seed's label reads back as something else");
	if (guestfs_mount_ro(a->g, SEED, SEED_MOUNT) < 0)
		return error_guestfs(err, a->g, "mount the seed");
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (expect_text(a, files[i].path, files[i].text, err) < 0)
			return -1;
	if (guestfs_umount(a->g, SEED_MOUNT) < 0)
		return error_guestfs(err, a->g, "unmount the seed");
	return 0;
}

/* The exit status of tar is no proof of effect: the last file of the payload is there, in its size. */
static int prove_payload(struct appliance *a, struct error *err)
{
	const struct appliance_sample *sample = &a->job->sample;
	_cleanup_free_ char *path = NULL;

	if (!a->job->layer || !sample->path)
		return 0;
	path = str_format(err, "/%s", sample->path);
	if (!path)
		return -1;
	if (guestfs_is_file(a->g, path) != 1 ||
		guestfs_filesize(a->g, path) != (int64_t)sample->bytes)
		return error_set(err, ERROR_FAILED,
			"the payload did not arrive in the image: '%s' is not there as it was made",
			path);
	return 0;
}

/* A kernel that took the boot sector for a table of partitions would not find its disk. */
static int prove_layer(struct appliance *a, struct error *err)
{
	_cleanup_(launch_free_list_p) char **partitions = guestfs_list_partitions(a->g);

	if (!partitions)
		return error_guestfs(err, a->g, "look at the layer");
	/* no disk here has any: neither the layer nor the seed nor an archive */
	if (*partitions)
		return error_set(
			err, ERROR_FAILED, "the boot sector looks like a table of partitions");
	return expect_text(a, "/etc/machine-id", "", err);
}

static int step_prove(void *ctx, struct error *err)
{
	struct appliance *a = ctx;

	if (prove_seed(a, err) < 0)
		return error_wrap(err, "the seed cannot be proven");
	return prove_payload(a, err) < 0 ? -1 : prove_layer(a, err);
}

static int step_close(void *ctx, struct error *err)
{
	struct appliance *a = ctx;

	if (guestfs_fstrim(a->g, "/", -1) < 0)
		log_debug("fstrim: %s", guestfs_last_error(a->g));
	if (guestfs_umount_all(a->g) < 0 || guestfs_shutdown(a->g) < 0)
		return error_guestfs(err, a->g, "close the layer");
	return 0;
}

static const struct step steps[] = {
	{ "launch", "starting the appliance", step_launch, NULL },
	{ "payload", "putting the payload into the image", step_payload, NULL },
	{ "user", "making the user", step_user, NULL },
	{ "boot", "installing the boot loader", step_boot, NULL },
	{ "prove", "reading seed and payload back", step_prove, NULL },
	{ "close", "closing the image", step_close, NULL },
};

int appliance_run(const struct appliance_job *job, struct error *err)
{
	_cleanup_(guestfs_close_p) guestfs_h *g = launch_new(err);
	struct appliance a = { .job = job, .g = g };

	if (!g)
		return -1;
	return steps_run("appliance", steps, ARRAY_LEN(steps), &a, &event_steps, err);
}

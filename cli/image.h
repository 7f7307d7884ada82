/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the actions of "box image" share: cmd-image.c dispatches, image-show.c and image-change.c act. */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include "cli/session.h"
#include "vmm/image-store.h"
#include "vmm/warm.h"

struct image_options {
	bool refresh, offline, compress; /* mint */
	bool dry_run; /* prune */
	bool sbom; /* info */
};

/* An action's state: the pool is open and its images are read. */
struct image_work {
	struct session *s;
	const struct image_options *options;
	const char *const *args; /* behind the action's word */
	size_t count;
	virStoragePoolPtr pool; /* owned */
	struct image_store store; /* owned */
	char build[24]; /* of what this command makes anew */
};
void image_work_done(struct image_work *work);
#define _cleanup_image_work_ _cleanup_(image_work_done)

/*
 * Let go of the connection, and take a new one and read the images again. Nobody answers libvirtd's
 * keep-alive while this process waits for something else for minutes, and then it hangs up.
 */
void image_work_suspend(struct image_work *work);
int image_work_resume(struct image_work *work, struct error *err) MUST_CHECK;

/* Read the images (again). */
int image_work_read(struct image_work *work, struct error *err) MUST_CHECK;

/*
 * The image that a person means: a template's newest one, or a volume's name with or without ".qcow2".
 * ERROR_NOT_FOUND.
 */
const struct manifest *image_named(
	const struct image_work *work, const char *name, struct error *err) MUST_CHECK;

/* The newest image of a template's present recipe, lent; NULL when there is none or no such template. */
const struct manifest *image_current(const struct image_work *work, const char *template);

/* There is a template of that name, of which images are made. */
bool image_template_known(const char *template);

/* What the record beside this layer of a warm image says. ERROR_INVALID when it is damaged. ret is zeroed. */
int image_warm_read(const struct image_work *work, const char *layer, struct warm *ret,
	struct error *err) MUST_CHECK;

int image_list(struct image_work *work, struct error *err) MUST_CHECK;
int image_info(struct image_work *work, struct error *err) MUST_CHECK;
int image_verify(struct image_work *work, struct error *err) MUST_CHECK;
int image_prune(struct image_work *work, struct error *err) MUST_CHECK;
int image_rm(struct image_work *work, struct error *err) MUST_CHECK;
int image_warm(struct image_work *work, struct error *err) MUST_CHECK;
int image_mint(struct image_work *work, struct error *err) MUST_CHECK;

#endif

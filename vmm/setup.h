/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making this machine a host for boxes and taking that away again: net/host.h's files and rules, and
 * libvirt's network and pool, in the order that fails closed. Needs root, on the machine itself.
 */
#ifndef VMM_SETUP_H
#define VMM_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/steps.h"
#include "base/vec.h"

struct setup_request {
	const char *uri; /* of libvirt; NULL: as virt_open */
	const char *subnet, *dns; /* BOX_SUBNET, BOX_DNS; NULL: not given */
	bool purge; /* teardown: boxes and images too */
	const struct steps_observer *observer;
};

struct setup_report {
	bool changed; /* anything at all was done */
	bool restart_libvirt; /* its daemons must be restarted by hand, for the hooks */
	char subnet[24]; /* "10.88.0.0/24" */
	unsigned boxes_kept; /* teardown: boxes that the kept pool holds */
	/* teardown: what else it holds that is not to be lost, one of it; "" */
	char volume_kept[256];
};

/*
 * Set up, or bring up to date: a second run changes nothing. ERROR_BUSY, ERROR_USAGE: a refusal, before
 * anything was changed.
 */
int setup_host(const struct setup_request *request, struct setup_report *ret,
	struct error *err) MUST_CHECK;

/*
 * Take away network, rules, hooks, configuration, and the pool with its images. While there are boxes
 * the pool stays, with them and the images (ret->boxes_kept), unless purge, which removes the boxes
 * first. It stays whole, too, while it holds a volume that is none of ours, a layer of a box whose domain is
 * gone (purge takes these), or one that some domain uses (ret->volume_kept). ERROR_BUSY while a box runs
 * (purge powers it off). That nothing is left is seen; what is left is ERROR_FAILED, named.
 */
int setup_teardown(const struct setup_request *request, struct setup_report *ret,
	struct error *err) MUST_CHECK;

#endif

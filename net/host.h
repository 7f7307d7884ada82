/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What "box setup-host" and "box teardown-host" do on the host itself, apart from libvirt's objects
 * (the network and the pool are vmm's): the configuration file, the hooks, the boot unit, the tables.
 * Needs root. Everything is decided, and every refusal comes, before anything is changed.
 *
 * setup:     host_plan, host_setup; then vmm defines pool and network with network_def_xml(&h.config);
 *            then isolation_check must find nothing
 * teardown:  vmm takes network and pool away; then host_teardown, host_leftovers must find nothing
 */
#ifndef NET_HOST_H
#define NET_HOST_H

#include <stdbool.h>

#include "base/error.h"
#include "base/steps.h"
#include "base/vec.h"
#include "net/config.h"
#include "net/isolation.h"

enum { HOST_FILES_MAX = 8 };

/* A file or link that setup makes. All members but was are decided by host_plan. */
struct host_file {
	const char *name; /* for people: "hook for domains" */
	char path[256]; /* with the root before it */
	char *content; /* owned; of a link: where it points to */
	size_t len;
	unsigned mode; /* 0: a link */
	bool changed; /* host_setup wrote it */
	char *was; /* owned; what was there before; NULL: nothing */
	size_t was_len;
};

struct host {
	/* wanted; set by the caller before host_plan */
	const char *root; /* "" ; tests: a folder that stands for / */
	const char *program; /* path of box-hook, which is copied */
	const char *units; /* folder of the unit and the drop-in, as installed */
	const char *subnet; /* BOX_SUBNET; NULL: choose */
	const char *dns; /* BOX_DNS; NULL: keep what is set up, else the default */
	const struct isolation_paths *paths;

	/* found by host_plan */
	struct net_config config; /* what boxnet is to be */
	bool existing; /* the host was set up before */
	bool systemd; /* systemd runs here */
	struct host_file files[HOST_FILES_MAX];
	size_t n_files;

	/* found by host_setup */
	bool changed; /* anything at all was done; a second run leaves it false */
	bool rules_changed; /* the tables were not right */
	bool restart_libvirt; /* libvirtd looks for hooks only when it starts, and must be restarted */
};

void host_done(struct host *h);
#define _cleanup_host_ _cleanup_(host_done)

/* Decide. ERROR_BUSY, ERROR_USAGE: a refusal (subnet, resolvers); nothing has changed. */
int host_plan(struct host *h, struct error *err) MUST_CHECK;

/*
 * Do it, as operation "setup-host" of steps; observer may be NULL. All or nothing: a failed step puts
 * files back as they were. On a host with systemd libvirt's daemons are restarted when they must be;
 * elsewhere restart_libvirt tells the caller to say so.
 */
int host_setup(struct host *h, const struct steps_observer *observer, struct error *err) MUST_CHECK;

/*
 * Take away all that setup made, whatever of it is there. ERROR_BUSY while a box runs: its rules would
 * go before it. *ret_changed: something was there.
 */
int host_teardown(struct host *h, bool *ret_changed, struct error *err) MUST_CHECK;

/* What of ours is still there, as words ("table inet box", "/etc/box/net.conf"), appended to ret. */
VEC_DEFINE(host_names, char *);
void host_names_free(struct host_names *names);
int host_leftovers(struct host *h, struct host_names *ret, struct error *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that setup-host makes (net/host.h), one by one. */
#ifndef NET_HOST_FILES_H
#define NET_HOST_FILES_H

#include "net/host.h"

#define HOST_HOOK_QEMU "/etc/libvirt/hooks/qemu.d/box"
#define HOST_HOOK_NETWORK "/etc/libvirt/hooks/network.d/box"

/*
 * Fill h->files from h->config, root, program and systemd. complete: with contents, for this host;
 * else every path that setup could have made on any host, for teardown.
 */
int host_files_plan(struct host *h, bool complete, struct error *err) MUST_CHECK;

/* Make it as planned; sets changed when it was not. A file with other contents is kept in was. */
int host_file_put(struct host_file *f, struct error *err) MUST_CHECK;

/* Undo of host_file_put. */
void host_file_put_back(struct host_file *f);

/* A missing one is a success. */
int host_file_remove(const struct host_file *f, bool *ret_changed, struct error *err) MUST_CHECK;

/* Remove the folder of this path if it is empty and of a kind that only we may have made. */
void host_remove_empty_parent(const char *path);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libvirtd calls, as root, whoever starts a box: /etc/libvirt/hooks/qemu.d/box and network.d/box.
 * Works from its arguments and standard input alone; asking libvirt from a hook is a deadlock. An
 * error makes libvirt give up the start, and its text reaches whoever asked for it.
 */
#ifndef NET_HOOK_H
#define NET_HOOK_H

#include "base/error.h"
#include "net/isolation.h"

enum hook_kind {
	HOOK_QEMU,
	HOOK_NETWORK,
};

struct hook_call {
	enum hook_kind kind;
	const char *object; /* name of the domain or network: a stranger's word */
	const char *operation; /* "prepare", "release", "started" ... */
	const char *sub; /* "begin", "end" */
	int input; /* the object's XML; lent */
};

/* Which hook a path of ours is: by its folder, qemu.d or network.d. -1 when it is neither. */
int hook_kind_of(const char *path);

int hook_run(const struct isolation_paths *paths, const struct hook_call *call,
	struct error *err) MUST_CHECK;

#endif

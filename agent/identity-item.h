/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The items of agent/identity.h, one function each; and the files they touch. */
#ifndef AGENT_IDENTITY_ITEM_H
#define AGENT_IDENTITY_ITEM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

struct identity_context {
	const char *root; /* "" or the folder that stands for "/" */
	bool live; /* the running kernel and its services are ours to change */
	pid_t *key_maker; /* lent: the process that makes the SSH host keys meanwhile; 0: none */
};

/*
 * Apply value and append to into what is in force afterwards. ERROR_INVALID when the value itself is
 * no good.
 */
typedef int identity_item_fn(
	const struct identity_context *c, const char *value, struct str *into, struct error *err);

identity_item_fn identity_uuid, identity_seed, identity_clock, identity_hostname,
	identity_machine_id, identity_instance_id, identity_ssh_keys, identity_mac,
	identity_address;

/* Take the SSH host keys away, if value asks for new ones. */
void identity_drop_ssh_keys(const struct identity_context *c, const char *value);

/* Have a process make new ones while other items are applied, once the random generator has the new seed. */
void identity_start_ssh_keys(const struct identity_context *c, const char *value);

/* root + path, given. */
char *identity_path(
	const struct identity_context *c, const char *path, struct error *err) MUST_CHECK;

/* The first line of a file below root appended to into, without blanks at its end. */
int identity_line(const struct identity_context *c, const char *path, struct str *into,
	struct error *err) MUST_CHECK;

/* Replace a file below root: on disk with the next identity_sync. */
int identity_write(const struct identity_context *c, const char *path, const void *bytes,
	size_t len, mode_t mode, struct error *err) MUST_CHECK;

/*
 * Bring all that was written to the disk. Once for all items: each waiting for the disk costs as much as the
 * item itself.
 */
int identity_sync(const struct identity_context *c, struct error *err) MUST_CHECK;

/* Run a program of the guest, searched on the system's PATH; its output is dropped. */
int identity_run(const char *const *argv, struct error *err) MUST_CHECK;

/* Append the items "mac" and "address" of the first network device, if there is one. */
void identity_put_network(const struct identity_context *c, struct str *into);

/* 32 lower-case hex digits, not all zero. */
bool identity_machine_id_valid(const char *text);

#endif

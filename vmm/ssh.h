/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SSH into a box without a network path: sshd in the box, in inetd mode, on the streams of a session with the
 * guest agent. Who may start it has root in the box already, by access to libvirt; SSH adds what speaks SSH.
 *
 * The box's host keys are fetched through the agent, which is as trustworthy as the box itself; what comes is
 * parsed and written anew.
 */
#ifndef VMM_SSH_H
#define VMM_SSH_H

#include "base/error.h"
#include "base/str.h"
#include "vmm/guest.h"

/* The command that serves one SSH connection on its standard streams; as root. NULL-terminated. */
extern const char *const ssh_serve_argv[];

/* A public key: its type ("ssh-ed25519"), and type and key as they stand in a file. */
struct ssh_key {
	char *text; /* owned: "ssh-ed25519 AAAA...", without a comment */
};
void ssh_key_done(struct ssh_key *key);
#define _cleanup_ssh_key_ _cleanup_(ssh_key_done)

/*
 * Parse one line of a .pub file: a type that OpenSSH knows and a key of that type; a comment is dropped.
 * ERROR_INVALID otherwise; a private key is told apart.
 */
int ssh_key_parse(const char *line, size_t len, struct ssh_key *ret, struct error *err) MUST_CHECK;

/* The one key in the file at path. */
int ssh_key_read(const char *path, struct ssh_key *ret, struct error *err) MUST_CHECK;

/*
 * Append the host keys of the box as lines of a known_hosts file, under this name. ERROR_NOT_FOUND when it has
 * none: sshd is not installed, or the first boot is not over.
 */
int ssh_host_keys(
	struct guest *g, const char *name, struct str *into, struct error *err) MUST_CHECK;

/* Let this key in as user of the box. *ret_new: it was not let in before. */
int ssh_allow(struct guest *g, const char *user, const struct ssh_key *key, bool *ret_new,
	struct error *err) MUST_CHECK;

#endif

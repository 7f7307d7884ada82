/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users of the guest, read from /etc/passwd and /etc/group themselves: the agent is static, and
 * glibc's own look-up would load name service modules of another libc at run time. Users that only
 * a name service knows (LDAP, systemd-homed) are therefore not found.
 */
#ifndef AGENT_ACCOUNT_H
#define AGENT_ACCOUNT_H

#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

VEC_DEFINE(gid_vec, gid_t);
VEC_DEFINE(text_vec, char *);

struct account {
	char *name, *home, *shell; /* owned; home and shell are never empty */
	uid_t uid;
	gid_t gid;
	struct gid_vec groups; /* supplementary, gid included */
};

/* root is the folder that stands for "/" (tests), "" otherwise. ERROR_NOT_FOUND: no such user. */
int account_find(
	const char *root, const char *name, struct account *ret, struct error *err) MUST_CHECK;
void account_done(struct account *a); /* zeroed is fine */

/* The gid of a group, or fallback if there is none of that name. */
gid_t account_group(const char *root, const char *name, gid_t fallback);

/*
 * The environment of a login, as "NAME=value" (each owned): HOME USER LOGNAME SHELL PATH LANG ...
 * from the account, /etc/login.defs (PATH), /etc/default/locale and /etc/environment, the later
 * winning. What shell profiles add is not in it (agent/exec.c asks the shell for that).
 */
int account_environment(const char *root, const struct account *a, struct text_vec *ret,
	struct error *err) MUST_CHECK;

/* Set NAME=value (value is split off at the first '='), replacing what is there. Takes nothing. */
int environment_set(struct text_vec *env, const char *assignment, struct error *err) MUST_CHECK;
const char *environment_get(const struct text_vec *env, const char *name); /* lent, or NULL */
void environment_unset(struct text_vec *env, const char *name);
void environment_done(struct text_vec *env);

#endif

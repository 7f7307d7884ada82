/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's tree has files of many owners, and chroot needs root. Who is not root gets both in a user
 * namespace: root there is the caller, so that all files of the caller's are at hand, and the other owners are
 * the range that /etc/subuid and /etc/subgid give the caller. unshare(1) and newuidmap(1) do the work.
 */
#ifndef MINT_USERNS_H
#define MINT_USERNS_H

#include <stddef.h>

/* Words to put before a command so that it runs as root of a tree; *ret_count is 0 when we are root. Static. */
const char *const *userns_words(size_t *ret_count);

/* What an ordinary user lacks when that does not work; "" for root. */
const char *userns_hint(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a domain may have and no box has: a way out that our rules do not know. One table, from which the
 * drill says what it found and "box list", "info" and "doctor" that there is something. Pure.
 */
#ifndef VMM_OPENING_H
#define VMM_OPENING_H

#include "base/error.h"
#include "base/xml.h"

enum opening_kind {
	OPENING_FOREIGN, /* a thing of the host */
	OPENING_LISTENER, /* what listens on the host, or connects from it, on the domain's behalf */
};

/* The first of a kind: 1 and its name for people, static; 0 for none; -1 error. */
int opening_find(
	struct xml *domain, enum opening_kind kind, const char **ret, struct error *err) MUST_CHECK;

/* Whether there is any of any kind: 1, 0, -1. One question, as "box list" asks it for each box. */
int opening_any(struct xml *domain, struct error *err) MUST_CHECK;

#endif

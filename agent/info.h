/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent says of itself and its guest. */
#ifndef AGENT_INFO_H
#define AGENT_INFO_H

#include "agent/stage.h"

/*
 * Append the items of an INFO's ANSWER: agent, protocol, kernel, hostname, machine-id, boot-id,
 * uptime (ms), state, stage, mac, address (each only if there is one), and "identity.NAME" for what is
 * recorded of the identity this guest was given.
 */
void info_put(const char *root, const struct stages *stages, struct str *into);

#endif

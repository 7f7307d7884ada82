/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching for frames by their tokens: the evidence from the receiving end. Every token of one drill
 * begins with the same prefix; what follows it (letters, digits, dashes, at most 16) tells the probe.
 *
 * Each prints "ready" and then, once for each new combination, flushed at once:
 *
 *	seen WHERE in|out TYPE SRC_MAC DST_MAC SRC DST TOKEN   watch_tokens; WHERE is the interface, SRC
 *	                                                 and DST are IPv4 addresses or "-"
 *	seen local PROTOCOL SRC TOKEN                    catch_tokens; PROTOCOL is udp, tcp or icmp
 *	lost N                                           the kernel had to drop N frames before we saw them
 */
#ifndef PROBE_WATCH_TOKEN_H
#define PROBE_WATCH_TOKEN_H

#include <stdint.h>

#include "base/error.h"

enum { TOKEN_PREFIX_MAX = 40, TOKEN_TAIL_MAX = 16 };

/*
 * The token in these bytes: prefix and what follows it. Copies it to ret, NUL-terminated; returns
 * whether there is one. Letters are compared without regard to case: resolvers may change it.
 */
int token_find(const uint8_t *bytes, size_t len, const char *prefix,
	char ret[TOKEN_PREFIX_MAX + TOKEN_TAIL_MAX + 1]);

/* Watch one interface, or all when iface is NULL, for duration milliseconds. Needs CAP_NET_RAW. */
int watch_tokens(
	const char *iface, const char *prefix, unsigned duration, struct error *err) MUST_CHECK;

/*
 * See what this machine's own stack is given, behind its packet filter: UDP at port, TCP connections
 * to it, both bound to the interface device when not NULL; with CAP_NET_RAW also every UDP, TCP and ICMP
 * packet that carries a token. The first line is then "ready raw", else "ready".
 */
int catch_tokens(const char *prefix, uint16_t port, const char *device, unsigned duration,
	struct error *err) MUST_CHECK;

#endif

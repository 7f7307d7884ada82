/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The receiving end of a probe. Each prints a line an arrival on standard output, flushed at once, and
 * "ready" before the first, so that a test sends only when somebody listens.
 */
#ifndef PROBE_WATCH_H
#define PROBE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Print every frame that arrives on the interface (not those that leave it) and carries the token:
 * "frame TYPE SRC_MAC DST_MAC LENGTH". Returns after duration milliseconds, or after count frames
 * (0: no limit).
 */
int watch_frames(const char *iface, const char *token, unsigned duration, unsigned count,
	struct error *err) MUST_CHECK;

/*
 * Listen on the port, all addresses: "accept ADDR PORT" for each TCP connection (closed after the
 * line "box-probe" was sent), "datagram ADDR PORT LENGTH" for each UDP datagram, which is echoed.
 */
int watch_port(
	bool tcp, uint16_t port, unsigned duration, unsigned count, struct error *err) MUST_CHECK;

#endif

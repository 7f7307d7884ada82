/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A two-way byte stream to the guest agent, non-blocking, driven by libvirt's event loop (register it
 * first: virt_open does). What carries it is an interface: libvirt's stream of a domain's channel, which
 * works through a remote URI as well as a local one, or a socket, as tests have it.
 *
 * Callbacks only set flags: the owner of a channel looks at channel_ready after each turn of the loop.
 */
#ifndef VMM_CHANNEL_H
#define VMM_CHANNEL_H

#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum { CHANNEL_PORTS = 16 }; /* box.agent.0 to box.agent.15 */

enum channel_want { CHANNEL_READ = 1, CHANNEL_WRITE = 2 };

struct channel;

/*
 * Open the first of the domain's ports box.agent.N that nobody else uses. ERROR_BUSY: all are in use;
 * ERROR_NOT_FOUND: the domain has none; ERROR_UNREACHABLE: it does not run.
 */
struct channel *channel_open(virDomainPtr dom, struct error *err) MUST_CHECK;

/* The same over a stream socket, which is taken, also when it fails. */
struct channel *channel_open_fd(int fd, struct error *err) MUST_CHECK;

/* Close and free; NULL is fine. What was sent and not yet taken by the guest may be lost. */
void channel_close(struct channel *c);
DEFINE_CLEANUP(struct channel *, channel_close);

enum { CHANNEL_AGAIN = -1, CHANNEL_BROKEN = -2 };

/*
 * Receive or send up to len bytes. Returns the number; 0 from channel_recv at the end of the stream;
 * CHANNEL_AGAIN when nothing can be moved now; CHANNEL_BROKEN, with err, when it never can be.
 */
ssize_t channel_recv(struct channel *c, void *into, size_t len, struct error *err) MUST_CHECK;
ssize_t channel_send(
	struct channel *c, const void *bytes, size_t len, struct error *err) MUST_CHECK;

/* Which enum channel_want bits should end a turn of the loop. */
int channel_want(struct channel *c, unsigned want, struct error *err) MUST_CHECK;

/* Which bits the last turn found, and forget them. */
unsigned channel_ready(struct channel *c);

#endif

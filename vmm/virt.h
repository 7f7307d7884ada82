/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to libvirt: opening it, its errors turned into ours, waiting for its events, and its
 * destructors made fit for _cleanup_ (bare, they overwrite the last error when given NULL).
 *
 * One thread, one connection. Nothing here assumes that the hypervisor is this machine.
 */
#ifndef VMM_VIRT_H
#define VMM_VIRT_H

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

DEFINE_CLEANUP(virConnectPtr, virConnectClose);
DEFINE_CLEANUP(virDomainPtr, virDomainFree);
DEFINE_CLEANUP(virNetworkPtr, virNetworkFree);
DEFINE_CLEANUP(virStoragePoolPtr, virStoragePoolFree);
DEFINE_CLEANUP(virStorageVolPtr, virStorageVolFree);
DEFINE_CLEANUP(virStreamPtr, virStreamFree);

/* An array of objects that libvirt allocated: libvirt's count, our cleanup of array and objects. */
struct virt_domains {
	virDomainPtr *items;
	int len;
};
void virt_domains_done(struct virt_domains *list);
#define _cleanup_domains_ _cleanup_(virt_domains_done)

struct virt_volumes {
	virStorageVolPtr *items;
	int len;
};
void virt_volumes_done(struct virt_volumes *list);
#define _cleanup_volumes_ _cleanup_(virt_volumes_done)

/*
 * Connect. uri is the --connect option or NULL: then LIBVIRT_DEFAULT_URI, else qemu:///system;
 * libvirt's uri_aliases work. Never prompts. Registers libvirt's event loop and silences its default
 * error handler, once. ERROR_UNREACHABLE when no daemon answers, ERROR_DENIED when this user may not;
 * both texts say what to do. Close with virConnectClose.
 */
virConnectPtr virt_open(const char *uri, struct error *err) MUST_CHECK;

/* The URI that virt_open would use, lent. */
const char *virt_uri(const char *uri);

/*
 * True when the hypervisor is this machine: the URI names no server. Only for conveniences (a console
 * log that can be removed directly), never for what has to work.
 */
bool virt_is_local(virConnectPtr conn);

/*
 * Fill err from libvirt's last error: the formatted text, ": ", libvirt's own words made harmless. The
 * kind follows libvirt's code. Returns -1. Call it before anything else talks to libvirt; as the
 * operand of return it runs before every cleanup.
 */
int error_virt(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The code (virErrorNumber) of libvirt's last error; VIR_ERR_OK when there is none. */
int virt_last_code(void);

/*
 * Run the event loop until *done is true (a callback sets it), at most until deadline_ms on
 * clock_ms's clock. 1 when done, 0 when time ran out, -1 with ERROR_INTERRUPTED when the flag of
 * virt_interrupt_flag was raised, ERROR_UNREACHABLE when the connection broke.
 */
int virt_wait(
	virConnectPtr conn, const bool *done, uint64_t deadline_ms, struct error *err) MUST_CHECK;

/*
 * The same until fd (lent) can be read or has ended. For waiting that has nothing to do with libvirt, such
 * as for a person's answer: libvirt's daemon closes a connection whose event loop stands still for half
 * a minute, since nobody answers its keepalive probes. So who waits longer waits here, or connects anew.
 */
int virt_wait_readable(
	virConnectPtr conn, int fd, uint64_t deadline_ms, struct error *err) MUST_CHECK;

/*
 * Answer what libvirt's daemon has asked meanwhile, without waiting: for who polls descriptors of its own, and comes
 * here every VIRT_ANSWER_MS at least. Nothing happens while there is no connection.
 */
enum { VIRT_ANSWER_MS = 5000 }; /* as often as the daemon asks */
void virt_answer(void);

/* Lend a flag that a signal handler raises; virt_wait looks at it. NULL takes it back. */
void virt_interrupt_flag(const volatile sig_atomic_t *flag);

/* Whether that flag is raised. */
bool virt_interrupted(void);

#endif

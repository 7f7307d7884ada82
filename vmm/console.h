/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a box says on its serial console while somebody waits for it. Read through libvirt's stream
 * rather than from the log file, so that it works for members of the group libvirt and from afar. Only
 * the tail is kept. The bytes are the guest's: console_tail makes them harmless.
 */
#ifndef VMM_CONSOLE_H
#define VMM_CONSOLE_H

#include "base/str.h"
#include "vmm/virt.h"

#define CONSOLE_KEEP 16384 /* bytes of the tail */

struct console;

/*
 * Follow the console of an active domain from now on. It is read whenever the event loop runs
 * (virt_wait). Needs the console for itself: it fails, ERROR_BUSY or ERROR_FAILED, if somebody has it.
 */
struct console *console_follow(virDomainPtr dom, struct error *err) MUST_CHECK;

/* Bytes that came so far: whether the guest still says something. NULL console: 0. */
uint64_t console_bytes(const struct console *console);

/* Stop following; NULL is fine. */
void console_free(struct console *console);
DEFINE_CLEANUP(struct console *, console_free);

/*
 * The last lines (at most max_lines) of what came, one per line, without terminal sequences and with
 * everything else that could disturb a terminal escaped. NULL console: nothing.
 */
void console_tail(const struct console *console, unsigned max_lines, struct str *into);

/*
 * Remove the logs of the console of a box that has gone, or has another name now. libvirt has no call
 * for that: where the hypervisor is this machine and we may, they are unlinked; elsewhere they stay, as
 * the log of any domain does.
 */
void console_remove_logs(virConnectPtr conn, const char *name);

/* The pure part: clean len raw bytes and append their last max_lines lines. */
void console_clean(const char *raw, size_t len, unsigned max_lines, struct str *into);

#endif

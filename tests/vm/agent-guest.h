/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's sessions against the agent inside a real guest kernel: what the files of this test share.
 *
 *	agent-guest.c		the guest, started and stopped; running commands in it; main
 *	agent-sessions.c	commands, terminals, many sessions, and ends that vanish
 *	agent-streams.c		bytes each way, and many of them
 *	agent-requests.c	what is asked of the agent beside commands: identity, freeze, first boot
 *
 * Whatever goes wrong fails the test that runs, or ends the process of a test with a status.
 */
#ifndef TESTS_VM_AGENT_GUEST_H
#define TESTS_VM_AGENT_GUEST_H

#include <sys/types.h>

#include "tests/unit/test.h"
#include "vmm/guest.h"

extern const struct guest_wait agent_quick; /* half a minute */
extern const char *agent_domain; /* the guest is this domain of libvirt's; NULL: QEMU of our own */
extern virDomainPtr agent_dom; /* with a domain */
extern uint64_t agent_bulk_mib; /* how long a long stream is */

/* A session on a port; with libvirt on any that is free. agent_session fails the test if there is none. */
struct guest *agent_open(int port, const struct guest_wait *wait, struct error *err);
struct guest *agent_session(int port);

/* A request without streams, as root. */
struct guest_exec agent_request(const char *const *argv);

/* Run it; its stdout, given. agent_sh runs a script; agent_sh_once in a session of its own, and it must succeed. */
char *agent_run(struct guest *g, struct guest_exec r, int *ret_status);
char *agent_sh(struct guest *g, const char *script, int *ret_status);
char *agent_sh_once(const char *script);

/* All of a file that can be read again, given. */
char *file_contents(int fd);

/*
 * Start one of the works below by its name, in a process of its own, and a program of its own: libvirt's loop
 * belongs to one thread, and its connections do not survive a fork.
 */
pid_t agent_in_child(const char *work, int port);

/* Works: each ends the process by itself when it fails. */
void copy_a_megabyte(int port);
void stream_for_ever(int port);
void sleep_at_a_terminal(int port);
void write_stages(int port);

/* agent-sessions.c; the last two with libvirt, and the very last ends the domain */
void test_statuses(void **state);
void test_user_and_login(void **state);
void test_terminal(void **state);
void test_closed_ends(void **state);
void test_sessions_in_a_row(void **state);
void test_many_at_once(void **state);
void test_killed_in_mid_stream(void **state);
void test_hang_up_ends_what_runs(void **state);
void test_agent_restarted(void **state);
void test_all_ports_in_use(void **state);
void test_domain_ends(void **state);

/* agent-streams.c */
void test_binary_input(void **state);
void test_bulk(void **state);

/* agent-requests.c */
void test_identity(void **state);
void test_identity_is_checked(void **state);
void test_freeze(void **state);
void test_first_boot(void **state);

#endif

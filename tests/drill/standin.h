/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host with two boxes, made of network namespaces without names: no guests, but the same bridge, the
 * same ports with their isolation, the same rules. The drill runs in it as with real boxes; what a domain
 * or a guest's image could tell is not there. It all vanishes with this process.
 *
 *	 box A 10.88.0.2    box B 10.88.0.3
 *	      |                  |
 *	 bxtaaaaaaaa        bxtbbbbbbbb
 *	      +----- boxnet -----+        the host: 10.88.0.1, name server for boxes, a service on TCP 2222
 *	        wan0 203.0.113.2            lan0 10.20.30.1, 172.16.5.1, 192.168.77.1, 100.64.7.1
 *	           |                            |
 *	   wan 203.0.113.53 (DNS)          lan .40 of each, 169.254.169.254; TCP 80, UDP 53
 *
 * The calling process is in the host's namespace afterwards, and stays there.
 */
#ifndef TESTS_DRILL_STANDIN_H
#define TESTS_DRILL_STANDIN_H

#include <sys/types.h>

#include "net/nl.h"
#include "net/rules.h"
#include "vmm/drill-plan.h"

enum standin_place { STANDIN_HOST, STANDIN_WAN, STANDIN_LAN, STANDIN_A, STANDIN_B, STANDIN_PLACES };

enum { STANDIN_SERVERS = 8 };

struct standin {
	int ns[STANDIN_PLACES];
	char enter[STANDIN_PLACES][48]; /* "--net=/proc/PID/fd/N", for nsenter */
	pid_t servers[STANDIN_SERVERS];
	pid_t names; /* the gateway's name server */
	struct nl *nl; /* to the host's packet filter */
	struct ruleset rules; /* as they should be */
	struct net_port ports[2];
};

/* probe: path of box-probe. */
int standin_open(struct standin *s, const char *probe, struct error *err) MUST_CHECK;
void standin_close(struct standin *s);

/* Run a program with these blank-separated words in a place. */
int standin_run(struct standin *s, enum standin_place where, const char *line,
	struct error *err) MUST_CHECK;

/* Everything as it should be: rules, port flags, name server. */
int standin_mend(struct standin *s, struct error *err) MUST_CHECK;

/* Start the gateway's name server anew, with more arguments of dnsmasq; NULL: it stays dead. */
int standin_names(struct standin *s, const char *arguments, struct error *err) MUST_CHECK;

/* Fill in what is fixed of the world. */
void standin_world(const struct standin *s, struct drill_world *ret);

#endif

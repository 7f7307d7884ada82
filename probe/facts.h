/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a machine is and has, as its own kernel shows it: the guest's side of the claims that are no
 * packet. A line a fact on standard output, "-" for what could not be read:
 *
 *	hostname NAME            machine-id HEX          instance-id TEXT      dmi-uuid TEXT
 *	random HEX               16 bytes of the kernel's generator
 *	random-seed HEX          a hash of the stored seed
 *	ssh-key TYPE TAIL        the last characters of each public host key
 *	nic NAME MAC             a network interface that is a device
 *	addr4 NAME ADDR/PREFIX   addr6 NAME ADDR/PREFIX
 *	route6 NAME              a default route of IPv6
 *	virtio ID                the type of each virtio device (1 network, 2 block, 3 console, 4 entropy ...)
 *	port NAME                a virtio-serial port
 *	mount TYPE PATH          only file systems that another machine serves: 9p, virtiofs, nfs ...
 *	end
 */
#ifndef PROBE_FACTS_H
#define PROBE_FACTS_H

#include "base/error.h"

int facts_print(struct error *err) MUST_CHECK;

#endif

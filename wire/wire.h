/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stand-in for libvirt's client library, for programs that want one thing of it and want it quickly: a
 * stream to a domain of the daemon on this machine. It defines the functions of <libvirt/libvirt.h> that
 * vmm/channel.c, vmm/guest-*.c and vmm/virt.c call, by their names and with their meaning, so that the
 * same objects are linked with it or with libvirt.so. The linker says which function is missing.
 *
 * Why: libvirt.so brings some fifty libraries, whose start-up costs more than a command in a box does
 * (docs/decisions/0013-exec-without-the-library.md).
 *
 * What it does not know it refuses, and the program then becomes the one that has the library: any URI but
 * qemu:///system, any authentication but none and polkit. One stream at a time; no events but descriptors
 * and timers; one thread.
 *
 * The protocol is that of libvirt's daemons, whose old clients every new daemon serves: packets of
 *
 *	length[4] program[4] version[4] procedure[4] type[4] serial[4] status[4] payload
 *
 * in XDR, big-endian, the length counting itself.
 *
 * This header is the inside, for wire/ alone.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

enum {
	WIRE_PROGRAM = 0x20008086,
	WIRE_VERSION = 1,
	WIRE_HEADER = 28, /* with the length */
	WIRE_STREAM_MAX =
		65536, /* of one packet that we send; the daemon's limit is four times that */
	WIRE_PACKET_MAX = 1048576, /* of one that we take: the daemon's for a stream are 256 KiB */
	WIRE_CALL_MAX = 4096, /* of a call's arguments */
	WIRE_CALL_MS = 30000,
};

enum wire_procedure {
	WIRE_CONNECT_OPEN = 1,
	WIRE_LOOKUP_BY_NAME = 23,
	WIRE_AUTH_LIST = 66,
	WIRE_AUTH_POLKIT = 70,
	WIRE_GET_STATE = 212,
	WIRE_GET_METADATA = 265,
	WIRE_OPEN_CHANNEL = 296,
};

enum wire_type { WIRE_CALL, WIRE_REPLY, WIRE_EVENT, WIRE_STREAM };
enum wire_status { WIRE_OK, WIRE_ERROR, WIRE_CONTINUE };

/* ---- texts that are written ---- */

struct wire_out {
	uint8_t bytes[WIRE_CALL_MAX];
	size_t len; /* above WIRE_CALL_MAX: it did not fit */
};

void wire_put_u32(struct wire_out *o, uint32_t value);
void wire_put_text(struct wire_out *o, const char *text);
void wire_put_optional(struct wire_out *o, const char *text); /* one that could be NULL */
void wire_put_bytes(struct wire_out *o, const void *bytes, size_t len); /* of a fixed length */

/* ---- texts that are read: all return false, and nothing, when there is less ---- */

struct wire_in {
	const uint8_t *at, *end;
};

bool wire_get_u32(struct wire_in *in, uint32_t *ret) MUST_CHECK;
/* Lent, not terminated. */
bool wire_get_text(struct wire_in *in, const char **ret, size_t *ret_len) MUST_CHECK;
bool wire_get_bytes(struct wire_in *in, void *ret, size_t len) MUST_CHECK;

/* ---- the connection ---- */

struct wire_packet {
	uint32_t program, procedure, type, serial, status;
	struct wire_in payload; /* lent until the next packet is asked for */
};

struct _virConnect {
	int fd;
	uint32_t serial; /* of the last call */
	uint8_t *in; /* owned, WIRE_PACKET_MAX */
	size_t start, end; /* bytes that came */
	size_t taken; /* of them, the packet that was handed out last */
	bool broken;
};

struct _virDomain {
	virConnectPtr conn; /* lent */
	char *name; /* owned */
	uint8_t uuid[VIR_UUID_BUFLEN];
	int id;
};

/* Remember an error, as virGetLastError tells it. Returns -1. */
int wire_fail(int code, const char *text);
int wire_fail_errno(const char *what);

/* The error that the daemon sent in this payload, remembered. Returns -1. */
int wire_fail_remote(struct wire_in payload);

/*
 * The next packet among the bytes that came. 1; 0: it is not whole, read more; -1: broken. One that is
 * whole stays where it is until the next call.
 */
int wire_next(virConnectPtr conn, struct wire_packet *ret) MUST_CHECK;

/* A whole packet is there that was not handed out yet. */
bool wire_waits(virConnectPtr conn);

/* Read what there is, without waiting: 1 something, 0 nothing now, -1 the connection is broken. */
int wire_fill(virConnectPtr conn) MUST_CHECK;

/* Wait for the descriptor until a deadline of clock_ms's clock. 1, or -1 with an error. */
int wire_wait(virConnectPtr conn, short events, uint64_t deadline) MUST_CHECK;

/* Write all of it, waiting. */
int wire_write(virConnectPtr conn, const uint8_t *bytes, size_t len) MUST_CHECK;

/* Put a packet's header, with len bytes behind it, into 28 bytes. */
void wire_header(uint8_t *into, enum wire_procedure procedure, enum wire_type type, uint32_t serial,
	enum wire_status status, size_t len);

/* Call and wait for the reply; its payload is lent until the next packet. */
int wire_call(virConnectPtr conn, enum wire_procedure procedure, const struct wire_out *args,
	struct wire_in *ret) MUST_CHECK;

/*
 * Begin on a descriptor that is connected: authentication, if the daemon wants one that is known here, and the
 * driver. -1: whoever called leaves it to the library.
 */
int wire_begin(virConnectPtr conn, const char *uri) MUST_CHECK;

/* Arguments begin with a domain, mostly. */
void wire_put_domain(struct wire_out *o, virDomainPtr dom);

/* ---- streams, for the loop ---- */

/* What the stream wants of a turn. */
struct wire_interest {
	int fd; /* -1: none */
	short events;
	bool due; /* whatever poll finds: bytes are here already */
};
struct wire_interest wire_stream_interest(void);

/* Tell the stream's callback what poll has found. */
void wire_stream_dispatch(short revents);

#endif

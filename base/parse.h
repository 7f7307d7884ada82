/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strict readers for what people and configuration files write. Each takes the whole text: sign,
 * trailing garbage and overflow are refused with ERROR_USAGE and a text that shows the right
 * spelling. Nothing is printed; outputs are set only on success.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <netinet/in.h>
#include <stdint.h>

#include "base/error.h"

/* A decimal number in [min, max]. what names it in errors ("--cpu"). */
int parse_u64(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *ret,
	struct error *err) MUST_CHECK;

/*
 * A size with a binary unit: 512MiB, 2GiB, 1TiB, 64KiB. A plain number or a decimal unit is refused
 * with the spelling that would be right. *ret is in bytes.
 */
int parse_size(const char *text, const char *what, uint64_t *ret, struct error *err) MUST_CHECK;

/* A time span: 90, 90s, 5m, 2h (a bare number is seconds). *ret is in milliseconds; 0 is refused. */
int parse_duration(const char *text, const char *what, uint64_t *ret, struct error *err) MUST_CHECK;

/* a.b.c.d/len with host bits zero. *ret_addr in host byte order. */
int parse_cidr(const char *text, const char *what, uint32_t *ret_addr, unsigned *ret_len,
	struct error *err) MUST_CHECK;

/* A dotted IPv4 address, host byte order. */
int parse_ipv4(const char *text, const char *what, uint32_t *ret, struct error *err) MUST_CHECK;

/* Six octets, colon-separated. */
int parse_mac(const char *text, const char *what, uint8_t ret[6], struct error *err) MUST_CHECK;

/*
 * Box names: [a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?, since a box's name is the guest's hostname and the
 * libvirt domain's name; "all" is reserved for start, down and restart.
 */
int parse_box_name(const char *text, struct error *err) MUST_CHECK;

/* Snapshot labels: [A-Za-z0-9][A-Za-z0-9._-]{0,62}. No "/", which separates box and label. */
int parse_label(const char *text, struct error *err) MUST_CHECK;

/* A size for people: "20GiB" when whole, else one decimal: "1.5GiB". buf of 32 bytes is enough. */
const char *format_size(uint64_t bytes, char *buf, size_t len);

#endif

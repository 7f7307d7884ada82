/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of a warm image: a golden image that was booted once, kept as a memory image and the disk
 * layer that belongs to it. Written last, it is the commit record of the three volumes
 *
 *	warm-<template>-<16 hex of the key>-<8 hex>.qcow2	the frozen layer, which stands on the golden image
 *	warm-<template>-<16 hex>-<8 hex>.mem			the memory, in libvirt's save format
 *	warm-<template>-<16 hex>-<8 hex>.json			this
 *
 * The key is the digest of all that a memory image fits: the golden image, the host's QEMU, libvirt and
 * CPU, the shape of the machine. So what does not fit has another name and is simply not found. The last
 * digits are drawn for each making: boxes may go on standing on the layer of one that is not used any more.
 */
#ifndef IMAGES_WARM_RECORD_H
#define IMAGES_WARM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "images/digest.h"
#include "images/recipe.h"

#define WARM_RECORD_MAX (1u << 20) /* bytes */
#define WARM_COOKIE_MAX 65536

/* The volumes of one warm image. */
struct warm_names {
	char layer[VOLUME_NAME_MAX], memory[VOLUME_NAME_MAX], record[VOLUME_NAME_MAX];
};
void warm_names_make(
	const char *template, const char key[DIGEST_HEX], uint32_t number, struct warm_names *ret);

/* The names of the warm image of which this is one volume; false when it is none's. */
bool warm_names_of(const char *volume, struct warm_names *ret);

/* It is of this template and key. */
bool warm_names_fit(
	const struct warm_names *names, const char *template, const char key[DIGEST_HEX]);

struct warm_record {
	char key[DIGEST_HEX];
	char image[VOLUME_NAME_MAX]; /* the golden volume that it stands on */
	char uuid[37]; /* of the machine that was saved: its volumes and names are gone */
	unsigned cpus;
	uint64_t memory, disk; /* bytes that the guest has */
	uint64_t bytes; /* of the memory image's file */
	/*
	 * The file's header as it was saved. Restoring rewrites the header in place, so what must stay as
	 * it was is read from here and never from the file.
	 */
	uint32_t data_len, compressed;
	char *cookie; /* owned; NULL: none */
	/* of the layer, and of the memory image behind its header; "": made by who did not note them */
	char layer_sha256[DIGEST_HEX], memory_sha256[DIGEST_HEX];
	char tool[32];
	char created[32]; /* UTC, RFC 3339 */
};
void warm_record_done(struct warm_record *r); /* safe on a zeroed one */
#define _cleanup_warm_record_ _cleanup_(warm_record_done)

/* ERROR_INVALID when it is no record, one of a newer schema, or out of bounds. */
int warm_record_parse(const char *bytes, size_t len, const char *what, struct warm_record *ret,
	struct error *err) MUST_CHECK;
int warm_record_render(const struct warm_record *r, struct str *into, struct error *err) MUST_CHECK;

#endif

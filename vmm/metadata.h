/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mark that makes a domain a box, and all that we remember about it: one element in the domain's
 * <metadata>. Pure: XML text to struct and back; nothing here talks to libvirt.
 *
 *	<box:box xmlns:box="urn:box:domain" schema="1">
 *	  <box:template>codex</box:template>
 *	  <box:user>codex</box:user>
 *	  <box:origin source="web/logged-in">clone</box:origin>       mint: no source
 *	  <box:created>2026-01-02T03:04:05Z</box:created>
 *	  <box:image digest="<64 hex>">golden-codex-0123456789abcdef.qcow2</box:image>
 *	  <box:agent>0.1.0</box:agent>
 *	  <box:address>10.88.0.2</box:address>                         the hook reads this,
 *	  <box:tap>bxt01234567</box:tap>                               this
 *	  <box:door port="8080" host="18080"/>                         and these
 *	  <box:identity>verified</box:identity>                        or pending; clones only
 *	  <box:snapshot label="logged-in" layer="box-<uuid>-1.qcow2" created="..." quiesced="yes"/>
 *	  <box:operation name="creating" since="..." holder="ann@desk pid 71" subject="" layer=""/>
 *	</box:box>
 *
 * The text is a stranger's as any XML is: every string has a bound and a set of characters, so that
 * what was read may be shown and may name a volume. A schema above META_SCHEMA is read for what is
 * understood and must not be written: meta_check_writable.
 */
#ifndef VMM_METADATA_H
#define VMM_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "base/xml.h"

#define META_SCHEMA 1
#define META_NAMESPACE "urn:box:domain"
#define META_PREFIX "box"
#define META_DOORS_MAX 64
#define META_SNAPSHOTS_MAX 512
#define META_VOLUME_MAX 128 /* a volume's name with its NUL */
#define META_TIME_MAX 32

struct meta_door {
	uint16_t port; /* in the box */
	uint16_t host; /* on 127.0.0.1 of the host */
};
VEC_DEFINE(meta_doors, struct meta_door);

struct meta_snapshot {
	char label[64];
	char layer[META_VOLUME_MAX]; /* the frozen layer it stands for */
	int64_t created; /* seconds since the epoch, UTC */
	bool quiesced; /* file systems were frozen meanwhile, or the box was stopped */
	char memory[META_VOLUME_MAX]; /* of a live one: the volume with the memory; "": none */
};
VEC_DEFINE(meta_snapshots, struct meta_snapshot);

enum meta_identity {
	META_IDENTITY_NONE = 0, /* a mint: nothing to change */
	META_IDENTITY_PENDING, /* a clone whose guest has not taken its new identity yet */
	META_IDENTITY_VERIFIED, /* it has, and this was seen */
};

/* Operations that end with the box gone when they are recovered; others have names of their own. */
#define OPERATION_CREATING "creating" /* undone: the box goes */
#define OPERATION_REMOVING "removing" /* finished: the box goes */
#define OPERATION_EPHEMERAL "ephemeral" /* lives as long as its command: the box goes */

/* An operation that has begun and not ended: the journal. Nothing is in progress: name is "". */
struct meta_operation {
	char name[24]; /* "creating", "removing", ...: recovery looks this up */
	int64_t since;
	char holder[128]; /* for people; who holds the lock is the lock's business */
	char subject[160]; /* a label or a new name */
	char layer[META_VOLUME_MAX]; /* the volume it makes */
	char old[META_VOLUME_MAX]; /* the volume that goes */
};

struct box_meta {
	uint32_t schema;
	char template[64];
	char user[33];
	bool clone;
	char source[160]; /* BOX or BOX/LABEL, one hop; "" for a mint */
	int64_t created;
	char image[META_VOLUME_MAX]; /* golden image it was minted from, lineage kept by clones */
	char digest[65]; /* SHA-256 of that image, hex; "" when unknown */
	char agent[32]; /* version of the guest agent in it; "" when unknown */
	uint32_t address; /* host byte order; 0: none yet */
	char tap[16];
	enum meta_identity identity;
	struct meta_operation operation;
	struct meta_doors doors; /* owned */
	struct meta_snapshots snapshots; /* owned; in order of creation */
};

void meta_done(struct box_meta *meta);
#define _cleanup_meta_ _cleanup_(meta_done)

/* A copy with vectors of its own. ret is overwritten, not freed. */
int meta_copy(const struct box_meta *meta, struct box_meta *ret, struct error *err) MUST_CHECK;

/* Write the element, with its namespace, where w stands. */
void meta_write(const struct box_meta *meta, struct xml_writer *w);

/* The element as virDomainSetMetadata wants it: libvirt itself adds the namespace. Free it. */
char *meta_format(const struct box_meta *meta, struct error *err) MUST_CHECK;

/*
 * Read the element from the text that virDomainGetMetadata gives. ret must be zeroed or done.
 * ERROR_INVALID when it is not an element of ours or a part is out of bounds.
 */
int meta_parse(const char *text, struct box_meta *ret, struct error *err) MUST_CHECK;

/* The same from a whole domain's XML: 1, or 0 when the domain has no such element, or -1. */
int meta_parse_domain(struct xml *domain, struct box_meta *ret, struct error *err) MUST_CHECK;

/* 0, or ERROR_INVALID: box name was made by a newer version of this program. */
int meta_check_writable(
	const struct box_meta *meta, const char *name, struct error *err) MUST_CHECK;

/* The snapshot with this label, lent; NULL when there is none. */
struct meta_snapshot *meta_snapshot_find(const struct box_meta *meta, const char *label);

/* "2026-01-02T03:04:05Z"; buf of META_TIME_MAX bytes. Returns buf. */
const char *meta_time_format(int64_t when, char *buf);

#endif

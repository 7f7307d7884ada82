/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A box's metadata with something in every field, for meta_done. */
#ifndef TESTS_UNIT_VMM_SAMPLE_META_H
#define TESTS_UNIT_VMM_SAMPLE_META_H

#include "tests/unit/test.h"
#include "vmm/metadata.h"

static void sample_meta(struct box_meta *m)
{
	struct error err = { 0 };

	*m = (struct box_meta){
		.schema = 1,
		.template = "codex",
		.user = "codex",
		.clone = true,
		.source = "web/logged-in",
		.created = 1767323045,
		.image = "golden-codex-0123456789abcdef.qcow2",
		.digest = "aa00",
		.agent = "0.1.0",
		.address = 0x0a580002,
		.tap = "bxt01234567",
		.identity = META_IDENTITY_VERIFIED,
		.operation = { .name = "snapshot",
			.since = 1767323046,
			.holder = "ann@desk pid 71",
			.subject = "two",
			.layer = "box-u-3.qcow2" },
	};
	assert_ok(meta_doors_push(&m->doors, (struct meta_door){ 8080, 18080 }, &err), &err);
	assert_ok(meta_snapshots_push(&m->snapshots,
			  (struct meta_snapshot){ "one", "box-u-1.qcow2", 1767323047, true, "" },
			  &err),
		&err);
	assert_ok(meta_snapshots_push(&m->snapshots,
			  (struct meta_snapshot){
				  "one.b", "box-u-2.qcow2", 1767323048, false, "live-u-1.mem" },
			  &err),
		&err);
}

#endif

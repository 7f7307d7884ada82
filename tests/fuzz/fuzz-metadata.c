/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a domain's metadata says of a box: written by anybody who may talk to libvirt. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "vmm/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name that was read may become a volume's: nothing that could lead out of the pool. */
static void check_name(const char *name)
{
	if (*name == '.' || *name == '-' || strchr(name, '/'))
		abort();
}

static void check(const struct box_meta *m)
{
	if (m->schema == 0 || m->doors.len > META_DOORS_MAX ||
		m->snapshots.len > META_SNAPSHOTS_MAX)
		abort();
	check_name(m->template);
	check_name(m->user);
	check_name(m->image);
	check_name(m->tap);
	check_name(m->operation.layer);
	vec_foreach(struct meta_snapshot, s, &m->snapshots) {
		check_name(s->label);
		check_name(s->layer);
	}
}

/* What is understood is written and read again as the same. */
static void round_trip(const struct box_meta *m)
{
	_cleanup_meta_ struct box_meta back = { 0 };
	struct error err = { 0 };
	_cleanup_free_ char *text = meta_format(m, &err);
	_cleanup_free_ char *again = NULL;

	if (!text || meta_parse(text, &back, &err) < 0)
		abort();
	again = meta_format(&back, &err);
	if (!again || !str_equal(text, again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_meta_ struct box_meta meta = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	str_append_len(&text, data, size);
	if (meta_parse(str_get(&text), &meta, &err) == 0) {
		check(&meta);
		if (meta.schema <= META_SCHEMA)
			round_trip(&meta);
	} else if (err.kind == ERROR_NONE) {
		abort();
	}
	return 0;
}

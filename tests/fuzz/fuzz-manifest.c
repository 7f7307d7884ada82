/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Manifests of images, read from a pool that others may write to. */
#include <stdint.h>
#include <stdlib.h>

#include "images/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is understood is written and read again as the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_manifest_ struct manifest m = { 0 }, back = { 0 };
	_cleanup_str_ struct str text = STR_INIT, again = STR_INIT;
	struct error err = { 0 };

	if (manifest_parse((const char *)data, size, "fuzz", &m, &err) < 0) {
		if (err.kind == ERROR_NONE)
			abort();
		return 0;
	}
	if (manifest_render(&m, &text, &err) < 0 ||
		manifest_parse(str_get(&text), text.len, "fuzz", &back, &err) < 0 ||
		manifest_render(&back, &again, &err) < 0 ||
		!str_equal(str_get(&text), str_get(&again)))
		abort();
	return 0;
}

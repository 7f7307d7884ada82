/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates, and below them YAML behind a key table: files that people write and pass on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "images/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_template_ struct template t = { 0 };
	struct error err = { 0 };
	int ret = template_parse("fuzz", "fuzz.yaml", (const char *)data, size, &t, &err);

	if (ret < 0) {
		if (err.kind == ERROR_NONE || t.path)
			abort();
		return 0;
	}
	/* What is accepted is usable: a user unless it is shared, a path that stays in his home. */
	if (!t.shared && (!*t.user || str_equal(t.user, "root")))
		abort();
	if (t.context_path && (*t.context_path == '/' || strstr(t.context_path, "..")))
		abort();
	vec_foreach(char *, name, &t.packages)
		if (**name == '-')
			abort();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden files: text that a pure part makes, compared with tests/golden/<name>. BOX_REGEN=1 writes the
 * file instead; then read the diff. The program is compiled with -DGOLDEN_DIR="...".
 */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/str.h"

/* Print the first line that differs: the whole of two long texts helps nobody. */
UNUSED static void golden_show(const char *name, const char *want, const char *got)
{
	int line = 1;
	const char *w = want, *g = got;

	for (size_t i = 0; want[i] && want[i] == got[i]; i++) {
		if (want[i] == '\n') {
			line++;
			w = want + i + 1;
			g = got + i + 1;
		}
	}
	print_message("%s line %d\n  want: %.*s\n  got:  %.*s\n", name, line, (int)strcspn(w, "\n"),
		w, (int)strcspn(g, "\n"), g);
}

UNUSED static void assert_golden(const char *name, const char *got)
{
	struct error err = { 0 };
	_cleanup_str_ struct str want = STR_INIT;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	if (getenv("BOX_REGEN")) {
		assert_ok(file_replace(AT_FDCWD, path, got, strlen(got), 0644, &err), &err);
		return;
	}
	assert_ok(file_read(AT_FDCWD, path, 1 << 20, &want, &err), &err);
	if (!str_equal(str_get(&want), got)) {
		golden_show(name, str_get(&want), got);
		fail_msg("%s differs; BOX_REGEN=1 rewrites it", name);
	}
}

#endif

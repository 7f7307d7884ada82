/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small guest's tree for tests: files below a folder that stands for "/". */
#ifndef TESTS_UNIT_AGENT_ROOT_H
#define TESTS_UNIT_AGENT_ROOT_H

#include "tests/unit/test.h"

#include <fcntl.h>

#include "base/fd.h"
#include "base/str.h"

static char root[64]; /* made by the test's setup */

/* A file at an absolute path below root, with the folders that it needs. */
static void put(const char *path, const char *text)
{
	struct error err = { 0 };
	_cleanup_free_ char *name = str_format(&err, "%s%s", root, path);
	_cleanup_free_ char *folder = str_dup(name, &err);

	*strrchr(folder, '/') = 0;
	assert_ok(file_mkdirs(folder, 0755, &err), &err);
	assert_ok(file_replace(AT_FDCWD, name, text, strlen(text), 0644, &err), &err);
}

#endif

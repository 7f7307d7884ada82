/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small guest's tree for tests: files below a folder that stands for "/". */
#ifndef TESTS_UNIT_AGENT_ROOT_H
#define TESTS_UNIT_AGENT_ROOT_H

#include "tests/unit/test.h"

#include <fcntl.h>

#include "base/fd.h"
#include "base/str.h"

static char root[64]; /* made by the test's setup */

/* Given: where an absolute path of the guest is. */
static inline char *below(const char *path)
{
	struct error err = { 0 };
	char *name = str_format(&err, "%s%s", root, path);

	assert_non_null(name);
	return name;
}

/* A file at an absolute path below root, with the folders that it needs. */
static inline void put(const char *path, const char *text)
{
	struct error err = { 0 };
	_cleanup_free_ char *name = below(path), *folder = below(path);

	*strrchr(folder, '/') = 0;
	assert_ok(file_mkdirs(folder, 0755, &err), &err);
	assert_ok(file_replace(AT_FDCWD, name, text, strlen(text), 0644, &err), &err);
}

#endif

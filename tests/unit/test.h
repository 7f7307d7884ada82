/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every cmocka unit test includes: cmocka's required headers, and asserts on our errors. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The error is of this kind and its text contains this part. */
#define assert_error(err, wanted_kind, part)                                              \
	do {                                                                              \
		if ((err)->kind != (wanted_kind) || !strstr((err)->text, part))           \
			fail_msg("kind %d, text '%s'; wanted kind %d, text with '%s'",    \
				(int)(err)->kind, (err)->text, (int)(wanted_kind), part); \
	} while (0)

/* Valgrind knows neither pidfds nor stopping: what needs them is skipped there, and only there. */
static inline int under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

/* ret is 0; else show the error. */
#define assert_ok(ret, err)                                            \
	do {                                                           \
		if ((ret) != 0)                                        \
			fail_msg("unexpected error: %s", (err)->text); \
	} while (0)

#endif

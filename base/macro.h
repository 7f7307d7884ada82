/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few macros that every file may use: attributes, array length, scope-bound cleanup and
 * hand-over. Nothing here knows about the rest of the program.
 */
#ifndef BASE_MACRO_H
#define BASE_MACRO_H

#include <stddef.h>
#include <stdlib.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/*
 * _cleanup_(fn_p) type var = NULL;   calls fn_p(&var) when the scope ends. DEFINE_CLEANUP makes
 * fn_p from a destructor; it adds the NULL test that libvirt, libnftnl, libmnl and libguestfs
 * lack (they crash or overwrite the last error). Never pass a foreign destructor bare.
 */
#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define DEFINE_CLEANUP(type, fn)           \
	static inline void fn##_p(type *p) \
	{                                  \
		if (*p)                    \
			fn(*p);            \
	}                                  \
	struct base_macro_semicolon

/*
 * TAKE(p) yields the value of pointer variable p and leaves NULL behind: the hand-over at the end
 * of a constructor whose local is under _cleanup_.
 */
#define TAKE(p)                                          \
	__extension__({                                  \
		__typeof__(p) *take_from_ = &(p);        \
		__typeof__(p) take_value_ = *take_from_; \
		*take_from_ = NULL;                      \
		take_value_;                             \
	})

/* Memory from malloc and friends: _cleanup_free_ char *text = NULL; */
static inline void cleanup_free_p(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(cleanup_free_p)

#endif

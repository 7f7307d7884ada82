/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One typed growing array.
 *
 *	VEC_DEFINE(layer_vec, struct layer);          the type and its functions
 *	struct layer_vec v = VEC_INIT;
 *	if (layer_vec_push(&v, item, err) < 0) ...    copies item in; on failure v is as before
 *	vec_foreach(struct layer, l, &v) ...          l points at each element in turn
 *	layer_vec_done(&v);                           frees the array, not what elements own
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdint.h>

#include "base/error.h"

#define VEC_INIT           \
	{                  \
		NULL, 0, 0 \
	}

#define VEC_DEFINE(name, type)                                                 \
	struct name {                                                          \
		type *items; /* owned */                                       \
		size_t len;                                                    \
		size_t cap;                                                    \
	};                                                                     \
	UNUSED MUST_CHECK static inline int name##_push(                       \
		struct name *v, type item, struct error *err)                  \
	{                                                                      \
		if (v->len == v->cap) {                                        \
			size_t cap = v->cap ? v->cap * 2 : 8;                  \
			type *items = NULL;                                    \
			if (cap < SIZE_MAX / sizeof(type))                     \
				items = realloc(v->items, cap * sizeof(type)); \
			if (!items)                                            \
				return error_oom(err);                         \
			v->items = items;                                      \
			v->cap = cap;                                          \
		}                                                              \
		v->items[v->len++] = item;                                     \
		return 0;                                                      \
	}                                                                      \
	UNUSED static inline void name##_done(struct name *v)                  \
	{                                                                      \
		free(v->items);                                                \
		*v = (struct name)VEC_INIT;                                    \
	}                                                                      \
	struct base_macro_semicolon

#define vec_foreach(type, var, v) \
	for (type *var = (v)->items; var && var < (v)->items + (v)->len; var++)

#endif

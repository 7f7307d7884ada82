/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Put before every file by the analysers alone (each.sh). They see one file at a time: here they learn
 * that what fills an error returns -1, and so that a caller which goes on has what it asked for.
 */
#include "base/error.h"
#include "vmm/virt.h"

#define error_set(...) (error_set(__VA_ARGS__), -1)
#define error_setv(...) (error_setv(__VA_ARGS__), -1)
#define error_errno(...) (error_errno(__VA_ARGS__), -1)
#define error_wrap(...) (error_wrap(__VA_ARGS__), -1)
#define error_hint(...) (error_hint(__VA_ARGS__), -1)
#define error_oom(...) (error_oom(__VA_ARGS__), -1)
#define error_virt(...) (error_virt(__VA_ARGS__), -1)

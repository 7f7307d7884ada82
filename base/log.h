/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug messages, off unless BOX_DEBUG=1. Libraries may call log_debug and nothing else that writes:
 * warnings and errors reach the user through struct error or a callback. Names of things only, never
 * contents of a guest's streams, never secrets.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/macro.h"

void log_debug_enable(bool on);
bool log_debug_enabled(void);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one clock of deadlines and of how long something took: CLOCK_MONOTONIC, which nobody sets. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);
uint64_t clock_us(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <time.h>

uint64_t clock_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* fails for no clock that there is */
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_ms(void)
{
	return clock_us() / 1000;
}

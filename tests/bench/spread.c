/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/bench/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t spread_now_us(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_spread(const char *key, uint64_t *us, size_t n)
{
	qsort(us, n, sizeof(us[0]), order);
	printf(",\"%s\":{\"min\":%.3f,\"median\":%.3f,\"max\":%.3f}", key, (double)us[0] / 1000,
		(double)us[n / 2] / 1000, (double)us[n - 1] / 1000);
}

static void print_ours(const char *what, uint64_t *ours, size_t n)
{
	printf("{\"bench\":\"%s\",\"unit\":\"ms\",\"runs\":%zu", what, n);
	print_spread("ours", ours, n);
}

double spread_say(const char *what, uint64_t *ours, const char *peer, uint64_t *theirs, size_t n)
{
	double ratio;

	print_ours(what, ours, n);
	printf(",\"peer\":\"%s\"", peer);
	print_spread("theirs", theirs, n);
	ratio = (double)theirs[n / 2] / (double)(ours[n / 2] ? ours[n / 2] : 1);
	printf(",\"ratio\":%.2f}\n", ratio);
	return ratio;
}

double spread_say_alone(const char *what, uint64_t *ours, size_t n)
{
	print_ours(what, ours, n);
	puts("}");
	return (double)ours[n / 2];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the benchmarks in C share: times in microseconds, and a result as the line of JSON that "report" reads
 * (the same as bench.sh's). Names are plain text without quotes.
 */
#ifndef TESTS_BENCH_SPREAD_H
#define TESTS_BENCH_SPREAD_H

#include <stddef.h>
#include <stdint.h>

uint64_t spread_now_us(void);

/* Print the line, with the medians' ratio (theirs over ours), which is returned. Sorts both lists of n. */
double spread_say(const char *what, uint64_t *ours, const char *peer, uint64_t *theirs, size_t n);

/* The same without a peer. Returns the median. */
double spread_say_alone(const char *what, uint64_t *ours, size_t n);

#endif

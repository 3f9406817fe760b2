/*
 * Sorts how long opens waited for the origin into buckets whose bounds are the same everywhere.
 * There are two for each doubling, from 16 microseconds to 16.8 seconds, and one for longer waits.
 * A wait between two bounds is within a fifth of their middle. Pure functions.
 */
#pragma once

#include <stdint.h>

#define STK_WAITS_BUCKETS 42

/* Returns the bucket of a wait; a negative wait belongs to the first. */
unsigned stk_waits_bucket(int64_t wait_ns);
/* Returns the longest wait that belongs to a bucket, in microseconds; UINT64_MAX for the last. */
uint64_t stk_waits_bound_us(unsigned bucket);
/* Returns the time in microseconds that this percentage of the waits did not exceed, as if the
 * waits of a bucket were spread evenly over it. Returns the lower bound for the last bucket, and 0
 * if there were no waits. */
uint64_t stk_waits_percentile_us(const uint64_t counts[STK_WAITS_BUCKETS], unsigned percent);

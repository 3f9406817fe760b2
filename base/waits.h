/*
 * How long opens waited for the origin, sorted into buckets whose bounds are the same everywhere:
 * two for each doubling, from 16 microseconds to 16.8 seconds, and one for whatever is longer. What
 * is between two bounds is within a fifth of their middle. Pure functions.
 */
#ifndef STK_BASE_WAITS_H
#define STK_BASE_WAITS_H

#include <stdint.h>

#define STK_WAITS_BUCKETS 42

/* The bucket of a wait; a negative one belongs to the first. */
unsigned stk_waits_bucket(int64_t wait_ns);
/* The longest wait that belongs to it, in microseconds; UINT64_MAX of the last. */
uint64_t stk_waits_bound_us(unsigned bucket);
/* In microseconds, what this percentage of the waits did not exceed, as if those of a bucket were
 * spread evenly over it; of the last bucket its lower bound. 0 where there were none. */
uint64_t stk_waits_percentile_us(const uint64_t counts[STK_WAITS_BUCKETS], unsigned percent);

#endif

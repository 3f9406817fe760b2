/* Computes the bounds of the buckets by shifts and a square root of two. */
#include "base/waits.h"

#define FIRST_US 16
#define LAST     (STK_WAITS_BUCKETS - 1)

/* Computes a bound: 46341 / 32768 is the square root of two. */
uint64_t stk_waits_bound_us(unsigned bucket)
{
    uint64_t octave_us = (uint64_t)FIRST_US << (bucket / 2);
    if (bucket >= LAST) {
        return UINT64_MAX;
    }
    return bucket % 2 == 0 ? octave_us : octave_us * 46341 / 32768;
}

unsigned stk_waits_bucket(int64_t wait_ns)
{
    unsigned bucket = 0;
    uint64_t us = wait_ns > 0 ? ((uint64_t)wait_ns + 999) / 1000 : 0;
    while (us > stk_waits_bound_us(bucket)) {
        bucket++;
    }
    return bucket;
}

/* Returns the wait that `rank` of the waits in the bucket did not exceed. */
static uint64_t within(unsigned bucket, uint64_t rank, uint64_t count)
{
    uint64_t from = bucket > 0 ? stk_waits_bound_us(bucket - 1) : 0;
    if (bucket == LAST || count == 0) {
        return from;
    }
    uint64_t width = stk_waits_bound_us(bucket) - from;
    return from + (uint64_t)((double)width * (double)rank / (double)count);
}

uint64_t stk_waits_percentile_us(const uint64_t counts[STK_WAITS_BUCKETS], unsigned percent)
{
    uint64_t all = 0, before = 0;
    for (unsigned bucket = 0; bucket <= LAST; bucket++) {
        all += counts[bucket];
    }
    uint64_t rank = (all * percent + 99) / 100;
    for (unsigned bucket = 0; bucket <= LAST; bucket++) {
        if (counts[bucket] > 0 && before + counts[bucket] >= rank) {
            return within(bucket, rank - before, counts[bucket]);
        }
        before += counts[bucket];
    }
    return 0;
}

/*
 * Gives the bytes of a scan as the coder wrote them: without the zeros behind 0xff, without restart
 * markers, up to the end of the scan.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginnings of restart intervals; behind the last one stands the end of the scan. */
struct stk_intervals {
    uint32_t *begin; /* room for `count` + 1 of them */
    uint32_t count;  /* the intervals that there must be; 1 without restart markers */
};

/*
 * Writes the bytes to `out`, which has room for `size` of them. Returns their number, and in `*end`
 * the offset of the marker that ends the scan: EOI, or another one if more scans may follow.
 * Returns -1 for another marker, a restart marker in the wrong place, no marker, or a wrong number
 * of intervals.
 */
int64_t stk_unstuff(uint8_t *out, const uint8_t *bytes, size_t size, bool more_scans,
                    const struct stk_intervals *intervals, size_t *end);

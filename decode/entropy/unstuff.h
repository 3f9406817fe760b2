/*
 * The bytes of a scan as the coder wrote them: without the zeros behind 0xff, without restart
 * markers, up to the end of the image.
 */
#ifndef STK_DECODE_ENTROPY_UNSTUFF_H
#define STK_DECODE_ENTROPY_UNSTUFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where restart intervals begin; the last one is followed by the end of the scan. */
struct stk_intervals {
    uint32_t *begin; /* room for `count` + 1 of them */
    uint32_t count;  /* that there have to be; 1 without restart markers */
};

/*
 * `out` has room for `size` bytes. Returns how many there are, and in `*end` where the marker
 * stands that ends the scan: EOI, or another one if more scans may follow. -1: another marker, one
 * in the wrong place, none at all, or as many intervals as there should not be.
 */
int64_t stk_unstuff(uint8_t *out, const uint8_t *bytes, size_t size, bool more_scans,
                    const struct stk_intervals *intervals, size_t *end);

#endif

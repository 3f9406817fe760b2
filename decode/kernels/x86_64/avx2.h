/* Common parts of the kernels in AVX2. */
#pragma once

#include "decode/kernels/ranks.h"
#include "decode/kernels/kernels.h"

#include <immintrin.h>
#include <stdbool.h>

#define TARGET __attribute__((target("avx2,fma,popcnt")))
#define INLINE static inline __attribute__((target("avx2,fma,popcnt"), always_inline))

/* Without it gcc -O2 would keep arrays of vectors in memory. */
#define UNROLLED _Pragma("GCC unroll 8")

/* The passes of the table for VNNI: see struct stk_kernels. */
void stk_vnni_pack(struct stk_weights *weights, size_t count);
void stk_vnni_horizontal(uint8_t *const *out, const uint8_t *const *in,
                         const struct stk_taps *taps);
void stk_vnni_vertical(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                       uint32_t groups, size_t pixels);

stk_idct stk_avx2_idct;
stk_colour stk_avx2_colour;

/* Weighs all outputs of STK_ROWS_TOGETHER rows. */
typedef void stk_avx2_rows(uint8_t *const *out, const uint8_t *const *in,
                           const struct stk_taps *taps, size_t groups, bool short_end);

/* Calls `rows`, an inline function, with `groups` and `short_end` known to the compiler where that
 * pays. */
INLINE void stk_avx2_by_groups(stk_avx2_rows *rows, uint8_t *const *out, const uint8_t *const *in,
                               const struct stk_taps *taps)
{
    bool short_end = taps->last <= 2;
    if (taps->groups == 1 && short_end) {
        rows(out, in, taps, 1, true);
    } else if (taps->groups == 1) {
        rows(out, in, taps, 1, false);
    } else if (taps->groups == 2 && short_end) {
        rows(out, in, taps, 2, true);
    } else if (taps->groups == 2) {
        rows(out, in, taps, 2, false);
    } else {
        rows(out, in, taps, taps->groups, short_end);
    }
}

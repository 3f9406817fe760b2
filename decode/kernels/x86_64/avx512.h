/* Common parts of the kernels in AVX-512. */
#pragma once

#include "decode/kernels/kernels.h"

#include <immintrin.h>

#define FEATURES "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,popcnt"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

/* Without it gcc -O2 would keep arrays of vectors in memory. */
#define UNROLLED _Pragma("GCC unroll 8")

stk_idct stk_avx512_idct;
stk_colour stk_avx512_colour;

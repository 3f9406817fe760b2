/* Pillow's operations with vectors of 512 bits. */
#include <immintrin.h>

/* gcc makes vectors of 256 bits without the attribute; clang does not know it. */
#ifdef __clang__
#define WIDE ""
#else
#define WIDE ",prefer-vector-width=512"
#endif
#define LOOP      __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq" WIDE))) static
#define LANES     16
#define WARP      stk_avx512_warp
#define LOOK_UP   stk_avx512_look_up
#define SLIDE_BOX slide_box
#include "decode/kernels/operation_loops.h"

const struct stk_operations stk_operations_avx512 = OPERATIONS;

#define WITH_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define PARTS     (256 / 64) /* of a table, in vectors */

WITH_VBMI static __m512i look_up_bytes(__m512i bytes, const __m512i table[PARTS])
{
    __m512i low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    __m512i high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
}

/* Every byte is looked up in all tables, and the one of its band is kept. */
WITH_VBMI void stk_avx512_look_up(uint8_t *out, const uint8_t *in, const uint8_t *tables,
                                  size_t count)
{
    const __mmask64 every_fourth = UINT64_C(0x1111111111111111);
    __m512i table[3][PARTS];
    memcpy(table, tables, sizeof table);
    for (size_t i = 0; i < count; i += 16) {
        __mmask16 some = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        __m512i pixels = _mm512_maskz_loadu_epi32(some, in + 4 * i);
        __m512i made = _mm512_maskz_mov_epi8(every_fourth, look_up_bytes(pixels, table[0]));
        made = _mm512_mask_mov_epi8(made, every_fourth << 1, look_up_bytes(pixels, table[1]));
        made = _mm512_mask_mov_epi8(made, every_fourth << 2, look_up_bytes(pixels, table[2]));
        _mm512_mask_storeu_epi32(out + 4 * i, some, made);
    }
}

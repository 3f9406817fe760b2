/*
 * Masks to lengths and bytes and back, one by one. For the kernels of processors that have nothing
 * better, which say how ones are counted: STK_COUNT_ONES; and STK_MASKS_INLINE.
 */
#ifndef STK_DECODE_FORM_MASKS_H
#define STK_DECODE_FORM_MASKS_H

#include "decode/form/form.h"
#include "decode/form/planes.h"

/* Of a mask, in half bytes, without branches. */
STK_MASKS_INLINE unsigned stk_mask_length(uint64_t mask)
{
    unsigned length = (67 - (unsigned)__builtin_clzll(mask | 1)) / 4;
    length -= mask == 0;
    return length - length / 16;
}

/* Where bytes and half bytes go. Those of the latter that make no byte yet are in `word`. */
struct stk_masks_out {
    uint8_t *whole, *halves;
    uint64_t word;
    unsigned bits;
    size_t half_count;
};

/* Without branches: what a mask's length is cannot be foreseen. Returns it. */
STK_MASKS_INLINE unsigned stk_masks_put(struct stk_masks_out *out, uint64_t mask)
{
    unsigned length = stk_mask_length(mask);
    unsigned bytes = stk_mask_whole(length), half = stk_mask_half(length);
    stk_put_word(out->whole, mask);
    out->whole += bytes;
    out->word |= (mask >> (8 * bytes & 63) & 15 & (0 - (uint64_t)half)) << out->bits;
    stk_put_word(out->halves, out->word);
    out->bits += 4 * half;
    out->halves += out->bits / 8;
    out->word >>= out->bits & 8;
    out->bits &= 7;
    out->half_count += half;
    return length;
}

STK_MASKS_INLINE struct stk_mask_bytes stk_masks_pack(uint8_t *lengths, uint8_t *whole,
                                                      uint8_t *halves, const uint64_t *masks,
                                                      size_t blocks)
{
    struct stk_masks_out out = {.whole = whole, .halves = halves};
    size_t i = 0;
    for (; i + 2 <= blocks; i += 2) {
        unsigned length = stk_masks_put(&out, masks[i] >> 1);
        lengths[i / 2] = (uint8_t)(length | stk_masks_put(&out, masks[i + 1] >> 1) << 4);
    }
    if (i < blocks) {
        lengths[i / 2] = (uint8_t)stk_masks_put(&out, masks[i] >> 1);
    }
    return (struct stk_mask_bytes){(size_t)(out.whole - whole), out.half_count};
}

STK_MASKS_INLINE unsigned stk_half_of(const uint8_t *halves, size_t i)
{
    return halves[i / 2] >> i % 2 * 4 & 15;
}

STK_MASKS_INLINE size_t stk_masks_unpack(uint64_t *masks, const uint8_t *lengths,
                                         const uint8_t *whole, const uint8_t *halves, size_t blocks)
{
    size_t values = 0, half = 0;
    for (size_t i = 0; i < blocks; i++) {
        unsigned length = stk_half_of(lengths, i), bytes = stk_mask_whole(length);
        unsigned odd = stk_mask_half(length);
        /* In two steps, as no shift takes away all 64 bits. */
        uint64_t above = ~UINT64_C(0) << 4 * bytes << 4 * bytes;
        uint64_t mask = stk_get_word(whole) & ~above;
        mask |= (uint64_t)(stk_half_of(halves, half) & (0 - odd)) << (8 * bytes & 63);
        whole += bytes;
        half += odd;
        masks[i] = mask << 1;
        values += STK_COUNT_ONES(mask << 1);
    }
    return values;
}

STK_MASKS_INLINE struct stk_mask_bytes stk_masks_measure(const uint8_t *lengths, size_t blocks)
{
    struct stk_mask_bytes sum = {0, 0};
    for (size_t i = 0; i < blocks; i++) {
        unsigned length = stk_half_of(lengths, i);
        sum.whole += stk_mask_whole(length);
        sum.halves += stk_mask_half(length);
    }
    return sum;
}

#endif

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

STK_MASKS_INLINE struct stk_mask_bytes stk_masks_pack(uint8_t *lengths, uint8_t *whole,
                                                      uint8_t *halves, const uint64_t *masks,
                                                      size_t blocks)
{
    struct stk_mask_bytes done = {0, 0};
    unsigned last_length = 0, last_half = 0;
    for (size_t i = 0; i < blocks; i++) {
        uint64_t mask = masks[i] >> 1;
        unsigned length = stk_mask_length(mask);
        unsigned bytes = stk_mask_whole(length), half = stk_mask_half(length);
        /* The second of two half bytes completes the first one's byte. */
        lengths[i / 2] = (uint8_t)(i % 2 ? last_length | length << 4 : length);
        last_length = length;
        stk_put_little(whole + done.whole, mask, 8);
        unsigned left = half ? (unsigned)(mask >> 8 * bytes) & 15 : 0;
        halves[done.halves / 2] = (uint8_t)(done.halves % 2 ? last_half | left << 4 : left);
        last_half = half ? left : last_half;
        done.whole += bytes;
        done.halves += half;
    }
    return done;
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
        uint64_t mask = stk_get_little(whole, 8) & ~above;
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

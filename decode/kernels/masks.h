/*
 * Packs masks to lengths and bytes and back, one by one, for processors without a better way. A
 * kernel that includes this defines how ones are counted, STK_COUNT_ONES, and how functions are
 * declared: TARGET those of a table, and INLINE those that these call.
 */
#pragma once

#include "decode/common/little.h"
#include "decode/kernels/planes.h"

/* The packed shape of a mask, by the zeros above its highest one. */
struct stk_mask_shape {
    uint8_t length, whole; /* in half bytes; whole bytes */
    uint8_t half, bits;    /* the mask of the half byte that is left, and its bits */
};

#define STK_HALVES(zeros) ((66 - (zeros)) / 4) /* of the bits above position 0 */
#define STK_SHAPE(zeros)                                                                           \
    {                                                                                              \
        STK_HALVES(zeros) < 15 ? STK_HALVES(zeros) : 15,                                           \
            STK_HALVES(zeros) < 15 ? STK_HALVES(zeros) / 2 : 8,                                    \
            STK_HALVES(zeros) < 15 && STK_HALVES(zeros) % 2 ? 15 : 0,                              \
            STK_HALVES(zeros) < 15 && STK_HALVES(zeros) % 2 ? 4 : 0                                \
    }
#define STK_SHAPES_4(z) STK_SHAPE(z), STK_SHAPE((z) + 1), STK_SHAPE((z) + 2), STK_SHAPE((z) + 3)
#define STK_SHAPES_16(z)                                                                           \
    STK_SHAPES_4(z), STK_SHAPES_4((z) + 4), STK_SHAPES_4((z) + 8), STK_SHAPES_4((z) + 12)

static const struct stk_mask_shape stk_mask_shapes[64] = {STK_SHAPES_16(0), STK_SHAPES_16(16),
                                                          STK_SHAPES_16(32), STK_SHAPES_16(48)};

/* The places of bytes and half bytes. `word` holds half bytes that do not make a byte yet. */
struct stk_masks_out {
    uint8_t *whole, *halves;
    uint64_t word;
    unsigned bits;
};

/* Packs a mask, and returns its length. Without branches, since lengths cannot be predicted. */
INLINE unsigned stk_masks_put(struct stk_masks_out *out, uint64_t mask)
{
    struct stk_mask_shape shape = stk_mask_shapes[__builtin_clzll(mask | 1)];
    mask >>= 1;
    stk_put_word(out->whole, mask);
    out->whole += shape.whole;
    out->word |= (mask >> (8 * shape.whole & 63) & shape.half) << out->bits;
    stk_put_word(out->halves, out->word);
    out->bits += shape.bits;
    out->halves += out->bits / 8;
    out->word >>= out->bits & 8;
    out->bits &= 7;
    return shape.length;
}

TARGET static struct stk_mask_bytes stk_masks_pack(uint8_t *lengths, uint8_t *whole,
                                                   uint8_t *halves, const uint64_t *masks,
                                                   size_t blocks)
{
    struct stk_masks_out out = {.whole = whole, .halves = halves};
    size_t i = 0;
    for (; i + 2 <= blocks; i += 2) {
        unsigned length = stk_masks_put(&out, masks[i]);
        lengths[i / 2] = (uint8_t)(length | stk_masks_put(&out, masks[i + 1]) << 4);
    }
    if (i < blocks) {
        lengths[i / 2] = (uint8_t)stk_masks_put(&out, masks[i]);
    }
    return (struct stk_mask_bytes){
        .whole = (size_t)(out.whole - whole),
        .halves = 2 * (size_t)(out.halves - halves) + out.bits / 4,
    };
}

INLINE unsigned stk_half_of(const uint8_t *halves, size_t i)
{
    return halves[i / 2] >> i % 2 * 4 & 15;
}

TARGET static size_t stk_masks_unpack(uint64_t *masks, const uint8_t *lengths, const uint8_t *whole,
                                      const uint8_t *halves, size_t blocks)
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

TARGET static struct stk_mask_bytes stk_masks_measure(const uint8_t *lengths, size_t blocks)
{
    struct stk_mask_bytes sum = {0, 0};
    for (size_t i = 0; i < blocks; i++) {
        unsigned length = stk_half_of(lengths, i);
        sum.whole += stk_mask_whole(length);
        sum.halves += stk_mask_half(length);
    }
    return sum;
}

/* The kernels in NEON: products and sums of 32 bits, four at a time, as in plain C. */
#include "decode/kernels/ranks.h"
#include "decode/kernels/kernels.h"

#include <arm_neon.h>

/* Sixteen bytes as four times four words. */
struct words {
    int32x4_t part[4];
};

static inline struct words widen(uint8x16_t bytes)
{
    uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
    struct words words = {{
        vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))),
        vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(low))),
        vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
        vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(high))),
    }};
    return words;
}

static inline int32x4_t half(void)
{
    return vdupq_n_s32(1 << (STK_WEIGHT_BITS - 1));
}

static inline int16x4_t value_of(int32x4_t sum)
{
    return vqmovn_s32(vshrq_n_s32(sum, STK_WEIGHT_BITS));
}

static void horizontal_row(uint8_t *out, const uint8_t *in, const struct stk_taps *taps)
{
    const struct stk_weights *weights = taps->weights;
    for (size_t o = 0; o < taps->outputs; o++) {
        const uint8_t *pixels = in + 4 * (size_t)taps->first[o];
        int32x4_t sum = half();
        for (size_t g = 0; g < taps->groups; g++, weights++) {
            struct words four = widen(vld1q_u8(pixels + 16 * g));
            int32x4_t w = vld1q_s32(weights->word);
            sum = vmlaq_laneq_s32(sum, four.part[0], w, 0);
            sum = vmlaq_laneq_s32(sum, four.part[1], w, 1);
            sum = vmlaq_laneq_s32(sum, four.part[2], w, 2);
            sum = vmlaq_laneq_s32(sum, four.part[3], w, 3);
        }
        uint8x8_t bytes = vqmovun_s16(vcombine_s16(value_of(sum), vdup_n_s16(0)));
        vst1_lane_u32((uint32_t *)(void *)(out + 4 * o), vreinterpret_u32_u8(bytes), 0);
    }
}

static void horizontal(uint8_t *const *out, const uint8_t *const *in, const struct stk_taps *taps)
{
    for (unsigned row = 0; row < STK_ROWS_TOGETHER; row++) {
        horizontal_row(out[row], in[row], taps);
    }
}

static void vertical(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                     uint32_t groups, size_t pixels)
{
    for (size_t at = 0; at < 4 * pixels; at += 16) {
        struct words sums = {{half(), half(), half(), half()}};
        for (size_t t = 0; t < 4 * (size_t)groups; t++) {
            struct words row = widen(vld1q_u8(rows[t] + at));
            int32_t w = weights[t / 4].word[t % 4];
            for (int i = 0; i < 4; i++) {
                sums.part[i] = vmlaq_n_s32(sums.part[i], row.part[i], w);
            }
        }
        int16x8_t low = vcombine_s16(value_of(sums.part[0]), value_of(sums.part[1]));
        int16x8_t high = vcombine_s16(value_of(sums.part[2]), value_of(sums.part[3]));
        vst1q_u8(out + at, vcombine_u8(vqmovun_s16(low), vqmovun_s16(high)));
    }
}

static void rgb(uint8_t *out, const uint8_t *line, size_t pixels)
{
    size_t p = 0;
    for (; p + 16 <= pixels; p += 16) {
        uint8x16x4_t four = vld4q_u8(line + 4 * p);
        uint8x16x3_t three = {{four.val[0], four.val[1], four.val[2]}};
        vst3q_u8(out + 3 * p, three);
    }
    stk_plain_rgb(out + 3 * p, line + 4 * p, pixels - p);
}

static void planes(uint8_t *const out[3], const uint8_t *line, size_t pixels)
{
    size_t p = 0;
    for (; p + 16 <= pixels; p += 16) {
        uint8x16x4_t four = vld4q_u8(line + 4 * p);
        for (int c = 0; c < 3; c++) {
            vst1q_u8(out[c] + p, four.val[c]);
        }
    }
    uint8_t *const rest[3] = {out[0] + p, out[1] + p, out[2] + p};
    stk_plain_planes(rest, line + 4 * p, pixels - p);
}

#define AS_IT_IS(nothing, place) (place)
static const uint8_t places[64] = {STK_PLACES_UPPER(AS_IT_IS, ), STK_PLACES_LOWER(AS_IT_IS, )};

/* Eight places of a mask; `values` moves on behind theirs. */
static inline uint8x8_t spread(uint64_t mask, const int8_t **values)
{
    const uint8_t *ranks = stk_ranks[mask & 255];
    uint8x8_t bytes = vld1_u8((const uint8_t *)*values);
    *values += __builtin_popcount((unsigned)(mask & 255));
    return vtbl1_u8(bytes, vld1_u8(ranks));
}

static unsigned expand(int16_t block[64], uint64_t mask, const int8_t *values)
{
    const int8_t *at = values;
    uint8x16x4_t coded;
    for (int i = 0; i < 4; i++, mask >>= 16) {
        uint8x8_t low = spread(mask, &at);
        coded.val[i] = vcombine_u8(low, spread(mask >> 8, &at));
    }
    for (int i = 0; i < 64; i += 16) {
        int8x16_t bytes = vreinterpretq_s8_u8(vqtbl4q_u8(coded, vld1q_u8(places + i)));
        vst1q_s16(block + i, vmovl_s8(vget_low_s8(bytes)));
        vst1q_s16(block + i + 8, vmovl_s8(vget_high_s8(bytes)));
    }
    return (unsigned)(at - values);
}

const struct stk_kernels stk_kernels_neon = {
    .lockstep = stk_plain_lockstep,
    .expand = expand,
    .pass = stk_plain_pass,
    .skip = stk_plain_skip,
    .form = &stk_form_neon,
    .name = "neon",
    .horizontal = horizontal,
    .vertical = vertical,
    .float_columns = stk_plain_float_columns,
    .float_rows = stk_plain_float_rows,
    .widen = stk_plain_widen,
    .rgb = rgb,
    .planes = planes,
    .float_rgb = stk_plain_float_rgb,
    .float_planes = stk_plain_float_planes,
};

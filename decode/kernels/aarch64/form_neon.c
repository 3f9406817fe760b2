/* The form's kernels in NEON, 16 values at a time. */
#include "decode/kernels/ranks.h"
#include "decode/kernels/gathers.h"
#include "decode/kernels/planes.h"

#include <arm_neon.h>
#include <string.h>

static inline unsigned count_of(uint64_t mask)
{
    return vaddv_u8(vcnt_u8(vcreate_u8(mask)));
}

#define STK_GATHER_KERNEL     static
#define STK_MASKS_KERNEL      static
#define STK_MASKS_INLINE      static inline
#define STK_COUNT_ONES(mask)  count_of(mask)
#define STK_COPY_64(to, from) memcpy(to, from, 64)
#include "decode/kernels/gather.h"
#include "decode/kernels/masks.h"

/* ---- planes ---- */

static inline unsigned first_bits(size_t count)
{
    return count >= 16 ? 0xffff : (1u << count) - 1;
}

static inline unsigned load_bits(const uint8_t *plane, size_t at)
{
    return plane[at / 8] | (unsigned)plane[at / 8 + 1] << 8;
}

/* Up to 16, of a plane that ends with them if they are fewer. */
static inline void store_bits(uint8_t *plane, size_t at, unsigned bits, size_t count)
{
    bits &= first_bits(count);
    plane[at / 8] = (uint8_t)bits;
    if (count > 8) {
        plane[at / 8 + 1] = (uint8_t)(bits >> 8);
    }
}

static inline uint8x16_t bit_places(void)
{
    return vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
}

/* From bytes of 0 or -1 to bits, and back. */
static inline unsigned gather_bits(uint8x16_t bytes)
{
    uint8x16_t bits = vandq_u8(bytes, bit_places());
    return vaddv_u8(vget_low_u8(bits)) | (unsigned)vaddv_u8(vget_high_u8(bits)) << 8;
}

static inline uint8x16_t spread_bits(unsigned bits)
{
    uint8x16_t both = vcombine_u8(vdup_n_u8((uint8_t)bits), vdup_n_u8((uint8_t)(bits >> 8)));
    return vtstq_u8(both, bit_places());
}

/* Those of eight bytes that the flags say, one behind the other. */
static inline uint8_t *put_eight(uint8_t *to, unsigned flags, uint8x8_t bytes)
{
    vst1_u8(to, vtbl1_u8(bytes, vcreate_u8(stk_gathers[flags & 255])));
    return to + count_of(flags & 255);
}

static inline uint8_t *put_some(uint8_t *to, unsigned flags, size_t count, uint8x16_t bytes)
{
    flags &= first_bits(count);
    to = put_eight(to, flags, vget_low_u8(bytes));
    return put_eight(to, flags >> 8, vget_high_u8(bytes));
}

static size_t pack_signs(uint8_t *signs, uint8_t *flags, uint8_t *larger, const int8_t *values,
                         size_t count)
{
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 16) {
        int8x16_t value = vld1q_s8(values + at);
        uint8x16_t magnitude = vreinterpretq_u8_s8(vabsq_s8(value));
        unsigned flag = gather_bits(vcgtq_u8(magnitude, vdupq_n_u8(1)));
        store_bits(signs, at, gather_bits(vcltzq_s8(value)), count - at);
        store_bits(flags, at, flag, count - at);
        to = put_some(to, flag, count - at, magnitude);
    }
    return (size_t)(to - larger);
}

static size_t pack_bits(uint8_t *bits, uint8_t *flags, uint8_t *larger, const uint8_t *values,
                        size_t count)
{
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += 16) {
        uint8x16_t value = vld1q_u8(values + at);
        store_bits(bits, at, gather_bits(vtstq_u8(value, vdupq_n_u8(1))), count - at);
        if (flags) {
            unsigned flag = gather_bits(vcgtq_u8(value, vdupq_n_u8(3)));
            store_bits(flags, at, flag, count - at);
            to = put_some(to, flag, count - at, vshrq_n_u8(value, 1));
        }
    }
    return (size_t)(to - larger);
}

static size_t count_ones(const uint8_t *plane, size_t bits)
{
    size_t count = 0, at = 0;
    for (; at + 64 <= bits; at += 64) {
        count += count_of(stk_get_word(plane + at / 8));
    }
    for (; at < bits; at += 16) {
        count += count_of(load_bits(plane, at) & first_bits(bits - at));
    }
    return count;
}

/* Eight places: 0, and where the flags say the next ones of `larger`. */
static inline uint8x8_t take_eight(unsigned flags, const uint8_t **larger)
{
    uint8x8_t some = vtbl1_u8(vld1_u8(*larger), vld1_u8(stk_ranks[flags & 255]));
    *larger += count_of(flags & 255);
    return some;
}

/* As many as there are flags; 1 where there is none. */
static inline uint8x16_t take_some(unsigned flags, const uint8_t **larger)
{
    uint8x8_t low = take_eight(flags, larger), high = take_eight(flags >> 8, larger);
    return vmaxq_u8(vcombine_u8(low, high), vdupq_n_u8(1));
}

static void unpack_signs(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                         const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += 16) {
        uint8x16_t value = take_some(load_bits(flags, at), &larger);
        uint8x16_t minus = spread_bits(load_bits(signs, at));
        value = vsubq_u8(veorq_u8(value, minus), minus);
        vst1q_s8(values + at, vreinterpretq_s8_u8(value));
    }
}

static void unpack_bits(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                        const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += 16) {
        uint8x16_t value = vdupq_n_u8(1);
        if (flags) {
            value = take_some(load_bits(flags, at), &larger);
        }
        value = vaddq_u8(value, value);
        vst1q_u8(values + at, vsubq_u8(value, spread_bits(load_bits(bits, at))));
    }
}

static size_t find_largest(uint32_t *places, const int8_t *values, size_t count)
{
    size_t found = 0;
    for (size_t at = 0; at < count; at += 16) {
        uint8x16_t same = vceqq_s8(vabsq_s8(vld1q_s8(values + at)), vdupq_n_s8(STK_FORM_LARGEST));
        if (vmaxvq_u8(same) == 0) {
            continue;
        }
        unsigned which = gather_bits(same) & first_bits(count - at);
        for (; which; which &= which - 1) {
            places[found++] = (uint32_t)at + (unsigned)__builtin_ctz(which);
        }
    }
    return found;
}

/* ---- DC ---- */

/* Returns the rest of a magnitude as a value with that sign. */
static inline int8x8_t rest_of(int16x8_t dc)
{
    uint16x8_t rest = vshrq_n_u16(vreinterpretq_u16_s16(vabsq_s16(dc)), STK_DC_PLANES);
    rest = vminq_u16(vaddq_u16(rest, vdupq_n_u16(1)), vdupq_n_u16(STK_FORM_LARGEST));
    int16x8_t minus = vshrq_n_s16(dc, 15);
    return vmovn_s16(vsubq_s16(veorq_s16(vreinterpretq_s16_u16(rest), minus), minus));
}

/* The low bits of the magnitudes of sixteen. */
static inline uint8x16_t low_bytes(int16x8_t low, int16x8_t high)
{
    uint16x8_t abs_low = vreinterpretq_u16_s16(vabsq_s16(low));
    uint16x8_t abs_high = vreinterpretq_u16_s16(vabsq_s16(high));
    return vcombine_u8(vmovn_u16(abs_low), vmovn_u16(abs_high));
}

static void pack_dc(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += 16) {
        int16x8_t low = vld1q_s16(dc + at), high = vld1q_s16(dc + at + 8);
        uint8x16_t bytes = low_bytes(low, high);
        for (unsigned bit = 0; bit < STK_DC_PLANES; bit++) {
            uint8x16_t set = vtstq_u8(bytes, vdupq_n_u8((uint8_t)(1 << bit)));
            store_bits(planes + bit * plane, at, gather_bits(set), blocks - at);
        }
        vst1q_s8(values + at, vcombine_s8(rest_of(low), rest_of(high)));
    }
}

/* Eight of them: values, and the low bits of the magnitudes. */
static inline int16x8_t join_dc(int8x8_t values, uint8x8_t low)
{
    int16x8_t value = vmovl_s8(values), minus = vshrq_n_s16(value, 15);
    int16x8_t dc = vsubq_s16(vabsq_s16(value), vdupq_n_s16(1));
    dc = vorrq_s16(vshlq_n_s16(dc, STK_DC_PLANES), vreinterpretq_s16_u16(vmovl_u8(low)));
    return vsubq_s16(veorq_s16(dc, minus), minus);
}

static void unpack_dc(int16_t *dc, const uint8_t *planes, const int8_t *values, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += 16) {
        int8x16_t value = vld1q_s8(values + at);
        uint8x16_t low = vdupq_n_u8(0);
        for (unsigned bit = 0; bit < STK_DC_PLANES; bit++) {
            uint8x16_t set = spread_bits(load_bits(planes + bit * plane, at));
            low = vorrq_u8(low, vandq_u8(set, vdupq_n_u8((uint8_t)(1 << bit))));
        }
        vst1q_s16(dc + at, join_dc(vget_low_s8(value), vget_low_u8(low)));
        vst1q_s16(dc + at + 8, join_dc(vget_high_s8(value), vget_high_u8(low)));
    }
}

const struct stk_form_kernels stk_form_neon = {
    .gather = stk_gather_blocks,
    .pack_masks = stk_masks_pack,
    .pack_signs = pack_signs,
    .pack_bits = pack_bits,
    .pack_dc = pack_dc,
    .measure_masks = stk_masks_measure,
    .unpack_masks = stk_masks_unpack,
    .count_ones = count_ones,
    .unpack_signs = unpack_signs,
    .unpack_bits = unpack_bits,
    .unpack_dc = unpack_dc,
    .find_largest = find_largest,
};

/* The form's kernels in NEON. */
#include "decode/kernels/ranks.h"
#include "decode/kernels/gathers.h"
#include "decode/kernels/planes.h"

#include <arm_neon.h>

#define TARGET
#define INLINE static inline

INLINE unsigned count_of(uint64_t mask)
{
    return vaddv_u8(vcnt_u8(vcreate_u8(mask)));
}

#define STK_COUNT_ONES(mask) count_of(mask)
#define STK_FIRST_ONE(mask)  __builtin_ctzll((mask) | UINT64_C(1) << 63)

typedef uint8x16_t chars;
typedef int16x8_t shorts;
typedef uint16_t bits;

INLINE chars bit_places(void)
{
    return vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
}

INLINE bits signs_of(chars some)
{
    chars places = vandq_u8(vcltzq_s8(vreinterpretq_s8_u8(some)), bit_places());
    return (bits)(vaddv_u8(vget_low_u8(places)) | vaddv_u8(vget_high_u8(places)) << 8);
}

INLINE chars spread(bits some)
{
    uint8x8_t low = vdup_n_u8((uint8_t)some), high = vdup_n_u8((uint8_t)(some >> 8));
    return vtstq_u8(vcombine_u8(low, high), bit_places());
}

INLINE chars magnitudes(chars values)
{
    return vreinterpretq_u8_s8(vabsq_s8(vreinterpretq_s8_u8(values)));
}

INLINE shorts short_magnitudes(shorts some)
{
    return vabsq_s16(some);
}

INLINE chars narrow(shorts low, shorts high)
{
    return vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
}

INLINE shorts widen_low(chars values)
{
    return vmovl_s8(vget_low_s8(vreinterpretq_s8_u8(values)));
}

INLINE shorts widen_high(chars values)
{
    return vmovl_s8(vget_high_s8(vreinterpretq_s8_u8(values)));
}

INLINE chars negate(chars some, bits flags)
{
    chars minus = spread(flags);
    return (some ^ minus) - minus;
}

/* Puts those of eight bytes that the flags say. */
INLINE uint8_t *put_eight(uint8_t *to, unsigned flags, uint8x8_t eight)
{
    vst1_u8(to, vtbl1_u8(eight, vcreate_u8(stk_gathers[flags & 255])));
    return to + count_of(flags & 255);
}

INLINE uint8_t *put_some(uint8_t *to, bits flags, chars some)
{
    to = put_eight(to, flags, vget_low_u8(some));
    return put_eight(to, flags >> 8, vget_high_u8(some));
}

/* Eight places: 0, and where the flags say the next ones of `larger`. */
INLINE uint8x8_t take_eight(unsigned flags, const uint8_t **larger)
{
    uint8x8_t some = vtbl1_u8(vld1_u8(*larger), vld1_u8(stk_ranks[flags & 255]));
    *larger += count_of(flags & 255);
    return some;
}

INLINE chars take_some(bits flags, const uint8_t **larger)
{
    uint8x8_t low = take_eight(flags, larger), high = take_eight(flags >> 8, larger);
    return vmaxq_u8(vcombine_u8(low, high), vdupq_n_u8(1));
}

#include "decode/kernels/plane_loops.h"
#include "decode/kernels/masks.h"

const struct stk_form_kernels stk_form_neon = STK_FORM_KERNELS;

/*
 * The loops of struct stk_form_kernels over values and planes, for processors with vectors.
 *
 * The file that includes it defines TARGET and INLINE, with which functions of its target begin,
 * and STK_COUNT_ONES and STK_FIRST_ONE (anything if there is no one). Its types are the vectors
 * `chars` and `shorts`, and `bits`, a number with a bit for each byte. Its functions are:
 *
 *   signs_of    makes bits of the highest ones of bytes
 *   spread      makes bytes of 0 or 255 of bits
 *   put_some    puts the flagged bytes one behind the other, and more that mean nothing; moves on
 *   take_some   returns the next bytes at the flagged places, and 1 elsewhere; moves on
 *   negate      changes the signs of the flagged bytes
 *   narrow      makes bytes of shorts, the nearest ones
 *   widen_low, widen_high, magnitudes, short_magnitudes
 */
#pragma once

#include <string.h>

#include "decode/common/little.h"
#include "decode/kernels/planes.h"

#define STEP sizeof(chars)

INLINE chars load(const void *from)
{
    chars some;
    memcpy(&some, from, sizeof some);
    return some;
}

INLINE void store(void *to, chars some)
{
    memcpy(to, &some, sizeof some);
}

INLINE void copy_64(int8_t *to, const int8_t *from)
{
    for (size_t at = 0; at < 64; at += STEP) {
        store(to + at, load(from + at));
    }
}

#define STK_COPY_64 copy_64
#include "decode/kernels/gather.h"

INLINE bits first_bits(size_t count)
{
    return (bits)(count >= STEP ? ~(bits)0 : ((bits)1 << count) - 1);
}

INLINE bits load_bits(const uint8_t *plane, size_t at)
{
    bits some;
    memcpy(&some, plane + at / 8, sizeof some);
    return some;
}

/* Stores the bits of a vector, or of the rest of a plane. */
INLINE void store_bits(uint8_t *plane, size_t at, bits some, size_t count)
{
    if (count >= STEP) {
        memcpy(plane + at / 8, &some, sizeof some);
        return;
    }
    stk_put_little(plane + at / 8, some & first_bits(count), (unsigned)stk_plane_bytes(count));
}

/* Returns a bit of each byte. Shorts are shifted in one instruction. */
INLINE bits bit_of(chars some, int bit)
{
    return signs_of((chars)((shorts)some << (7 - bit)));
}

/* Flags the bytes above 1, which are 127 at most, and puts them. */
INLINE uint8_t *put_larger(uint8_t *to, uint8_t *flags, size_t at, chars some, size_t count)
{
    bits flag = signs_of(some + 126);
    store_bits(flags, at, flag, count);
    return put_some(to, flag & first_bits(count), some);
}

TARGET static size_t pack_signs(uint8_t *signs, uint8_t *flags, uint8_t *larger,
                                const int8_t *values, size_t count)
{
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += STEP) {
        chars value = load(values + at);
        store_bits(signs, at, signs_of(value), count - at);
        to = put_larger(to, flags, at, magnitudes(value), count - at);
    }
    return (size_t)(to - larger);
}

TARGET static size_t pack_bits(uint8_t *lowest, uint8_t *flags, uint8_t *larger,
                               const uint8_t *values, size_t count)
{
    uint8_t *to = larger;
    for (size_t at = 0; at < count; at += STEP) {
        chars value = load(values + at);
        store_bits(lowest, at, bit_of(value, 0), count - at);
        if (flags) {
            to = put_larger(to, flags, at, value >> 1, count - at);
        }
    }
    return (size_t)(to - larger);
}

TARGET static size_t count_ones(const uint8_t *plane, size_t count)
{
    size_t found = 0, at = 0;
    for (; at + 64 <= count; at += 64) {
        found += (size_t)STK_COUNT_ONES(stk_get_word(plane + at / 8));
    }
    for (; at < count; at += STEP) {
        found += (size_t)STK_COUNT_ONES(load_bits(plane, at) & first_bits(count - at));
    }
    return found;
}

TARGET static void unpack_signs(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                                const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += STEP) {
        chars magnitude = take_some(load_bits(flags, at), &larger);
        store(values + at, negate(magnitude, load_bits(signs, at)));
    }
}

TARGET static void unpack_bits(uint8_t *values, const uint8_t *lowest, const uint8_t *flags,
                               const uint8_t *larger, size_t count)
{
    for (size_t at = 0; at < count; at += STEP) {
        chars rest = (chars){0} + 1;
        if (flags) {
            rest = take_some(load_bits(flags, at), &larger);
        }
        store(values + at, rest + rest - spread(load_bits(lowest, at)));
    }
}

TARGET static size_t find_largest(uint32_t *places, const int8_t *values, size_t count)
{
    size_t found = 0;
    for (size_t at = 0; at < count; at += STEP) {
        uint64_t first = signs_of(magnitudes(load(values + at)) + (128 - STK_FORM_LARGEST));
        first &= first_bits(count - at);
        if (STEP < 32 && first == 0) {
            continue; /* as mostly, among so few */
        }
        /* Two without asking whether there are any: mostly there is none or one. */
        uint64_t second = first & (first - 1), more = second & (second - 1);
        places[found] = (uint32_t)at + (uint32_t)STK_FIRST_ONE(first);
        places[found + 1] = (uint32_t)at + (uint32_t)STK_FIRST_ONE(second);
        for (size_t i = found + 2; more; more &= more - 1) {
            places[i++] = (uint32_t)at + (uint32_t)STK_FIRST_ONE(more);
        }
        found += (size_t)STK_COUNT_ONES(first);
    }
    return found;
}

/* ---- DC ---- */

INLINE shorts load_shorts(const int16_t *from)
{
    shorts some;
    memcpy(&some, from, sizeof some);
    return some;
}

/* Returns what is above the planes, plus 1. A magnitude of 32768 has the sign of a short. */
INLINE shorts rest_of(shorts magnitude)
{
    return (magnitude >> STK_DC_PLANES & INT16_MAX >> (STK_DC_PLANES - 1)) + 1;
}

TARGET static void pack_dc(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks)
{
    const short lowest = (1 << STK_DC_PLANES) - 1;
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += STEP) {
        shorts low = load_shorts(dc + at), high = load_shorts(dc + at + STEP / 2);
        shorts a = short_magnitudes(low), b = short_magnitudes(high);
        chars some = narrow(a & lowest, b & lowest);
        for (int bit = 0; bit < STK_DC_PLANES; bit++) {
            store_bits(planes + (size_t)bit * plane, at, bit_of(some, bit), blocks - at);
        }
        chars rest = narrow(rest_of(a), rest_of(b));
        store(values + at, negate(rest, signs_of(narrow(low, high))));
    }
}

/* Puts differences: values, and the lowest bits of the magnitudes. */
INLINE void put_dc(int16_t *dc, shorts values, shorts lowest)
{
    shorts minus = values >> 15, rest = short_magnitudes(values) - 1;
    rest = rest << STK_DC_PLANES | lowest;
    rest = (rest ^ minus) - minus;
    memcpy(dc, &rest, sizeof rest);
}

TARGET static void unpack_dc(int16_t *dc, const uint8_t *planes, const int8_t *values,
                             size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t at = 0; at < blocks; at += STEP) {
        chars lowest = {0}, value = load(values + at);
        for (size_t bit = 0; bit < STK_DC_PLANES; bit++) {
            lowest |= spread(load_bits(planes + bit * plane, at)) & (uint8_t)(1 << bit);
        }
        put_dc(dc + at, widen_low(value), widen_low(lowest));
        put_dc(dc + at + STEP / 2, widen_high(value), widen_high(lowest));
    }
}

#define STK_FORM_KERNELS                                                                           \
    {                                                                                              \
        .gather = stk_gather_blocks, .pack_masks = stk_masks_pack, .pack_signs = pack_signs,       \
        .pack_bits = pack_bits, .pack_dc = pack_dc, .measure_masks = stk_masks_measure,            \
        .unpack_masks = stk_masks_unpack, .count_ones = count_ones, .unpack_signs = unpack_signs,  \
        .unpack_bits = unpack_bits, .unpack_dc = unpack_dc, .find_largest = find_largest,          \
    }

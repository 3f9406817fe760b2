/* The form's kernels in plain C: the reference for all others. */
#include "decode/form/planes.h"

#include <string.h>

/* Where there is no instruction for it, compilers call a function. */
static inline unsigned ones(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

#define STK_GATHER_INLINE     static inline
#define STK_COUNT_ONES(mask)  ones(mask)
#define STK_COPY_64(to, from) memcpy(to, from, 64)
#include "decode/form/gather.h"

static void gather(struct stk_gathering *gathering, size_t blocks)
{
    stk_gather_blocks(gathering, blocks);
}

/* ---- masks ---- */

static unsigned length_of(uint64_t mask)
{
    unsigned length = 0;
    for (; mask > 0; mask >>= 4) {
        length++;
    }
    return length < 16 ? length : 15;
}

static struct stk_mask_bytes pack_masks(uint8_t *lengths, uint8_t *whole, uint8_t *halves,
                                        const uint64_t *masks, size_t blocks)
{
    struct stk_mask_bytes done = {0, 0};
    memset(lengths, 0, (blocks + 1) / 2);
    for (size_t i = 0; i < blocks; i++) {
        uint64_t mask = masks[i] >> 1;
        unsigned length = length_of(mask);
        lengths[i / 2] |= (uint8_t)(length << i % 2 * 4);
        for (unsigned b = 0; b < stk_mask_whole(length); b++, mask >>= 8) {
            whole[done.whole++] = (uint8_t)mask;
        }
        if (stk_mask_half(length)) {
            uint8_t *half = &halves[done.halves / 2];
            *half = (uint8_t)(done.halves++ % 2 ? *half | mask << 4 : mask);
        }
    }
    return done;
}

static unsigned half_of(const uint8_t *halves, size_t i)
{
    return halves[i / 2] >> i % 2 * 4 & 15;
}

static size_t unpack_masks(uint64_t *masks, const uint8_t *lengths, const uint8_t *whole,
                           const uint8_t *halves, size_t blocks)
{
    size_t values = 0, half = 0;
    for (size_t i = 0; i < blocks; i++) {
        unsigned length = half_of(lengths, i), bytes = stk_mask_whole(length);
        uint64_t mask = 0;
        for (unsigned b = 0; b < bytes; b++) {
            mask |= (uint64_t)*whole++ << 8 * b;
        }
        if (stk_mask_half(length)) {
            mask |= (uint64_t)half_of(halves, half++) << 8 * bytes;
        }
        masks[i] = mask << 1;
        values += ones(mask << 1);
    }
    return values;
}

static struct stk_mask_bytes measure_masks(const uint8_t *lengths, size_t blocks)
{
    struct stk_mask_bytes sum = {0, 0};
    for (size_t i = 0; i < blocks; i++) {
        sum.whole += stk_mask_whole(half_of(lengths, i));
        sum.halves += stk_mask_half(half_of(lengths, i));
    }
    return sum;
}

/* ---- planes ---- */

static unsigned bit_of(const uint8_t *plane, size_t i)
{
    return plane[i / 8] >> i % 8 & 1;
}

static void put_bit(uint8_t *plane, size_t i, unsigned bit)
{
    plane[i / 8] |= (uint8_t)(bit << i % 8);
}

static size_t pack_signs(uint8_t *signs, uint8_t *flags, uint8_t *larger, const int8_t *values,
                         size_t count)
{
    uint8_t *to = larger;
    memset(signs, 0, stk_plane_bytes(count));
    memset(flags, 0, stk_plane_bytes(count));
    for (size_t i = 0; i < count; i++) {
        unsigned negative = values[i] < 0;
        unsigned magnitude = (unsigned)(negative ? -values[i] : values[i]);
        put_bit(signs, i, negative);
        put_bit(flags, i, magnitude > 1);
        *to = (uint8_t)magnitude;
        to += magnitude > 1;
    }
    return (size_t)(to - larger);
}

static size_t pack_bits(uint8_t *bits, uint8_t *flags, uint8_t *larger, const uint8_t *values,
                        size_t count)
{
    uint8_t *to = larger;
    memset(bits, 0, stk_plane_bytes(count));
    if (flags) {
        memset(flags, 0, stk_plane_bytes(count));
    }
    for (size_t i = 0; i < count; i++) {
        unsigned rest = values[i] >> 1;
        put_bit(bits, i, values[i] & 1);
        if (flags) {
            put_bit(flags, i, rest > 1);
            *to = (uint8_t)rest;
            to += rest > 1;
        }
    }
    return (size_t)(to - larger);
}

static size_t count_ones(const uint8_t *plane, size_t bits)
{
    size_t count = 0, i = 0;
    for (; i + 64 <= bits; i += 64) {
        uint64_t word;
        memcpy(&word, plane + i / 8, sizeof word);
        count += ones(word);
    }
    for (; i < bits; i++) {
        count += bit_of(plane, i);
    }
    return count;
}

static void unpack_signs(int8_t *values, const uint8_t *signs, const uint8_t *flags,
                         const uint8_t *larger, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned flag = bit_of(flags, i);
        int magnitude = flag ? *larger : 1, minus = -(int)bit_of(signs, i);
        larger += flag;
        values[i] = (int8_t)((magnitude ^ minus) - minus);
    }
}

static void unpack_bits(uint8_t *values, const uint8_t *bits, const uint8_t *flags,
                        const uint8_t *larger, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned flag = flags ? bit_of(flags, i) : 0;
        unsigned rest = flag ? *larger : 1;
        larger += flag;
        values[i] = (uint8_t)(rest << 1 | bit_of(bits, i));
    }
}

static size_t find_largest(uint32_t *places, const int8_t *values, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] == STK_FORM_LARGEST || values[i] == -STK_FORM_LARGEST) {
            places[found++] = (uint32_t)i;
        }
    }
    return found;
}

/* ---- DC ---- */

static void pack_dc(uint8_t *planes, int8_t *values, const int16_t *dc, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    memset(planes, 0, STK_DC_PLANES * plane);
    for (size_t i = 0; i < blocks; i++) {
        unsigned magnitude = (unsigned)(dc[i] < 0 ? -dc[i] : dc[i]);
        for (unsigned k = 0; k < STK_DC_PLANES; k++) {
            put_bit(planes + k * plane, i, magnitude >> k & 1);
        }
        unsigned rest = (magnitude >> STK_DC_PLANES) + 1;
        int value = (int)(rest < STK_FORM_LARGEST ? rest : STK_FORM_LARGEST);
        values[i] = (int8_t)(dc[i] < 0 ? -value : value);
    }
}

static void unpack_dc(int16_t *dc, const uint8_t *planes, const int8_t *values, size_t blocks)
{
    size_t plane = stk_plane_bytes(blocks);
    for (size_t i = 0; i < blocks; i++) {
        int negative = values[i] < 0, rest = (negative ? -values[i] : values[i]) - 1;
        unsigned magnitude = (unsigned)rest << STK_DC_PLANES;
        for (unsigned k = 0; k < STK_DC_PLANES; k++) {
            magnitude |= bit_of(planes + k * plane, i) << k;
        }
        dc[i] = (int16_t)(negative ? -(int)magnitude : (int)magnitude);
    }
}

const struct stk_form_kernels stk_form_plain = {
    .gather = gather,
    .pack_masks = pack_masks,
    .pack_signs = pack_signs,
    .pack_bits = pack_bits,
    .pack_dc = pack_dc,
    .unpack_masks = unpack_masks,
    .measure_masks = measure_masks,
    .count_ones = count_ones,
    .unpack_signs = unpack_signs,
    .unpack_bits = unpack_bits,
    .unpack_dc = unpack_dc,
    .find_largest = find_largest,
};

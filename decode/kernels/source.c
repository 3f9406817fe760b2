#include "decode/kernels/kernels.h"

#include "decode/common/ones.h"
#include "decode/common/zigzag.h"

static uint32_t index_of(const struct stk_source *next)
{
    return (uint32_t)(next->values - next->all);
}

/* Takes the difference of DC of a block with this mask. A wide one is passed in the list. */
static unsigned take_difference(struct stk_source *next, uint64_t mask)
{
    if (next->dc) {
        return (unsigned)*next->dc++;
    }
    if (!(mask & 1)) {
        return 0;
    }
    return (unsigned)(next->wide->at == index_of(next) ? (next->wide++)->value : *next->values);
}

/* Returns the position of the mask's one with that number. */
static unsigned position_of(uint64_t mask, unsigned place)
{
    for (; place > 0; place--) {
        mask &= mask - 1;
    }
    return (unsigned)__builtin_ctzll(mask);
}

void stk_source_play(struct stk_source *next, const struct stk_kernels *kernels, int16_t block[64],
                     unsigned component)
{
    uint64_t mask = *next->masks++;
    uint32_t first = index_of(next);
    next->last_dc[component] += take_difference(next, mask);
    next->values += kernels->expand(block, mask, next->values);
    for (; next->wide->at < index_of(next); next->wide++) {
        unsigned position = position_of(mask, next->wide->at - first);
        block[stk_zigzag[position]] = (int16_t)next->wide->value;
    }
    block[0] = (int16_t)next->last_dc[component];
}

void stk_plain_pass(struct stk_source *next, const uint8_t *components, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t mask = *next->masks++;
        next->last_dc[components[i]] += take_difference(next, mask);
        next->values += stk_count_ones(mask);
        while (next->wide->at < index_of(next)) {
            next->wide++;
        }
    }
}

/*
 * A few rows of MCUs, as they lie in memory between the coefficients of an image and the bytes of a
 * form: masks, differences of DC, values.
 *
 * Blocks stand in the order of the scan. DC is apart: bit 0 of no mask is set. Its differences are
 * modulo 1 << 16, and in each group those of a component begin from 0. A value that no byte holds
 * is +-127 there, and is listed with what it is.
 */
#ifndef STK_DECODE_FORM_GROUP_H
#define STK_DECODE_FORM_GROUP_H

#include <stdbool.h>

#include "decode/entropy/coefficients.h"
#include "decode/entropy/room.h"

/* Behind each of its arrays so many more entries may be written. */
#define STK_GROUP_SLACK 64

struct stk_group {
    uint32_t blocks, count; /* of blocks, of values */
    uint64_t *masks;
    int16_t *dc;
    int8_t *values;
    int8_t *dc_values;     /* on their way between `dc` and planes */
    struct stk_wide *wide; /* by `at`, in values; the last one is at STK_WIDE_END */
    struct stk_room masks_room, dc_room, dc_values_room, values_room, wide_room;
};

/* Room for so many; false: no memory. Neither keeps what is there. */
bool stk_group_reserve_blocks(struct stk_group *group, size_t blocks);
bool stk_group_reserve_values(struct stk_group *group, size_t values);
bool stk_group_reserve_wide(struct stk_group *group, size_t wide);
void stk_group_free(struct stk_group *group, size_t but);

#endif

/*
 * A group: a few rows of MCUs in memory, between the coefficients of an image and the bytes of a
 * form. It has masks, differences of DC, and values.
 *
 * Blocks stand in the order of the scan. DC is apart, so bit 0 of no mask is set. Differences of DC
 * are modulo 1 << 16, and in each group those of a component begin from 0. A wide value is +-127
 * among the values, and stands in the list of wide values.
 */
#pragma once

#include <stdbool.h>

#include "decode/common/coefficients.h"
#include "decode/common/array.h"

/* So many more entries may be written behind each array. */
#define STK_GROUP_SLACK 64

struct stk_form_group {
    uint32_t blocks, count; /* the numbers of blocks and of values */
    uint64_t *masks;
    int16_t *dc;
    int8_t *values;
    int8_t *dc_values;     /* between `dc` and planes */
    struct stk_wide *wide; /* by `at`, in values; the last one is at STK_WIDE_END */
    struct stk_array masks_array, dc_array, dc_values_array, values_array, wide_array;
};

/* Make room for so many. They return false if there is no memory. The contents are lost. */
bool stk_form_group_reserve_blocks(struct stk_form_group *group, size_t blocks);
bool stk_form_group_reserve_values(struct stk_form_group *group, size_t values);
bool stk_form_group_reserve_wide(struct stk_form_group *group, size_t wide);
void stk_form_group_free(struct stk_form_group *group, size_t but);

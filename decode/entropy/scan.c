#include "decode/entropy/scan.h"

/* A value takes two bits at least, a block two symbols of one bit. */
#define VALUES_A_BYTE 4
#define BLOCKS_A_BYTE 4
/* A cursor may write so far beyond its area: a round of the lock-step, and up to three MCUs. */
#define VALUES_TOO_FAR 1024
#define BLOCKS_TOO_FAR (STK_MASKS_TOO_FAR + 64)
#define ARRAYS         5

void stk_scan_free(struct stk_scan *scan, size_t but)
{
    struct stk_array *const arrays[ARRAYS] = {&scan->bytes_array, &scan->values_array,
                                              &scan->masks_array, &scan->wide_array,
                                              &scan->intervals_array};
    for (size_t i = 0; i < ARRAYS; i++) {
        stk_array_free(arrays[i], but);
    }
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static uint32_t masks_for(const struct stk_scan *scan, uint32_t bytes)
{
    return least((uint64_t)BLOCKS_A_BYTE * bytes, stk_scan_wanted_blocks(scan)) + 1;
}

struct stk_area stk_scan_take_area(struct stk_scan *scan, uint32_t bytes)
{
    struct stk_area area = scan->free_area;
    area.most_masks = masks_for(scan, bytes);
    scan->free_area.values += (size_t)VALUES_A_BYTE * bytes + VALUES_TOO_FAR;
    scan->free_area.masks += area.most_masks + BLOCKS_TOO_FAR;
    scan->free_area.wide += bytes + VALUES_TOO_FAR;
    return area;
}

void stk_scan_put_cursor(const struct stk_scan *scan, struct stk_cursor *cursor, uint64_t bit,
                         const struct stk_area *area)
{
    *cursor = (struct stk_cursor){
        .values = area->values,
        .masks = area->masks,
        .wide = area->wide,
        .values_base = scan->coefficients.values,
        .masks_end = area->masks + area->most_masks,
    };
    area->masks[0] = 0;
    stk_cursor_seek(cursor, scan->bytes, bit, scan->slots);
}

bool stk_scan_add_run(struct stk_scan *scan, const struct stk_area *from,
                      const struct stk_cursor *cursor)
{
    struct stk_coefficients *out = &scan->coefficients;
    uint32_t blocks =
        least((uint64_t)(cursor->masks - from->masks), stk_scan_wanted_blocks(scan) - out->blocks);
    if (out->run_count == STK_MOST_RUNS) {
        return false;
    }
    cursor->wide->at = STK_WIDE_END;
    if (blocks > 0) {
        out->runs[out->run_count++] = (struct stk_coefficient_run){
            .masks = from->masks,
            .blocks = blocks,
            .first_value = (uint32_t)(from->values - out->values),
            .wide = from->wide,
        };
        out->blocks += blocks;
    }
    return true;
}

bool stk_scan_get_areas(struct stk_scan *scan, uint32_t areas, uint32_t more)
{
    uint64_t bytes = scan->size + (uint64_t)areas * more;
    uint64_t masks = least(BLOCKS_A_BYTE * bytes, (uint64_t)areas * stk_scan_wanted_blocks(scan));
    uint64_t values = VALUES_A_BYTE * bytes + (uint64_t)areas * VALUES_TOO_FAR;
    masks += (uint64_t)areas * (BLOCKS_TOO_FAR + 1);
    scan->free_area = (struct stk_area){
        .values = stk_array_get(&scan->values_array, values + STK_VALUE_SLACK),
        .masks = stk_array_get(&scan->masks_array, masks * sizeof(uint64_t)),
        .wide = stk_array_get(&scan->wide_array,
                              (bytes + (uint64_t)areas * VALUES_TOO_FAR) * sizeof(struct stk_wide)),
    };
    scan->coefficients.values = scan->free_area.values;
    return scan->free_area.values && scan->free_area.masks && scan->free_area.wide;
}

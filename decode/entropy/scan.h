/*
 * A scan while it is parsed, and its memory. Each cursor writes to an area of that memory, and the
 * right part of an area becomes a run of the scan's coefficients.
 */
#pragma once

#include "decode/common/coefficients.h"
#include "decode/huffman/cursor.h"
#include "decode/common/array.h"
#include "decode/huffman/unstuff.h"

#define STK_MOST_CURSORS 4
/* Places where cursors start, in one scan. */
#define STK_MOST_AREAS 32
/* How many bytes behind the beginning of the next cursor's part a cursor looks for a common place.
 */
#define STK_JOIN_BYTES 4096u

/* The memory that a cursor writes to. */
struct stk_area {
    int8_t *values;
    uint64_t *masks;
    struct stk_wide *wide;
    uint32_t most_masks;
};

struct stk_scan {
    /* Set by the caller. */
    const struct stk_tables_pair *pairs[STK_MCU_BLOCKS];
    uint32_t mcus;   /* of the scan */
    uint32_t wanted; /* MCUs, from the first on */
    bool more_scans; /* other scans may follow */
    unsigned cursor_count;
    uint32_t least_bytes; /* for each cursor */
    stk_lockstep *lockstep;
    unsigned useful; /* cursors whose work is part of the result */
    /* The result; mcu_blocks, component and interval are set by the caller. */
    struct stk_coefficients coefficients;
    size_t end; /* offset behind the scan's bytes, where a marker stands */

    /* Memory, kept from one scan to the next. */
    struct stk_array bytes_array, values_array, masks_array, wide_array, intervals_array;

    /* During the parse. */
    const uint8_t *bytes;
    uint32_t size;
    struct stk_intervals intervals;
    struct stk_mcu_slot slots[STK_MCU_BLOCKS];
    struct stk_area free_area; /* the part that no cursor has yet */
};

/* Frees each piece of memory of more than `but` bytes, and with it the coefficients. */
void stk_scan_free(struct stk_scan *scan, size_t but);

/* ---- between the files of the parser ---- */

/* Gets memory for `areas` areas: for all bytes of the scan together, and `more` bytes in each.
 * Returns false if there is no memory. */
bool stk_scan_get_areas(struct stk_scan *scan, uint32_t areas, uint32_t more);
/* Takes an area for so many bytes of the scan. */
struct stk_area stk_scan_take_area(struct stk_scan *scan, uint32_t bytes);
/* Sets a cursor to a bit where an MCU begins; it will write to the area. */
void stk_scan_put_cursor(const struct stk_scan *scan, struct stk_cursor *cursor, uint64_t bit,
                         const struct stk_area *area);
/* Makes a run of the output from `from` up to the cursor. Returns false if there are too many runs.
 */
bool stk_scan_add_run(struct stk_scan *scan, const struct stk_area *from,
                      const struct stk_cursor *cursor);

static inline uint32_t stk_scan_wanted_blocks(const struct stk_scan *scan)
{
    return scan->wanted * scan->coefficients.mcu_blocks;
}

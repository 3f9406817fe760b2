/*
 * A whole scan, parsed: from the bytes behind its header to coefficients.
 *
 * Several cursors share the work. Where there are restart markers, each has its own intervals. Else
 * all but the first begin somewhere, as if a block began there: the codes of JPEG synchronise
 * themselves, mostly within some hundred bits, and when the cursor before has come so far, it is
 * looked for the first place that both have been at. Since DC stays a difference, all that stands
 * behind that place is right as it is. One that is never met was in vain, and the cursor before it
 * goes on.
 *
 * A scan is accepted only if all that was to be parsed is sound to the last bit; whatever else
 * there is, and how libjpeg deals with it, is libjpeg's.
 */
#ifndef STK_DECODE_ENTROPY_SCAN_H
#define STK_DECODE_ENTROPY_SCAN_H

#include "decode/entropy/coefficients.h"
#include "decode/entropy/cursor.h"
#include "decode/entropy/room.h"
#include "decode/entropy/unstuff.h"

#define STK_MOST_CURSORS 4
/* Places where cursors start, in one scan. */
#define STK_MOST_AREAS 32
/* How far behind the beginning of the next one's part a cursor looks for it. */
#define STK_JOIN_BYTES 4096u

/* Where a cursor writes. */
struct stk_area {
    int8_t *values;
    uint64_t *masks;
    struct stk_wide *wide;
    uint32_t most_masks;
};

struct stk_scan {
    /* What the caller says. */
    const struct stk_tables_pair *pairs[STK_MCU_BLOCKS];
    uint32_t mcus;   /* of the scan */
    uint32_t wanted; /* of them, from the first on */
    bool more_scans; /* may follow it */
    unsigned cursor_count;
    uint32_t least_bytes; /* for each cursor */
    stk_lockstep *lockstep;
    unsigned useful; /* cursors whose work is part of it */
    /* What is found; mcu_blocks, component and interval are the caller's. */
    struct stk_coefficients coefficients;
    size_t end; /* of the scan's bytes: a marker stands there */

    /* Memory, kept from one scan to the next. */
    struct stk_room bytes_room, values_room, masks_room, wide_room, intervals_room;

    /* During the parse. */
    const uint8_t *bytes;
    uint32_t size;
    struct stk_intervals intervals;
    struct stk_slot slots[STK_MCU_BLOCKS];
    struct stk_area free_area; /* what is not given away yet */
};

/* False: not accepted. The coefficients stay until the next call. */
bool stk_scan_parse(struct stk_scan *scan, const uint8_t *bytes, size_t size);
/* Gives back what takes more bytes than `but` each, and with it the coefficients. */
void stk_scan_free(struct stk_scan *scan, size_t but);

/* ---- between the files of the parser ---- */

struct stk_area stk_scan_take_area(struct stk_scan *scan, uint32_t bytes);
/* At the beginning of an MCU; writes to the area. */
void stk_scan_put_cursor(const struct stk_scan *scan, struct stk_cursor *cursor, uint64_t bit,
                         const struct stk_area *area);
/* What stands from there up to where the cursor is becomes a run. */
bool stk_scan_add_run(struct stk_scan *scan, const struct stk_area *from,
                      const struct stk_cursor *cursor);
/* The two ways, for scans without and with restart markers. */
bool stk_scan_parse_freely(struct stk_scan *scan);
bool stk_scan_parse_intervals(struct stk_scan *scan);

static inline uint32_t stk_scan_wanted_blocks(const struct stk_scan *scan)
{
    return scan->wanted * scan->coefficients.mcu_blocks;
}

#endif

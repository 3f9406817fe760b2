#include "decode/entropy/parse.h"

#include <string.h>

/* A larger scan is left to libjpeg: training samples are smaller. */
#define MOST_BYTES (64u << 20)

/* Returns the number of areas. In a whole scan each cursor has one; in a part it has several, if
 * the part was guessed too small. */
static uint32_t most_areas(const struct stk_scan *scan)
{
    return scan->wanted == scan->mcus ? scan->cursor_count : STK_MOST_AREAS;
}

static bool unstuff(struct stk_scan *scan, const uint8_t *bytes, size_t size)
{
    uint32_t interval = scan->coefficients.interval;
    scan->intervals.count = interval ? (scan->mcus + interval - 1) / interval : 1;
    scan->intervals.begin = stk_array_get(&scan->intervals_array,
                                          ((size_t)scan->intervals.count + 1) * sizeof(uint32_t));
    uint8_t *out = stk_array_get(&scan->bytes_array, size + STK_SCAN_SLACK);
    if (!out || !scan->intervals.begin) {
        return false;
    }
    int64_t length = stk_unstuff(out, bytes, size, scan->more_scans, &scan->intervals, &scan->end);
    if (length <= 0) {
        return false;
    }
    memset(out + length, 0, STK_SCAN_SLACK);
    scan->bytes = out;
    scan->size = (uint32_t)length;
    return true;
}

static void make_slots(struct stk_scan *scan)
{
    unsigned count = scan->coefficients.mcu_blocks;
    for (unsigned i = 0; i < count; i++) {
        unsigned next = i + 1 < count ? i + 1 : 0;
        scan->slots[i] = (struct stk_mcu_slot){
            .ac = scan->pairs[i]->ac_table,
            .next_dc = scan->pairs[next]->dc_table,
            .next = &scan->slots[next],
            .pair = scan->pairs[i],
        };
    }
}

/* Rounds up to whole restart intervals, which are parsed as a whole. */
static void want_intervals(struct stk_scan *scan)
{
    uint64_t each = scan->intervals.count > 1 ? scan->coefficients.interval : 1;
    uint64_t wanted = (scan->wanted + each - 1) / each * each;
    scan->wanted = wanted < scan->mcus ? (uint32_t)wanted : scan->mcus;
}

bool stk_scan_parse(struct stk_scan *scan, const uint8_t *bytes, size_t size)
{
    scan->coefficients.blocks = 0;
    scan->coefficients.run_count = 0;
    scan->useful = 1;
    if (size > MOST_BYTES || scan->mcus > UINT32_MAX / STK_MCU_BLOCKS / 8 ||
        !unstuff(scan, bytes, size)) {
        return false;
    }
    make_slots(scan);
    want_intervals(scan);
    bool freely = scan->intervals.count == 1;
    return stk_scan_get_areas(scan, most_areas(scan), STK_JOIN_BYTES) &&
           (freely ? stk_scan_parse_freely(scan) : stk_scan_parse_intervals(scan)) &&
           scan->coefficients.blocks == stk_scan_wanted_blocks(scan);
}

/* A scan with restart markers: each cursor has intervals of its own, one after another. */
#include "decode/entropy/parse.h"

#define END_BYTES 24u

struct lane {
    struct stk_cursor cursor;
    struct stk_area area;
    uint32_t next, end;  /* intervals */
    uint64_t *masks_due; /* where this interval's masks end */
};

static uint32_t mcus_of(const struct stk_scan *scan, uint32_t interval)
{
    uint32_t each = scan->coefficients.interval;
    return interval + 1 < scan->intervals.count ? each : scan->mcus - interval * each;
}

/* False: there is none left. */
static bool begin_interval(const struct stk_scan *scan, struct lane *lane)
{
    if (lane->next == lane->end) {
        return false;
    }
    const uint32_t *at = scan->intervals.begin + lane->next;
    struct stk_cursor *cursor = &lane->cursor;
    stk_cursor_seek(cursor, scan->bytes, (uint64_t)8 * at[0], scan->slots);
    cursor->in_end = scan->bytes + (at[1] - at[0] > END_BYTES ? at[1] - END_BYTES : at[0]);
    lane->masks_due =
        cursor->masks + (size_t)mcus_of(scan, lane->next) * scan->coefficients.mcu_blocks;
    lane->next++;
    return true;
}

/* The last bytes of an interval, which have to end where the interval does. */
static bool finish_interval(const struct stk_scan *scan, struct lane *lane)
{
    struct stk_cursor *cursor = &lane->cursor;
    uint32_t end = scan->intervals.begin[lane->next];
    while (cursor->masks < lane->masks_due) {
        if (cursor->in > scan->bytes + end || !stk_cursor_step(cursor)) {
            return false;
        }
    }
    uint64_t bit = stk_cursor_bit(cursor, scan->bytes), last = (uint64_t)8 * end;
    return cursor->masks == lane->masks_due && stk_cursor_is_between(cursor) && bit <= last &&
           bit + 8 > last;
}

/* Until the next interval that is long enough for the lock-step; false: unsound. */
static bool go_on(const struct stk_scan *scan, struct lane *lane, bool *more)
{
    *more = true;
    while (*more &&
           (lane->cursor.in >= lane->cursor.in_end || lane->cursor.masks >= lane->masks_due)) {
        if (!finish_interval(scan, lane)) {
            return false;
        }
        *more = begin_interval(scan, lane);
    }
    return true;
}

static bool run(const struct stk_scan *scan, struct lane *lanes, unsigned count)
{
    struct stk_cursor *going[STK_MOST_CURSORS];
    struct lane *of[STK_MOST_CURSORS];
    for (unsigned i = 0; i < count; i++) {
        of[i] = &lanes[i];
    }
    while (count > 0) {
        unsigned left = 0;
        for (unsigned i = 0; i < count; i++) {
            bool more;
            if (!go_on(scan, of[i], &more)) {
                return false;
            }
            of[left] = of[i];
            left += more;
        }
        count = left;
        for (unsigned i = 0; i < count; i++) {
            going[i] = &of[i]->cursor;
        }
        if (count > 0 && scan->lockstep(going, count) >= 0) {
            return false;
        }
    }
    return true;
}

bool stk_scan_parse_intervals(struct stk_scan *scan)
{
    struct lane lanes[STK_MOST_CURSORS];
    uint32_t each = scan->coefficients.interval;
    uint32_t wanted = (uint32_t)(((uint64_t)scan->wanted + each - 1) / each);
    unsigned count = wanted < scan->cursor_count ? wanted : scan->cursor_count;
    for (unsigned i = 0; i < count; i++) {
        struct lane *lane = &lanes[i];
        lane->next = (uint32_t)((uint64_t)wanted * i / count);
        lane->end = (uint32_t)((uint64_t)wanted * (i + 1) / count);
        const uint32_t *begin = scan->intervals.begin;
        lane->area = stk_scan_take_area(scan, begin[lane->end] - begin[lane->next]);
        stk_scan_put_cursor(scan, &lane->cursor, 0, &lane->area);
        begin_interval(scan, lane);
    }
    scan->useful = count;
    if (!run(scan, lanes, count)) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!stk_scan_add_run(scan, &lanes[i].area, &lanes[i].cursor)) {
            return false;
        }
    }
    return true;
}

/*
 * A scan without restart markers: cursors begin anywhere.
 *
 * For a part of the image, cursors first get about as many bytes as its rows should take. If these
 * were too few, the rest is shared out likewise.
 */
#include "decode/entropy/parse.h"

#include "decode/entropy/join.h"

/* The last bytes of the scan, which the lock-step does not enter, so that it does not run beyond
 * them. */
#define END_BYTES 24u
/* How often a cursor that cannot read on may begin again, a byte further. */
#define MOST_RESTARTS 16

struct scan_part {
    struct stk_cursor cursor;
    struct stk_area area;
    uint64_t begin; /* in bits */
    unsigned restarts;
};

struct batch {
    struct stk_scan *scan;
    struct scan_part parts[STK_MOST_CURSORS];
    unsigned count;
    uint32_t end; /* the byte where it should end */
};

/* ---- the cursors ---- */

static const uint8_t *end_of(const struct stk_scan *scan, uint32_t end)
{
    uint32_t most = scan->size > END_BYTES ? scan->size - END_BYTES : 0;
    return scan->bytes + (end < most ? end : most);
}

static bool is_done(const struct stk_cursor *cursor)
{
    return cursor->in >= cursor->in_end || cursor->masks >= cursor->masks_end;
}

/* Lets a cursor begin again. Returns false if its part is given up. Not for the first part, whose
 * cursor reads the true bits. */
static bool begin_again(const struct stk_scan *scan, struct scan_part *part)
{
    uint64_t bit = stk_cursor_bit(&part->cursor, scan->bytes);
    const uint8_t *end = part->cursor.in_end;
    if (part->restarts++ == MOST_RESTARTS) {
        return false;
    }
    part->begin = (bit | 7) + 1;
    stk_scan_put_cursor(scan, &part->cursor, part->begin, &part->area);
    part->cursor.in_end = end;
    return true;
}

/* Runs the parts from `first` up to `end` to their ends. Returns false if the first one cannot read
 * on. */
static bool run(struct batch *batch, unsigned first, unsigned end)
{
    struct stk_cursor *going[STK_MOST_CURSORS];
    struct scan_part *parts[STK_MOST_CURSORS];
    unsigned count = 0;
    for (unsigned i = first; i < end; i++) {
        parts[count] = &batch->parts[i];
        going[count++] = &batch->parts[i].cursor;
    }
    while (count > 0) {
        int stopped = batch->scan->lockstep(going, count);
        unsigned left = 0;
        if (stopped >= 0 && parts[stopped] == &batch->parts[first]) {
            return false;
        }
        for (unsigned i = 0; i < count; i++) {
            bool goes_on = (int)i != stopped || begin_again(batch->scan, parts[i]);
            if (goes_on && !is_done(going[i])) {
                parts[left] = parts[i];
                going[left++] = going[i];
            }
        }
        count = left;
    }
    return true;
}

/* ---- a batch ---- */

static void make_part(struct batch *batch, struct scan_part *part, uint64_t begin, uint32_t end)
{
    struct stk_scan *scan = batch->scan;
    uint32_t byte = (uint32_t)(begin / 8);
    part->begin = begin;
    part->restarts = 0;
    part->area = stk_scan_take_area(scan, (end > byte ? end - byte : 0) + STK_JOIN_BYTES);
    stk_scan_put_cursor(scan, &part->cursor, begin, &part->area);
    part->cursor.in_end = end_of(scan, end);
}

/*
 * Returns true if all blocks of an MCU have equal codes. Then nothing in the scan distinguishes the
 * first block, and a cursor that begins anywhere may stay at another one.
 */
static bool is_ambiguous(const struct stk_scan *scan)
{
    uint32_t i = 1;
    while (i < scan->coefficients.mcu_blocks && scan->pairs[i] == scan->pairs[0]) {
        i++;
    }
    return i > 1 && i == scan->coefficients.mcu_blocks;
}

static void make_batch(struct batch *batch, uint64_t begin)
{
    uint32_t first = (uint32_t)(begin / 8), bytes = batch->end - first;
    unsigned most = is_ambiguous(batch->scan) ? 1 : bytes / batch->scan->least_bytes;
    batch->count = most < batch->scan->cursor_count ? most : batch->scan->cursor_count;
    batch->count = batch->count > 0 ? batch->count : 1;
    for (unsigned i = 0; i < batch->count; i++) {
        uint32_t from = first + (uint32_t)((uint64_t)bytes * i / batch->count);
        uint32_t to = first + (uint32_t)((uint64_t)bytes * (i + 1) / batch->count);
        make_part(batch, &batch->parts[i], i == 0 ? begin : (uint64_t)from * 8, to);
    }
}

static bool is_complete(const struct stk_scan *scan)
{
    return scan->coefficients.blocks == stk_scan_wanted_blocks(scan);
}

static bool finish_mcu(const struct stk_scan *scan, struct stk_cursor *cursor)
{
    return stk_cursor_finish_mcu(cursor, scan->slots, scan->bytes + scan->size);
}

/* Goes on with the next part's cursor if it can be joined, else in its place. */
static bool go_on(struct batch *batch, unsigned number)
{
    struct stk_scan *scan = batch->scan;
    struct scan_part *truth = &batch->parts[number - 1], *next = &batch->parts[number];
    struct stk_area joined = next->area;
    bool met = stk_join(scan, &truth->cursor, &next->cursor, next->begin, &joined);
    if ((!met && !finish_mcu(scan, &truth->cursor)) ||
        !stk_scan_add_run(scan, &truth->area, &truth->cursor)) {
        return false;
    }
    scan->useful += met;
    if (met || is_complete(scan)) {
        next->area = joined;
        return true;
    }
    const uint8_t *end = next->cursor.in_end;
    uint64_t bit = stk_cursor_bit(&truth->cursor, scan->bytes);
    stk_scan_put_cursor(scan, &next->cursor, bit, &next->area);
    next->cursor.in_end = end;
    return run(batch, number, number + 1);
}

/* The last cursor up to the end of its MCU, or to the last one that is wanted. */
static bool finish(struct batch *batch)
{
    struct stk_scan *scan = batch->scan;
    struct scan_part *part = &batch->parts[batch->count - 1];
    struct stk_cursor *cursor = &part->cursor;
    const uint8_t *end = scan->bytes + scan->size;
    uint32_t missing = stk_scan_wanted_blocks(scan) - scan->coefficients.blocks;
    bool last = batch->end >= scan->size;
    while (cursor->masks < part->area.masks + missing &&
           (last || cursor->slot != scan->slots || !stk_cursor_is_between(cursor))) {
        if (cursor->in > end || !stk_cursor_step(cursor)) {
            return false;
        }
    }
    return stk_scan_add_run(scan, &part->area, cursor);
}

/* `bit`: where it begins, then where it ended. */
static bool run_batch(struct batch *batch, uint64_t *bit)
{
    const struct stk_scan *scan = batch->scan;
    unsigned truth = 0;
    bool read = run(batch, 0, batch->count);
    while (read && truth + 1 < batch->count) {
        read = finish_mcu(scan, &batch->parts[truth].cursor) && go_on(batch, truth + 1);
        if (is_complete(scan)) {
            break;
        }
        truth++;
    }
    read = read && (is_complete(scan) || finish(batch));
    *bit = stk_cursor_bit(&batch->parts[truth].cursor, scan->bytes);
    return read;
}

/* ---- all of it ---- */

/* The byte up to which the wanted rows should go. */
static uint32_t guess_end(const struct stk_scan *scan, uint64_t bit)
{
    const struct stk_coefficients *found = &scan->coefficients;
    if (scan->wanted == scan->mcus) {
        return scan->size;
    }
    uint64_t done = found->blocks / found->mcu_blocks, begin = bit / 8;
    uint64_t bytes = (scan->size - begin) * (scan->wanted - done) / (scan->mcus - done);
    uint64_t end = begin + bytes + bytes / 16 + 256;
    return end < scan->size ? (uint32_t)end : scan->size;
}

bool stk_scan_parse_freely(struct stk_scan *scan)
{
    uint64_t bit = 0;
    unsigned areas = STK_MOST_AREAS / STK_MOST_CURSORS;
    for (; areas > 0 && !is_complete(scan); areas--) {
        struct batch batch = {.scan = scan, .end = areas > 1 ? guess_end(scan, bit) : scan->size};
        make_batch(&batch, bit);
        if (!run_batch(&batch, &bit) || bit > (uint64_t)8 * scan->size) {
            return false;
        }
    }
    bool all = scan->wanted == scan->mcus;
    return is_complete(scan) && (!all || bit + 8 > (uint64_t)8 * scan->size);
}

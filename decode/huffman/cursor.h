/*
 * A place in a scan where symbols are read, and a place in memory where their coefficients are
 * written.
 *
 * The bytes of the scan are without stuffing, and STK_SCAN_SLACK more may be read behind them. A
 * cursor's `slot` is the block of the MCU that it is in; the slots of an MCU form a ring.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "decode/common/coefficients.h"
#include "decode/huffman/code_table.h"

#define STK_SCAN_SLACK 64

/* The look-ups that the bits of one refill serve: it gives at least 57 bits. */
#define STK_REFILL_STEPS (57 / STK_TABLE_BITS)

struct stk_mcu_slot {
    const uint64_t *ac;      /* the table of this block behind its first symbol */
    const uint64_t *next_dc; /* the table of the next block's first symbol */
    const struct stk_mcu_slot *next;
    const struct stk_tables_pair *pair;
};

struct stk_cursor {
    const uint8_t *in;     /* the byte of the last refill */
    uint64_t state;        /* bits taken since; then the position in the block; then anything */
    const uint64_t *table; /* the table of the next step */
    const struct stk_mcu_slot *slot;
    int8_t *values;
    uint64_t *masks; /* of this block as far as it was read, and of those behind it */
    struct stk_wide *wide;
    const int8_t *values_base; /* of the scan */
    /* The lock-step ends as soon as one of these is reached. */
    const uint8_t *in_end;
    const uint64_t *masks_end;
};

static inline uint64_t stk_load_bits(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline unsigned stk_cursor_position(const struct stk_cursor *cursor)
{
    return (unsigned)(cursor->state >> 8) & 63;
}

/* Returns true if the cursor stands between two blocks, and not within a symbol. */
static inline bool stk_cursor_is_between(const struct stk_cursor *cursor)
{
    return cursor->table == cursor->slot->pair->dc_table;
}

/* Returns the cursor's place in bits from the beginning of the scan. */
static inline uint64_t stk_cursor_bit(const struct stk_cursor *cursor, const uint8_t *begin)
{
    return 8 * (uint64_t)(cursor->in - begin) + (cursor->state & 0xff);
}

/* Moves the cursor to a bit where an MCU begins. */
static inline void stk_cursor_seek(struct stk_cursor *cursor, const uint8_t *begin, uint64_t bit,
                                   const struct stk_mcu_slot *first)
{
    cursor->in = begin + (bit >> 3);
    cursor->state = bit & 7;
    cursor->slot = first;
    cursor->table = first->pair->dc_table;
}

/* Notes a wide value, and the place of the byte that it does not fit in. */
static inline void stk_cursor_note_wide(struct stk_cursor *cursor, const int8_t *place, int value)
{
    *cursor->wide++ =
        (struct stk_wide){.at = (uint32_t)(place - cursor->values_base), .value = value};
}

/*
 * Reads one symbol of any kind, and its value. Returns false if no symbol can stand here; the
 * cursor has not moved then.
 */
bool stk_cursor_symbol(struct stk_cursor *cursor);

/*
 * Reads on by one look-up. It does not go beyond the end of the block, and past in_end by 4 bytes
 * at most. Returns false as stk_cursor_symbol() does.
 */
bool stk_cursor_step(struct stk_cursor *cursor);

/*
 * Moves several cursors in lock-step, until one of them reaches its own end or cannot read on.
 * Returns the number of the cursor that cannot read on, else -1. A cursor is past its in_end by 32
 * bytes at most, and past its masks_end by STK_MASKS_TOO_FAR masks.
 */
#define STK_MASKS_TOO_FAR 160
typedef int stk_lockstep(struct stk_cursor *const *cursors, unsigned count);

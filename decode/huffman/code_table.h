/*
 * Tables that read up to four symbols, with their values, in one look-up. They are made of a DC and
 * an AC code, and kept for the next image with these codes.
 *
 * An entry, from the lowest bit:
 *    8 bits  the number of bits that it takes
 *    8 bits  the advance of the position in the block, and flags
 *   24 bits  three values of 8 bits
 *    4 bits  the number of the next table, from the AC table on, which is 0
 *    1 bit   there is one value, of 16 bits
 *    3 bits  nothing
 *    3 bits  the number of values
 *   13 bits  the places of the values as a mask, relative to the position
 * The two lowest bytes can be added to a cursor's own.
 *
 * A symbol whose value does not fit in the table's bits is read in two steps: the next table is the
 * one for values of its size.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decode/huffman/code.h"

#ifndef STK_TABLE_BITS
#define STK_TABLE_BITS 11
#endif
#define STK_TABLE_ENTRIES (1u << STK_TABLE_BITS)

/* The block ends. With a position behind its last this also makes STK_ENTRY_ODD. */
#define STK_ENTRY_END 0x8000u
/* A look-up cannot read it: a longer code, a large value, or no code. Positions above 63 set it
 * too. */
#define STK_ENTRY_ODD      0x4000u
#define STK_ENTRY_POSITION 0x3f00u

/* The size of values that fit in a byte; larger values go to a list. */
#define STK_SMALL_BITS 7
/* The size of larger values that have tables too, for a lock-step that takes STK_ENTRY_WIDE. */
#define STK_LARGE_BITS 11
#define STK_ENTRY_WIDE (UINT64_C(1) << 44)

static inline unsigned stk_entry_values(uint64_t entry)
{
    return (unsigned)(entry >> 48) & 7;
}

static inline uint64_t stk_entry_mask(uint64_t entry)
{
    return entry >> 51;
}

/* Returns the value of an entry that is STK_ENTRY_WIDE. */
static inline int stk_entry_wide_value(uint64_t entry)
{
    return (int16_t)(entry >> 16);
}

/* Returns the offset in bytes, from the AC table, of the next step's table, if the block does not
 * end. */
static inline size_t stk_entry_next(uint64_t entry)
{
    return (size_t)(entry >> (40 - STK_TABLE_BITS - 3)) & ((size_t)15 << (STK_TABLE_BITS + 3));
}

/*
 * Makes an open entry: an odd one that knows a symbol's code but not its value, which does not fit
 * in a byte. Bits 16 to 20 are the code's length, 4 bits the value's size, 4 bits the zeros before
 * it.
 */
static inline uint64_t stk_open_entry(unsigned length, unsigned size, unsigned run)
{
    return STK_ENTRY_ODD | (uint64_t)length << 16 | (uint64_t)size << 21 | (uint64_t)run << 25;
}

static inline unsigned stk_open_length(uint64_t entry)
{
    return (unsigned)(entry >> 16) & 31;
}

static inline unsigned stk_open_size(uint64_t entry)
{
    return (unsigned)(entry >> 21) & 15;
}

static inline unsigned stk_open_run(uint64_t entry)
{
    return (unsigned)(entry >> 25) & 15;
}

static inline bool stk_entry_is_open(uint64_t entry)
{
    return (entry & STK_ENTRY_ODD) != 0 && stk_open_size(entry) > 0;
}

struct stk_tables_pair {
    struct stk_code dc, ac;
    uint64_t used; /* the last use, by the cache's own clock; 0: never */
    const uint64_t *dc_table, *ac_table;
    const uint64_t *value_tables; /* for sizes from 1 to STK_LARGE_BITS, one behind the other */
};

/* Returns the size of the values that a table reads; 0 if it is no table of values. */
static inline unsigned stk_value_table_size(const struct stk_tables_pair *pair,
                                            const uint64_t *table)
{
    size_t number = ((uintptr_t)table - (uintptr_t)pair->value_tables) / sizeof *table;
    number /= STK_TABLE_ENTRIES;
    return table >= pair->value_tables && number < STK_LARGE_BITS ? (unsigned)number + 1 : 0;
}

/* The cache belongs to one decoder: it has no locks, and a fork needs no care. */
struct stk_table_cache;

/* `wide`: entries may be STK_ENTRY_WIDE. */
struct stk_table_cache *stk_table_cache_new(bool wide);
void stk_table_cache_free(struct stk_table_cache *cache);
/* Returns the tables of two codes. They stay valid until five other pairs have been requested. */
const struct stk_tables_pair *stk_table_cache_get(struct stk_table_cache *cache,
                                                  const struct stk_code *dc,
                                                  const struct stk_code *ac);

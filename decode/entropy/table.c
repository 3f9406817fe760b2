/*
 * Tables are composed: behind a symbol of n bits stands the table of what may follow in the bits
 * that are left. So the table for each smaller number of bits is made first.
 */
#include "decode/entropy/table.h"

#include <stdlib.h>
#include <string.h>

/* As many as an image can have, and one. */
#define PAIRS       5
#define MOST_VALUES 4
/* A mask's bits: what advances further does not share an entry. */
#define MOST_ADVANCE 13

struct stk_table_cache {
    uint64_t clock;
    /* Tables of all smaller widths: that of w bits begins at entry 1 << w. */
    uint64_t narrow[STK_TABLE_ENTRIES];
    struct stk_tables_pair *pairs[PAIRS];
};

struct stk_table_cache *stk_table_cache_new(void)
{
    return calloc(1, sizeof(struct stk_table_cache));
}

void stk_table_cache_free(struct stk_table_cache *cache)
{
    for (int i = 0; cache && i < PAIRS; i++) {
        free(cache->pairs[i]);
    }
    free(cache);
}

static unsigned advance_of(uint64_t entry)
{
    return (unsigned)(entry >> 8) & 0x3f;
}

static uint64_t make_entry(unsigned bits, unsigned advance, unsigned flags)
{
    return bits | (uint64_t)advance << 8 | flags;
}

static uint64_t add_value(uint64_t entry, int value, unsigned place)
{
    return entry | (uint64_t)(uint8_t)value << 16 | UINT64_C(1) << 48 | UINT64_C(1) << (51 + place);
}

/* One entry for what two say, if there is room in it for both; else the first. */
static uint64_t join(uint64_t first, uint64_t then)
{
    unsigned values = stk_entry_values(first), advance = advance_of(first);
    bool fits = values + stk_entry_values(then) <= MOST_VALUES &&
                (stk_entry_values(then) == 0 || advance + advance_of(then) <= MOST_ADVANCE) &&
                advance + advance_of(then) < 0x40 && !(then & STK_ENTRY_ODD);
    if (!fits) {
        return first;
    }
    uint64_t both = first + (then & 0xffff);
    if (stk_entry_values(then) > 0) {
        uint64_t bytes = (then >> 16 & 0xffffffff) << (16 + 8 * values);
        both += bytes & UINT64_C(0xffffffff0000);
        both += ((uint64_t)stk_entry_values(then) << 48) + (stk_entry_mask(then) << (51 + advance));
    }
    return both;
}

/* What follows in the `width` bits behind a symbol, for all values of these. */
static void put(uint64_t *out, uint64_t head, const uint64_t *rest, unsigned width)
{
    for (size_t i = 0; i < (size_t)1 << width; i++) {
        out[i] = join(head, rest[i]);
    }
}

/* A symbol whose value takes more bits than are left, or than a byte has. */
static void put_open(uint64_t *table, unsigned width, uint32_t prefix, unsigned length,
                     unsigned size, unsigned run)
{
    for (size_t i = 0; size > 0 && i < (size_t)1 << (width - length); i++) {
        table[((size_t)prefix << (width - length)) + i] = stk_open_entry(length, size, run);
    }
}

/* All entries that begin with one symbol; `advance` includes the value's own place. */
static void put_symbol(uint64_t *table, unsigned width, uint32_t prefix, unsigned length,
                       unsigned size, unsigned advance, const uint64_t *narrow)
{
    if (length + size > width || size > STK_SMALL_BITS || advance > MOST_ADVANCE) {
        put_open(table, width, prefix, length, size, advance - 1);
        return;
    }
    unsigned left = width - length - size;
    for (unsigned bits = 0; bits < 1u << size; bits++) {
        uint64_t head = make_entry(length + size, advance, 0);
        head = size > 0 ? add_value(head, stk_value_of(bits, size), advance - 1) : head;
        put(table + ((size_t)(prefix << size | bits) << left), head, narrow + ((size_t)1 << left),
            left);
    }
}

static void put_end(uint64_t *table, unsigned width, uint32_t prefix, unsigned length)
{
    for (size_t i = 0; length <= width && i < (size_t)1 << (width - length); i++) {
        table[((size_t)prefix << (width - length)) + i] = make_entry(length, 0, STK_ENTRY_END);
    }
}

/* Sixteen zeros, which need no place in a mask. */
static void put_zeros(uint64_t *table, unsigned width, uint32_t prefix, unsigned length)
{
    for (size_t i = 0; length <= width && i < (size_t)1 << (width - length); i++) {
        table[((size_t)prefix << (width - length)) + i] = make_entry(length, 16, 0);
    }
}

static void put_ac(uint64_t *table, unsigned width, uint32_t prefix, unsigned length,
                   unsigned symbol, const uint64_t *narrow)
{
    unsigned size = stk_symbol_size(symbol), run = stk_symbol_run(symbol);
    if (size > 0) {
        put_symbol(table, width, prefix, length, size, run + 1, narrow);
    } else if (run == 15) {
        put_zeros(table, width, prefix, length);
    } else {
        put_end(table, width, prefix, length);
    }
}

static void fill(uint64_t *table, unsigned width, const struct stk_code *code, bool dc,
                 const uint64_t *narrow)
{
    for (size_t i = 0; i < (size_t)1 << width; i++) {
        table[i] = STK_ENTRY_ODD;
    }
    uint32_t place = 0;
    for (unsigned length = 1; length <= STK_CODE_LONGEST && length <= width; length++) {
        for (unsigned i = 0; i < code->lengths[length - 1]; i++, place++) {
            uint32_t prefix = (uint32_t)((int32_t)place - code->offset[length]);
            if (dc) {
                put_symbol(table, width, prefix, length, code->symbols[place], 1, narrow);
            } else {
                put_ac(table, width, prefix, length, code->symbols[place], narrow);
            }
        }
    }
}

static void make_pair(struct stk_table_cache *cache, struct stk_tables_pair *pair)
{
    uint64_t *narrow = cache->narrow;
    for (unsigned width = 0; width < STK_TABLE_BITS; width++) {
        fill(narrow + ((size_t)1 << width), width, &pair->ac, false, narrow);
    }
    fill(pair->ac_table, STK_TABLE_BITS, &pair->ac, false, narrow);
    fill(pair->dc_table, STK_TABLE_BITS, &pair->dc, true, narrow);
}

/* The pair of these codes, or else the one that was not asked for for the longest time. */
static struct stk_tables_pair **find(struct stk_table_cache *cache, const struct stk_code *dc,
                                     const struct stk_code *ac)
{
    struct stk_tables_pair **oldest = &cache->pairs[0];
    for (int i = 0; i < PAIRS; i++) {
        struct stk_tables_pair **at = &cache->pairs[i];
        if (*at && (*at)->used && stk_code_equal(&(*at)->ac, ac) &&
            stk_code_equal(&(*at)->dc, dc)) {
            return at;
        }
        if (*oldest && (!*at || (*at)->used < (*oldest)->used)) {
            oldest = at;
        }
    }
    if (*oldest) {
        (*oldest)->used = 0;
    }
    return oldest;
}

const struct stk_tables_pair *stk_table_cache_get(struct stk_table_cache *cache,
                                                  const struct stk_code *dc,
                                                  const struct stk_code *ac)
{
    struct stk_tables_pair **at = find(cache, dc, ac);
    *at = *at ? *at : calloc(1, sizeof **at);
    if (!*at) {
        return NULL;
    }
    if (!(*at)->used) {
        (*at)->dc = *dc;
        (*at)->ac = *ac;
        make_pair(cache, *at);
    }
    (*at)->used = ++cache->clock;
    return *at;
}

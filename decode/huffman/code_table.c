/*
 * A table for k bits is made of smaller ones. After a symbol of n bits, k - n bits of the index
 * remain, and the table for k - n bits fills that part. So smaller tables are made first.
 */
#include "decode/huffman/code_table.h"

#include <stdlib.h>
#include <string.h>

/* As many as an image can have, and one. */
#define PAIRS       5
#define MOST_VALUES 3
_Static_assert(PAIRS + STK_LARGE_BITS - 1 < 16, "an entry has four bits for the next table");
_Static_assert(STK_LARGE_BITS <= STK_TABLE_BITS, "a table of values is looked up once");
/* A mask's bits: what advances further does not share an entry. */
#define MOST_ADVANCE 13

/* Values stand behind the AC tables, so that entries of each of these can say how far. */
struct stk_table_cache {
    uint64_t clock;
    unsigned value_bits; /* the largest size of a value that entries lead to the table of */
    struct stk_tables_pair pairs[PAIRS];
    uint64_t ac[PAIRS][STK_TABLE_ENTRIES];
    uint64_t values[STK_LARGE_BITS][STK_TABLE_ENTRIES];
    uint64_t dc[PAIRS][STK_TABLE_ENTRIES];
    /* Tables of all smaller widths: that of w bits begins at entry 1 << w. */
    uint64_t narrow[STK_TABLE_ENTRIES];
};

/* ---- entries ---- */

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
        both += (then >> 16 & 0xffffff) << (16 + 8 * values);
        both += ((uint64_t)stk_entry_values(then) << 48) + (stk_entry_mask(then) << (51 + advance));
    }
    return both;
}

/* ---- tables ---- */

/* A table that is being filled. */
struct table_filling {
    uint64_t *table;
    unsigned width;         /* in bits */
    const uint64_t *narrow; /* the tables of smaller widths */
    /* At full width: how many tables behind this one's AC table those of values begin. */
    unsigned values_behind, value_bits;
    bool full;
};

/* Writes the entries for a symbol and all values of the `width` bits behind it. */
static void put(uint64_t *out, uint64_t head, const uint64_t *rest, unsigned width)
{
    for (size_t i = 0; i < (size_t)1 << width; i++) {
        out[i] = join(head, rest[i]);
    }
}

/* Writes one entry for all bits that begin with these. */
static void put_all(const struct table_filling *to, uint32_t prefix, unsigned length,
                    uint64_t entry)
{
    unsigned left = to->width - length;
    for (size_t i = 0; i < (size_t)1 << left; i++) {
        to->table[((size_t)prefix << left) + i] = entry;
    }
}

/* A symbol whose value takes more bits than are left, or than a byte has. An entry can name
 * sixteen tables of values. */
static void put_open(const struct table_filling *to, uint32_t prefix, unsigned length,
                     unsigned size, unsigned run)
{
    if (!to->full) {
        return; /* where it comes second, it waits for the next step */
    }
    uint64_t entry = stk_open_entry(length, size, run);
    if (size <= to->value_bits) {
        entry = make_entry(length, run, 0) | (uint64_t)(to->values_behind + size - 1) << 40;
    }
    put_all(to, prefix, length, entry);
}

/* All entries that begin with one symbol, behind so many zeros. */
static void put_symbol(const struct table_filling *to, uint32_t prefix, unsigned length,
                       unsigned size, unsigned run)
{
    if (length + size > to->width || size > STK_SMALL_BITS || run >= MOST_ADVANCE) {
        put_open(to, prefix, length, size, run);
        return;
    }
    unsigned left = to->width - length - size;
    for (unsigned bits = 0; bits < 1u << size; bits++) {
        uint64_t head = make_entry(length + size, run + 1, 0);
        head = size > 0 ? add_value(head, stk_value_of(bits, size), run) : head;
        put(to->table + ((size_t)(prefix << size | bits) << left), head,
            to->narrow + ((size_t)1 << left), left);
    }
}

static void put_ac(const struct table_filling *to, uint32_t prefix, unsigned length,
                   unsigned symbol)
{
    unsigned size = stk_symbol_size(symbol), run = stk_symbol_run(symbol);
    if (size > 0) {
        put_symbol(to, prefix, length, size, run);
    } else if (run == 15) {
        put_all(to, prefix, length, make_entry(length, 16, 0));
    } else {
        put_all(to, prefix, length, make_entry(length, 0, STK_ENTRY_END));
    }
}

static void fill(const struct table_filling *to, const struct stk_code *code, bool dc)
{
    for (size_t i = 0; i < (size_t)1 << to->width; i++) {
        to->table[i] = STK_ENTRY_ODD;
    }
    uint32_t place = 0;
    for (unsigned length = 1; length <= STK_CODE_LONGEST && length <= to->width; length++) {
        for (unsigned i = 0; i < code->lengths[length - 1]; i++, place++) {
            uint32_t prefix = (uint32_t)((int32_t)place - code->offset[length]);
            if (dc) {
                put_symbol(to, prefix, length, code->symbols[place], 0);
            } else {
                put_ac(to, prefix, length, code->symbols[place]);
            }
        }
    }
}

static void fill_values(uint64_t *table, unsigned size)
{
    unsigned left = STK_TABLE_BITS - size;
    for (size_t i = 0; i < STK_TABLE_ENTRIES; i++) {
        int value = stk_value_of((unsigned)(i >> left), size);
        table[i] = add_value(make_entry(size, 1, 0), value, 0);
        if (size > STK_SMALL_BITS) {
            table[i] |= STK_ENTRY_WIDE | (uint64_t)(uint16_t)value << 16;
        }
    }
}

/* ---- the cache ---- */

struct stk_table_cache *stk_table_cache_new(bool wide)
{
    struct stk_table_cache *cache = calloc(1, sizeof *cache);
    if (cache) {
        cache->value_bits = wide ? STK_LARGE_BITS : STK_SMALL_BITS;
    }
    for (unsigned i = 0; cache && i < cache->value_bits; i++) {
        fill_values(cache->values[i], i + 1);
    }
    for (unsigned i = 0; cache && i < PAIRS; i++) {
        cache->pairs[i].ac_table = cache->ac[i];
        cache->pairs[i].dc_table = cache->dc[i];
        cache->pairs[i].value_tables = cache->values[0];
    }
    return cache;
}

void stk_table_cache_free(struct stk_table_cache *cache)
{
    free(cache);
}

static void make_pair(struct stk_table_cache *cache, unsigned number)
{
    const struct stk_tables_pair *pair = &cache->pairs[number];
    struct table_filling to = {
        .narrow = cache->narrow, .values_behind = PAIRS - number, .value_bits = cache->value_bits};
    for (to.width = 0; to.width < STK_TABLE_BITS; to.width++) {
        to.table = cache->narrow + ((size_t)1 << to.width);
        fill(&to, &pair->ac, false);
    }
    to.full = true;
    to.table = cache->ac[number];
    fill(&to, &pair->ac, false);
    to.table = cache->dc[number];
    fill(&to, &pair->dc, true);
}

/* The pair of these codes, or else the one that was not asked for for the longest time. */
static unsigned find(struct stk_table_cache *cache, const struct stk_code *dc,
                     const struct stk_code *ac)
{
    unsigned oldest = 0;
    for (unsigned i = 0; i < PAIRS; i++) {
        const struct stk_tables_pair *at = &cache->pairs[i];
        if (at->used && stk_code_equal(&at->ac, ac) && stk_code_equal(&at->dc, dc)) {
            return i;
        }
        oldest = at->used < cache->pairs[oldest].used ? i : oldest;
    }
    cache->pairs[oldest].used = 0;
    return oldest;
}

const struct stk_tables_pair *stk_table_cache_get(struct stk_table_cache *cache,
                                                  const struct stk_code *dc,
                                                  const struct stk_code *ac)
{
    unsigned number = find(cache, dc, ac);
    struct stk_tables_pair *pair = &cache->pairs[number];
    if (!pair->used) {
        pair->dc = *dc;
        pair->ac = *ac;
        make_pair(cache, number);
    }
    pair->used = ++cache->clock;
    return pair;
}

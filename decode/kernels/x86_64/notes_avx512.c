/*
 * Cursors in lock-step for processors that compress bytes. A look-up only notes its entry; the
 * values and masks of eight entries at a time are written afterwards. That leaves half as many
 * instructions for each look-up. decode/kernels/lanes.h has the lock-step without notes.
 *
 * The masks of the entries of one block have no bit in common, so their sum is the block's mask.
 * Since sums wrap, it is also the sum of all entries up to the block's end, less the sum up to its
 * beginning. So the borders of blocks do not matter among the eight.
 */
#include "decode/kernels/lane.h"
#include "decode/kernels/kernels.h"

#include <immintrin.h>

#define FEATURES "bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi2"
#define TARGET   __attribute__((target(FEATURES)))
#define INLINE   static inline __attribute__((target(FEATURES), always_inline))

#define ROUNDS 32
#define NOTES  (ROUNDS * STK_REFILL_STEPS)
#define LANES  4

_Static_assert(NOTES <= STK_MASKS_TOO_FAR, "no more blocks may end in one go");

/* The entries that one lane has looked up, and the states before: their bits 8 to 13 are positions.
 */
struct notes {
    uint64_t entries[NOTES + 8];
    uint16_t states[NOTES + 8];
    uint64_t sums[NOTES + 16]; /* up to the end of each block, behind that of what came before */
    unsigned from;             /* what is before has been written */
};

struct note_group {
    __m512i entries, positions;
};

/* `which` of eight; the others are as if they said nothing. */
INLINE struct note_group load(const struct notes *notes, unsigned at, __mmask8 which)
{
    __m128i states = _mm_loadu_si128((const void *)(notes->states + at));
    __m512i places = _mm512_srli_epi64(_mm512_cvtepu16_epi64(states), 8);
    return (struct note_group){
        .entries = _mm512_maskz_loadu_epi64(which, notes->entries + at),
        .positions = _mm512_and_si512(places, _mm512_set1_epi64(STK_BLOCK_SIZE - 1)),
    };
}

/* The values of eight entries stand in their bytes 2 to 4, and how many in the byte 6. */
INLINE int8_t *put_values(int8_t *out, __m512i entries)
{
    const __m512i from = _mm512_broadcast_i32x4(
        _mm_setr_epi8(-1, -1, 6, 6, 6, -1, -1, -1, -1, -1, 14, 14, 14, -1, -1, -1));
    const __m512i place = _mm512_set1_epi64(0x0201000000);
    __m512i count = _mm512_and_si512(_mm512_shuffle_epi8(entries, from), _mm512_set1_epi8(7));
    __mmask64 there = _mm512_cmpgt_epu8_mask(count, place);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(there, entries));
    return out + __builtin_popcountll(there);
}

/* Each of eight, and all before it. */
INLINE __m512i sum_up(__m512i each)
{
    const __m512i zero = _mm512_setzero_si512();
    each = _mm512_add_epi64(each, _mm512_alignr_epi64(each, zero, 7));
    each = _mm512_add_epi64(each, _mm512_alignr_epi64(each, zero, 6));
    return _mm512_add_epi64(each, _mm512_alignr_epi64(each, zero, 4));
}

/* The masks of the blocks that have ended, from their sums; `open` is that of all. */
INLINE void put_masks(struct stk_cursor *cursor, const struct notes *notes, unsigned ended,
                      uint64_t open)
{
    for (unsigned i = 0; i < ended; i += 8) {
        __m512i end = _mm512_loadu_si512(notes->sums + i + 1);
        __m512i begin = _mm512_loadu_si512(notes->sums + i);
        _mm512_storeu_si512(cursor->masks + i, _mm512_sub_epi64(end, begin));
    }
    cursor->masks += ended;
    *cursor->masks = open - notes->sums[ended];
}

/* The values that no byte holds, by their places; `values` is that of the first of eight notes. */
TARGET static void put_wide(struct stk_cursor *cursor, const int8_t *values, __m512i eight,
                            unsigned wide)
{
    _Alignas(64) uint64_t entries[8];
    _mm512_store_si512(entries, eight);
    for (unsigned i = 0; wide >> i != 0; i++) {
        if (wide >> i & 1) {
            stk_cursor_note_wide(cursor, values, stk_entry_wide_value(entries[i]));
        }
        values += stk_entry_values(entries[i]);
    }
}

/* Writes what has been noted up to `end`. */
TARGET static void write_notes(struct stk_cursor *cursor, struct notes *notes, unsigned end)
{
    const __m512i last = _mm512_set1_epi64(7);
    __m512i before = _mm512_set1_epi64((int64_t)*cursor->masks);
    unsigned ended = 0;
    int8_t *values = cursor->values;
    notes->sums[0] = 0;
    for (unsigned at = notes->from; at < end; at += 8) {
        __mmask8 which = (__mmask8)_bzhi_u32(0xff, end - at < 8 ? end - at : 8);
        struct note_group group = load(notes, at, which);
        __m512i masks = _mm512_sllv_epi64(_mm512_srli_epi64(group.entries, 51), group.positions);
        __m512i sums = _mm512_add_epi64(sum_up(masks), before);
        __mmask8 ends = _mm512_test_epi64_mask(group.entries, _mm512_set1_epi64(STK_ENTRY_END));
        _mm512_storeu_si512(notes->sums + 1 + ended, _mm512_maskz_compress_epi64(ends, sums));
        ended += (unsigned)__builtin_popcount(ends);
        __mmask8 wide = _mm512_test_epi64_mask(group.entries, _mm512_set1_epi64(STK_ENTRY_WIDE));
        if (__builtin_expect(wide != 0, 0)) {
            put_wide(cursor, values, group.entries, wide);
        }
        values = put_values(values, group.entries);
        before = _mm512_permutexvar_epi64(last, sums);
    }
    cursor->values = values;
    put_masks(cursor, notes, ended, (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(before)));
}

/* ---- looking up ---- */

/* If the state says that the block has ended: the next one's table, and position 0. By conditional
 * moves, as the end of a block cannot be foreseen. */
INLINE void end_block(struct stk_lane *lane)
{
    __asm__("testl $0x8000, %k[state]\n\t"
            "cmovnz %c[next_dc](%[slot]), %[table]\n\t"
            "cmovnz %c[next](%[slot]), %[slot]\n\t"
            "cmovnz %[bits], %[state]"
            : [table] "+r"(lane->table), [slot] "+r"(lane->slot), [state] "+r"(lane->state)
            : [next_dc] "i"(offsetof(struct stk_mcu_slot, next_dc)),
              [next] "i"(offsetof(struct stk_mcu_slot, next)), [bits] "r"(lane->state & 0xff),
              "m"(*lane->slot)
            : "cc");
}

/* A symbol whose code takes more bits than a table has; -1: none, or one without a value. */
INLINE int long_symbol(const struct stk_lane *lane, unsigned *length)
{
    const struct stk_tables_pair *pair = lane->slot->pair;
    const struct stk_code *code = lane->state & STK_ENTRY_POSITION ? &pair->ac : &pair->dc;
    uint32_t bits = (uint32_t)(lane->window >> (64 - STK_CODE_LONGEST));
    return stk_code_read(code, bits, STK_TABLE_BITS + 1, length);
}

/* Reads a value behind a code of so many bits, and notes it. */
INLINE void note_value(struct stk_lane *lane, struct notes *notes, unsigned at, unsigned length,
                       unsigned size, unsigned place)
{
    lane->state += length;
    stk_lane_refill(lane);
    int value = stk_value_of((unsigned)(lane->window >> (64 - size)), size);
    notes->entries[at] = (uint64_t)(uint16_t)value << 16 | UINT64_C(1) << 48 | UINT64_C(1) << 51 |
                         (size > STK_SMALL_BITS ? STK_ENTRY_WIDE : 0);
    notes->states[at] = (uint16_t)(place << 8);
    lane->window <<= size;
    lane->state = (lane->state & 7) + size + ((uint64_t)(place + 1) << 8);
    lane->table = lane->slot->ac;
}

/* Reads a rare symbol, after all notes were written. Its own place in the notes means nothing. */
TARGET static bool read_symbol(struct stk_lane *lane, struct stk_cursor *cursor,
                               struct notes *notes, unsigned at)
{
    write_notes(cursor, notes, at);
    notes->from = at + 1;
    lane->values = cursor->values;
    lane->masks = cursor->masks;
    bool read = stk_lane_symbol(lane, cursor);
    cursor->values = lane->values;
    cursor->masks = lane->masks;
    return read;
}

/* Reads a symbol that takes more than a look-up. */
INLINE bool odd(struct stk_lane *lane, struct stk_cursor *cursor, struct notes *notes, unsigned at,
                uint64_t entry)
{
    unsigned length = stk_open_length(entry), size = stk_open_size(entry);
    unsigned place = (unsigned)(lane->state >> 8 & 63) + stk_open_run(entry);
    if (entry == STK_ENTRY_ODD) {
        stk_lane_refill(lane);
        int symbol = long_symbol(lane, &length);
        size = symbol < 0 ? 0 : stk_symbol_size((unsigned)symbol);
        place += symbol < 0 ? 0 : stk_symbol_run((unsigned)symbol);
    }
    if (!(entry & STK_ENTRY_ODD) || size == 0 || place >= STK_BLOCK_SIZE - 1) {
        return read_symbol(lane, cursor, notes, at);
    }
    note_value(lane, notes, at, length, size, place);
    return true;
}

INLINE bool step(struct stk_lane *lane, struct stk_cursor *cursor, struct notes *notes, unsigned at)
{
    uint64_t entry = lane->table[lane->window >> (64 - STK_TABLE_BITS)];
    uint64_t state = lane->state + entry;
    if (__builtin_expect((state & STK_ENTRY_ODD) != 0, 0)) {
        return odd(lane, cursor, notes, at, entry);
    }
    notes->entries[at] = entry;
    notes->states[at] = (uint16_t)lane->state;
    lane->window <<= entry & 63;
    lane->table = (const uint64_t *)((uintptr_t)lane->slot->ac + stk_entry_next(entry));
    lane->state = state;
    end_block(lane);
    return true;
}

INLINE void leave(const struct stk_lane *lane, struct stk_cursor *cursor)
{
    cursor->state = lane->state;
    cursor->table = lane->table;
    cursor->slot = lane->slot;
    cursor->in = lane->in;
}

#define LEAVE(lane, number)   leave(lane, cursors[number])
#define GOES_ON(lane, number) goes_on &= (lane)->in < cursors[number]->in_end
#define HAS_ROOM(lane, number)                                                                     \
    notes[number].from = 0;                                                                        \
    goes_on &= cursors[number]->masks < cursors[number]->masks_end
#define STEP(lane, number)                                                                         \
    if (!step(lane, cursors[number], &notes[number], at)) {                                        \
        stopped = number;                                                                          \
        goto write;                                                                                \
    }
#define WRITE(lane, number)                                                                        \
    write_notes(cursors[number], &notes[number], at + (unsigned)(number < stopped))

INLINE int run(struct stk_cursor *const *cursors, const unsigned count)
{
    struct notes notes[LANES];
    struct stk_lane a, b, c, d;
    int stopped = -1;
    bool goes_on = true;
    unsigned at = 0;
    STK_EACH_LANE(STK_ENTER);
    STK_EACH_LANE(HAS_ROOM);
    while (goes_on) {
        for (at = 0; at < NOTES;) {
            STK_EACH_LANE(GOES_ON);
            if (!goes_on) {
                break;
            }
            STK_EACH_LANE(STK_REFILL);
            for (unsigned i = 0; i < STK_REFILL_STEPS; i++, at++) {
                STK_EACH_LANE(STEP);
            }
        }
    write:
        STK_EACH_LANE(WRITE);
        STK_EACH_LANE(HAS_ROOM);
        goes_on &= stopped < 0;
    }
    STK_EACH_LANE(LEAVE);
    return stopped;
}

TARGET int stk_avx512_lockstep(struct stk_cursor *const *cursors, unsigned count)
{
    return STK_RUN_LANES(run, cursors, count);
}

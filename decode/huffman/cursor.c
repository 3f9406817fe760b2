/* One symbol at a time: what the tables leave over. */
#include "decode/huffman/cursor.h"

static void end_block(struct stk_cursor *cursor)
{
    *++cursor->masks = 0;
    cursor->state &= 0xff;
    cursor->table = cursor->slot->next_dc;
    cursor->slot = cursor->slot->next;
}

static void put_value(struct stk_cursor *cursor, unsigned position, int value)
{
    if (value < -127 || value > 127) {
        stk_cursor_note_wide(cursor, cursor->values, value);
    }
    *cursor->values++ = (int8_t)value;
    *cursor->masks |= UINT64_C(1) << position;
}

/* The position behind a symbol; more than 64 where it leads beyond the block. */
static unsigned read_value(struct stk_cursor *cursor, uint64_t window, unsigned length,
                           unsigned size, unsigned position)
{
    if (size > 0 && position < STK_BLOCK_SIZE) {
        unsigned bits = (unsigned)(window << length >> (64 - size));
        put_value(cursor, position, stk_value_of(bits, size));
    }
    return position + 1;
}

bool stk_cursor_symbol(struct stk_cursor *cursor)
{
    unsigned taken = (unsigned)cursor->state & 0xff, position = stk_cursor_position(cursor);
    const uint8_t *in = cursor->in + (taken >> 3);
    uint64_t window = stk_load_bits(in) << (taken & 7);
    const struct stk_tables_pair *pair = cursor->slot->pair;
    unsigned length = 0;
    int symbol = (int)stk_value_table_size(pair, cursor->table); /* its code was read before */
    if (symbol == 0) {
        symbol = stk_code_read(position == 0 ? &pair->dc : &pair->ac,
                               (uint32_t)(window >> (64 - STK_CODE_LONGEST)), 1, &length);
    }
    if (symbol < 0) {
        return false;
    }
    unsigned size = stk_symbol_size((unsigned)symbol), run = stk_symbol_run((unsigned)symbol);
    bool end = position > 0 && size == 0 && run < 15;
    if (!end) {
        position = read_value(cursor, window, length, size, position + run);
    }
    if (position > STK_BLOCK_SIZE || (position == STK_BLOCK_SIZE && size == 0)) {
        return false;
    }
    cursor->in = in;
    cursor->state = (taken & 7) + length + size;
    cursor->state += position < STK_BLOCK_SIZE ? (uint64_t)position << 8 : 0;
    cursor->table = cursor->slot->ac;
    if (end || position == STK_BLOCK_SIZE) {
        end_block(cursor);
    }
    return true;
}

bool stk_cursor_step(struct stk_cursor *cursor)
{
    unsigned taken = (unsigned)cursor->state & 0xff, position = stk_cursor_position(cursor);
    uint64_t window = stk_load_bits(cursor->in + (taken >> 3)) << (taken & 7);
    uint64_t entry = cursor->table[window >> (64 - STK_TABLE_BITS)];
    uint64_t state = ((uint64_t)position << 8 | (taken & 7)) + entry;
    if (state & STK_ENTRY_ODD) {
        return stk_cursor_symbol(cursor);
    }
    uint32_t four = (uint32_t)(entry >> 16);
    memcpy(cursor->values, &four, sizeof four);
    if (entry & STK_ENTRY_WIDE) {
        stk_cursor_note_wide(cursor, cursor->values, stk_entry_wide_value(entry));
    }
    cursor->values += stk_entry_values(entry);
    *cursor->masks |= stk_entry_mask(entry) << position;
    cursor->in += taken >> 3;
    cursor->state = state & (STK_ENTRY_POSITION | 0xff);
    cursor->table = cursor->slot->ac + stk_entry_next(entry) / sizeof *cursor->table;
    if (state & STK_ENTRY_END) {
        end_block(cursor);
    }
    return true;
}

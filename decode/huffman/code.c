/* Codes from the lengths and symbols of a file's table. */
#include "decode/huffman/code.h"

#include <string.h>

/* The first code of each length is twice the last one's successor; no code is all ones. */
static bool number_codes(struct stk_code *code)
{
    uint32_t next = 0, place = 0;
    for (unsigned l = 1; l <= STK_CODE_LONGEST; l++) {
        next <<= 1;
        code->offset[l] = (int32_t)place - (int32_t)next;
        next += code->lengths[l - 1];
        place += code->lengths[l - 1];
        if (code->lengths[l - 1] > 0 && next >= 1u << l) {
            return false;
        }
        code->limit[l] = next << (STK_CODE_LONGEST - l);
    }
    return true;
}

bool stk_code_make(struct stk_code *code, const uint8_t *lengths, const uint8_t *symbols, bool dc)
{
    uint32_t count = 0;
    for (unsigned l = 0; l < STK_CODE_LONGEST; l++) {
        count += lengths[l];
    }
    if (count > 256) {
        return false;
    }
    memset(code, 0, sizeof *code);
    code->count = count;
    memcpy(code->lengths, lengths, sizeof code->lengths);
    memcpy(code->symbols, symbols, count);
    for (uint32_t i = 0; dc && i < count; i++) {
        if (symbols[i] > 15) {
            return false;
        }
    }
    return number_codes(code);
}

bool stk_code_equal(const struct stk_code *a, const struct stk_code *b)
{
    return a->count == b->count && memcmp(a->lengths, b->lengths, sizeof a->lengths) == 0 &&
           memcmp(a->symbols, b->symbols, a->count) == 0;
}

/*
 * A Huffman code of a JPEG as its canonical numbers, read one symbol at a time.
 *
 * Codes that libjpeg rejects are rejected here too, so libjpeg reports the error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STK_CODE_LONGEST 16

struct stk_code {
    /* The first 16 bits of a stream are below limit[l] if they begin with a code of at most l bits.
     */
    uint32_t limit[STK_CODE_LONGEST + 1];
    int32_t offset[STK_CODE_LONGEST + 1]; /* from a code of length l to its symbol's place */
    uint32_t count;                       /* of symbols */
    /* The code as the file has it: the number of codes of each length from 1 on, the symbols in
     * order. */
    uint8_t lengths[STK_CODE_LONGEST];
    uint8_t symbols[256];
};

/* A symbol of an AC code holds a run of zeros and the size of the value behind it. */
static inline unsigned stk_symbol_run(unsigned symbol)
{
    return symbol >> 4;
}

static inline unsigned stk_symbol_size(unsigned symbol)
{
    return symbol & 15;
}

/* Returns the value that the bits behind a symbol mean: of that size, from the lowest one up. */
static inline int stk_value_of(unsigned bits, unsigned size)
{
    return size == 0 || bits >> (size - 1) ? (int)bits : (int)bits - (1 << size) + 1;
}

/*
 * Makes a code. `lengths` are as in the struct, `symbols` has 256 entries. Returns false if a
 * decoder may not use this code. The symbols of a DC code may only be sizes.
 */
bool stk_code_make(struct stk_code *code, const uint8_t *lengths, const uint8_t *symbols, bool dc);

/* Returns the symbol at the beginning of 16 bits, and how many of them it takes: `least` or more.
 * Returns -1 if there is none. */
static inline int stk_code_read(const struct stk_code *code, uint32_t bits, unsigned least,
                                unsigned *length)
{
    unsigned l = least;
    while (l <= STK_CODE_LONGEST && bits >= code->limit[l]) {
        l++;
    }
    if (l > STK_CODE_LONGEST) {
        return -1;
    }
    *length = l;
    return code->symbols[(int32_t)(bits >> (STK_CODE_LONGEST - l)) + code->offset[l]];
}

bool stk_code_equal(const struct stk_code *a, const struct stk_code *b);

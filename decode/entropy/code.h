/*
 * A Huffman code of a JPEG as its canonical numbers, and one symbol of it at a time.
 *
 * What libjpeg refuses as a code is refused here, so that it is libjpeg that says so.
 */
#ifndef STK_DECODE_ENTROPY_CODE_H
#define STK_DECODE_ENTROPY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STK_CODE_LONGEST 16

struct stk_code {
    /* The first 16 bits of a stream are below limit[l] if the code they begin with has at most l.
     */
    uint32_t limit[STK_CODE_LONGEST + 1];
    int32_t offset[STK_CODE_LONGEST + 1]; /* from a code of length l to its symbol's place */
    uint32_t count;                       /* of symbols */
    /* What it was made of: the number of codes of each length from 1 on, the symbols in order. */
    uint8_t lengths[STK_CODE_LONGEST];
    uint8_t symbols[256];
};

/* A run of zeros and the size of the value behind it, as symbols of AC codes say both. */
static inline unsigned stk_symbol_run(unsigned symbol)
{
    return symbol >> 4;
}

static inline unsigned stk_symbol_size(unsigned symbol)
{
    return symbol & 15;
}

/* What the bits behind a symbol mean: values of that size, from the least negative one up. */
static inline int stk_value_of(unsigned bits, unsigned size)
{
    return size == 0 || bits >> (size - 1) ? (int)bits : (int)bits - (1 << size) + 1;
}

/*
 * `lengths` as above, `symbols` has room for 256 of them. False: no code that a decoder may use; DC
 * codes may only have sizes as symbols.
 */
bool stk_code_make(struct stk_code *code, const uint8_t *lengths, const uint8_t *symbols, bool dc);

/* The symbol at the beginning of 16 bits, and how many of them it takes; -1: none. */
static inline int stk_code_read(const struct stk_code *code, uint32_t bits, unsigned *length)
{
    unsigned l = 1;
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

#endif

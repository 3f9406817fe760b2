/* Little-endian numbers at any address. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline void stk_put_little(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline uint64_t stk_get_little(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)from[i] << 8 * i;
    }
    return value;
}

/* Eight bytes: compilers do not see that the above could be one load or store. */
static inline uint64_t stk_in_little(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t stk_get_word(const void *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return stk_in_little(word);
}

static inline void stk_put_word(void *out, uint64_t word)
{
    word = stk_in_little(word);
    memcpy(out, &word, sizeof word);
}

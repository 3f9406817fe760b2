/*
 * The layout of a form around its groups (docs/coefficient-form.md): a head of fixed size, the
 * file's header, what libjpeg is set up with, the index, the groups, some zeros. Numbers are
 * little-endian, at any address.
 */
#ifndef STK_DECODE_FORM_FORM_H
#define STK_DECODE_FORM_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "decode/decode.h"

/* Zeros at the end: so far behind what is meant bytes may be read. */
#define STK_FORM_SLACK 8
/* MCU rows of a group. */
#define STK_GROUP_MOST_ROWS 16

struct stk_form_view {
    struct stk_form_source source;
    /* A header for libjpeg of a file with the form's coefficients in one sequential scan. */
    const uint8_t *setup;
    size_t setup_bytes;
    uint32_t group_rows;
    uint32_t group_count;
    const uint8_t *index; /* for each group where it ends, behind the beginning of the groups */
    const uint8_t *groups;
    uint32_t groups_bytes;
};

/* Checks everything but the groups. Results as of stk_decode_form(). */
int stk_form_open(struct stk_form_view *view, const void *data, size_t bytes);
/* False: no such group, or not within the form. It may be read STK_FORM_SLACK too far. */
bool stk_form_find_group(const struct stk_form_view *view, uint32_t number, const uint8_t **begin,
                         const uint8_t **end);

/* How many bytes stand before the groups; 0: too many. `groups` need not be set. */
size_t stk_form_head_bytes(const struct stk_form_view *view);
/* Writes these, but the index, whose place it returns; `bytes` of the whole form. */
uint8_t *stk_form_write_head(uint8_t *out, const struct stk_form_view *view, size_t bytes);

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

#endif

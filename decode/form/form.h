/*
 * The layout of a form around its groups (docs/coefficient-form.md): a head of fixed size, the
 * file's header, the header for libjpeg, the index, the groups, some zeros. Numbers are
 * little-endian, at any address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/common/decode_types.h"

/* Zeros at the end: so many bytes behind a group may be read. */
#define STK_FORM_SLACK 8
/* MCU rows of a group. */
#define STK_GROUP_MOST_ROWS 16

struct stk_form_view {
    struct stk_form_source source;
    /* A header for libjpeg: of a file with the form's coefficients in one sequential scan. */
    const uint8_t *setup;
    size_t setup_bytes;
    uint32_t group_rows;
    uint32_t group_count;
    const uint8_t
        *index; /* for each group the offset of its end, from the beginning of the groups */
    const uint8_t *groups;
    uint32_t groups_bytes;
};

/* Opens a form, and checks everything but the groups. Results as those of stk_decode_form(). */
int stk_form_open(struct stk_form_view *view, const void *data, size_t bytes);
/* Finds a group. Returns false if there is no such group, or if it does not lie within the form.
 * STK_FORM_SLACK bytes behind it may be read. */
bool stk_form_find_group(const struct stk_form_view *view, uint32_t number, const uint8_t **begin,
                         const uint8_t **end);

/* Returns the bytes before the groups; 0 if they are too many. `groups` need not be set. */
size_t stk_form_head_bytes(const struct stk_form_view *view);
/* Writes the bytes before the groups, except for the index, and returns the index's place. `bytes`
 * is the size of the whole form. */
uint8_t *stk_form_write_head(uint8_t *out, const struct stk_form_view *view, size_t bytes);

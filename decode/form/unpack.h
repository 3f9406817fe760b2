/* Unpacks a group: from its bytes to masks, differences of DC, and values. */
#pragma once

#include "decode/form/form.h"
#include "decode/form/form_group.h"
#include "decode/kernels/planes.h"

struct stk_unpacker {
    const struct stk_form_kernels *kernels;
    struct stk_form_group group;
    struct stk_array levels[2], places;
};

/*
 * Unpacks a group of group.blocks blocks, a number that the caller sets. Returns OK, CORRUPT or
 * MEMORY, as stk_decode_form() does. The bytes may be any, and STK_FORM_SLACK more may be read.
 */
int stk_unpacker_read(struct stk_unpacker *unpacker, const uint8_t *begin, const uint8_t *end);
void stk_unpacker_free(struct stk_unpacker *unpacker, size_t but);

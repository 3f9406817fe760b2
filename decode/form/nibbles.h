/* For each half byte of a mask, where its ones are, one behind the other, a byte for each. */
#ifndef STK_DECODE_FORM_NIBBLES_H
#define STK_DECODE_FORM_NIBBLES_H

#include <stdint.h>

static const uint32_t stk_ones_at[16] = {
    0,    0x00,   0x01,   0x0100,   0x02,   0x0200,   0x0201,   0x020100,
    0x03, 0x0300, 0x0301, 0x030100, 0x0302, 0x030200, 0x030201, 0x03020100,
};

#endif

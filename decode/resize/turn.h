/* An image that is flipped, or whose axes are exchanged, before anything else is done with it. */
#pragma once

#include <stdbool.h>

#include "decode/common/decode_types.h"

/* Finds the part of an image of this size that a turned plan's crop is. Returns false if the crop
 * is no part of the turned image. */
bool stk_turn_region(const struct stk_plan *plan, uint32_t width, uint32_t height,
                     struct stk_region *out);
/* Exchanges the axes of width x height pixels of four bytes. The two must not overlap. */
void stk_turn_exchange(const uint32_t *from, uint32_t width, uint32_t height, uint32_t *to);

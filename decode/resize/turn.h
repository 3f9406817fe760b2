/* The geometry of turned images, and the exchange of axes. */
#pragma once

#include "decode/resize/geometry.h"

/*
 * Makes the geometry of a turned plan for the image as it lies, of this size, and leaves those
 * flips in the plan that the passes do not do. If the turn exchanges the axes, the geometry's
 * result is the plan's with its axes exchanged. Results as those of stk_geometry_make().
 */
int stk_turn_geometry(struct stk_plan *plan, const struct stk_target *target, uint32_t width,
                      uint32_t height, struct stk_geometry *out);

#define STK_TURN_COLUMNS 16 /* pixels of four bytes: a line of the processor's cache */

/* Writes columns of width x height pixels of four bytes as lines of `height` pixels: so many, up to
 * STK_TURN_COLUMNS, from the x-th on. The two must not overlap. */
void stk_turn_columns(const uint32_t *from, uint32_t width, uint32_t height, uint32_t x,
                      uint32_t count, uint32_t *to);
/* Exchanges the axes of width x height pixels of four bytes. The two must not overlap. */
void stk_turn_exchange(const uint32_t *from, uint32_t width, uint32_t height, uint32_t *to);

/* Where a cursor that began anywhere has come upon the true blocks. */
#ifndef STK_DECODE_ENTROPY_JOIN_H
#define STK_DECODE_ENTROPY_JOIN_H

#include "decode/entropy/scan.h"

/* Moves a cursor on to the beginning of the next MCU. False: there is none, up to byte `end`. */
bool stk_cursor_finish_mcu(struct stk_cursor *cursor, const struct stk_slot *first,
                           const uint8_t *end);

/*
 * `truth` is at the beginning of an MCU; `guess` began at bit `begin`, wrote to `area`, and has
 * gone on from there. True: `truth` has gone on to an MCU where `guess` was, too, and what that one
 * wrote from there on is at `area` now.
 */
bool stk_join(const struct stk_scan *scan, struct stk_cursor *truth, const struct stk_cursor *guess,
              uint64_t begin, struct stk_area *area);

#endif

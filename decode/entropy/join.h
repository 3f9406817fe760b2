/* Finds the place where a cursor that began anywhere has met the true blocks. */
#pragma once

#include "decode/entropy/scan.h"

/* Moves a cursor to the beginning of the next MCU. Returns false if there is none up to byte `end`.
 */
bool stk_cursor_finish_mcu(struct stk_cursor *cursor, const struct stk_mcu_slot *first,
                           const uint8_t *end);

/*
 * Joins two cursors. `truth` is at the beginning of an MCU; `guess` began at bit `begin`, wrote to
 * `area`, and has gone on from there. Returns true if `truth` has moved to an MCU that `guess`
 * visited too. Then `area` begins at the output of `guess` from that MCU on.
 */
bool stk_join(const struct stk_scan *scan, struct stk_cursor *truth, const struct stk_cursor *guess,
              uint64_t begin, struct stk_area *area);

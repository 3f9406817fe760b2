/*
 * Blocks are read from the origin by the program's descriptor. Then one look finds that the origin
 * still is the version: so what was read before that look is of that version. An
 * overtaken filler may still write a piece. It held the block after it had read that piece, so the
 * look of the filler that overtook it came later, and vouches for the same bytes.
 */
#pragma once

#include "cache/big/big_table.h"

/* Fills blocks from `block` on: those of the `wanted` ones that are absent, and what may be read
 * ahead. Makes the entry if no block is missing then. Returns how many blocks were filled. */
unsigned stk_big_fill(struct stk_cache *cache, struct stk_big *big, int fd, uint64_t block,
                      uint64_t wanted);
/* Makes the entry if all blocks are there and no other process is making it. */
void stk_big_complete(struct stk_cache *cache, struct stk_big *big);

/*
 * Notes which covered files a thread opens, for a wrapper that wants to know (base/identity_api.h).
 * A thread that notes nothing pays for one look at a variable of its own.
 *
 * A range of a big file that this thread reads is noted as the file's path, "//", the offset, "+"
 * and the length. No path has "//".
 */
#pragma once

#include "base/identity_api.h"
#include "cache/big/big_table.h"
#include "cache/cache_place.h"

/* Has this thread's opens noted in `opened`. NULL: no longer. */
void stk_opened_begin(struct stk_opened *opened);
/* Notes an open, where this thread's opens are noted. Async-signal-safe: a note that a handler
 * makes amid another one may spoil both paths, and no other memory. */
void stk_opened_note(const struct stk_place *place);
/* Notes a read of a big file, unless all of the file is cached. A read that goes on where the last
 * one ended makes that one's range longer. `offset`: a negative one stands for the descriptor's.
 * Async-signal-safe as above. */
void stk_opened_note_range(const struct stk_big *big, int fd, int64_t offset, uint64_t bytes);

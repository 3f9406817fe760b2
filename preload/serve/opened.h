/*
 * Notes which covered files a thread opens, for a wrapper that wants to know (base/identity_api.h).
 * A thread that notes nothing pays for one look at a variable of its own.
 */
#pragma once

#include "base/identity_api.h"
#include "cache/cache_place.h"

/* Has this thread's opens noted in `opened`. NULL: no longer. */
void stk_opened_begin(struct stk_opened *opened);
/* Notes an open, where this thread's opens are noted. Async-signal-safe: a note that a handler
 * makes amid another one may spoil both paths, and no other memory. */
void stk_opened_note(const struct stk_place *place);

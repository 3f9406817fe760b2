/*
 * Does something once in a process, without locks: the thread that comes first does it, and other
 * threads wait for a bounded time. Survives a fork in the middle: the child has no thread that
 * would finish the work, so the child does it again. A vfork child counts as its parent here, and
 * waits.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stk_once {
    _Atomic uint32_t stage;
};

static inline bool stk_once_is_done(struct stk_once *once)
{
    return atomic_load_explicit(&once->stage, memory_order_acquire) == 2;
}

enum stk_once_turn { STK_ONCE_MINE, STK_ONCE_DONE, STK_ONCE_BUSY };

/* Returns MINE: do the work, then call stk_once_finish. DONE: the work is done. BUSY: another
 * thread takes too long; the first waiting thread waits half a second, later threads do not
 * wait. */
enum stk_once_turn stk_once_begin(struct stk_once *once);
/* As stk_once_begin, for work so short that a thread which waits in vain (after a fork in the
 * middle) may just do it again. Never returns BUSY, and makes no system call unless two threads
 * meet. */
enum stk_once_turn stk_once_begin_brief(struct stk_once *once);
void stk_once_finish(struct stk_once *once);
/* Returns true if the work was begun and is not done. */
bool stk_once_is_under_way(struct stk_once *once);

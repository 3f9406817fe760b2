/*
 * Something done once per process by whichever thread comes first, without locks: the others wait a
 * bounded time. Survives a fork in the middle: the child's copy is nobody's, so the child does it
 * again. (A vfork child is its parent in this, and waits.)
 */
#ifndef STK_PRELOAD_ONCE_H
#define STK_PRELOAD_ONCE_H

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

/* MINE: do it, then stk_once_finish. DONE: it is done. BUSY: another thread takes too long; the
 * first that comes waits half a second, the others do not. */
enum stk_once_turn stk_once_begin(struct stk_once *once);
/*
 * The same for something so short that whoever waits in vain for it (after a fork in the middle)
 * may just do it again. Never BUSY, and no system call unless two threads meet.
 */
enum stk_once_turn stk_once_begin_brief(struct stk_once *once);
void stk_once_finish(struct stk_once *once);
/* Whether it was begun and is not done. */
bool stk_once_is_under_way(struct stk_once *once);

#endif

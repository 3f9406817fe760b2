/* Waits without locks, and recognises a fork in the middle by a page that the kernel wipes. */
#include "preload/interpose/once.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/sys.h"

#define PATIENCE_NS       (STK_NS_PER_S / 2)
#define BRIEF_PATIENCE_NS (STK_NS_PER_S / 50)
#define NAP_NS            (STK_NS_PER_S / 10000)
#define MARK_BYTES        4096

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
    NOT_YET,
    UNDER_WAY,
    DONE,
    AWAITED, /* under way, and a thread waits for it */
    GIVEN_UP /* under way, and a thread has waited in vain: no other thread shall wait */
};

/* A word that is 1 in the process that began, and 0 in a child forked from it. */
static _Atomic(_Atomic uint32_t *) fork_mark;

static void set_fork_mark(void)
{
    _Atomic uint32_t *mark = atomic_load(&fork_mark);
    if (mark == NULL) {
        mark = stk_sys_memory(MARK_BYTES);
        if (mark == NULL) {
            return;
        }
        _Atomic uint32_t *first = NULL;
        stk_sys_madvise(mark, MARK_BYTES, MADV_WIPEONFORK);
        atomic_store(mark,
                     1); /* before other threads see it: at 0 they would think it wiped by a fork */
        if (atomic_compare_exchange_strong(&fork_mark, &first, mark)) {
            return;
        }
        stk_sys_munmap(mark, MARK_BYTES);
        mark = first;
    }
    atomic_store(mark, 1);
}

/* Returns true if the work was begun by a thread that this process does not have. */
static bool is_orphaned(void)
{
    _Atomic uint32_t *mark = atomic_load(&fork_mark);
    uint32_t wiped = 0;
    return mark != NULL && atomic_compare_exchange_strong(mark, &wiped, 1);
}

/* Waits a little for the end of the work. Returns false if that has taken too long already. */
static bool wait_for(struct stk_once *once, int64_t *give_up_ns, int64_t patience_ns)
{
    uint32_t seen = UNDER_WAY;
    int64_t now_ns = stk_clock_boottime_ns();
    *give_up_ns = *give_up_ns != 0 ? *give_up_ns : now_ns + patience_ns;
    if (now_ns > *give_up_ns) {
        return false;
    }
    atomic_compare_exchange_strong(&once->stage, &seen, AWAITED);
    stk_sys_futex_wait(&once->stage, AWAITED, NAP_NS);
    return true;
}

static void give_up(struct stk_once *once)
{
    uint32_t under_way = UNDER_WAY, awaited = AWAITED;
    if (!atomic_compare_exchange_strong(&once->stage, &awaited, GIVEN_UP)) {
        atomic_compare_exchange_strong(&once->stage, &under_way, GIVEN_UP);
    }
}

enum stk_once_turn stk_once_begin(struct stk_once *once)
{
    uint32_t seen = NOT_YET;
    int64_t give_up_ns = 0;
    if (stk_once_is_done(once)) {
        return STK_ONCE_DONE;
    }
    if (atomic_load(&once->stage) == NOT_YET) {
        set_fork_mark(); /* only here: in a child it would hide that the mark was wiped */
    }
    if (atomic_compare_exchange_strong(&once->stage, &seen, UNDER_WAY)) {
        return STK_ONCE_MINE;
    }
    while (!stk_once_is_done(once)) {
        if (is_orphaned()) {
            return STK_ONCE_MINE;
        }
        if (atomic_load(&once->stage) == GIVEN_UP) {
            return STK_ONCE_BUSY;
        }
        if (!wait_for(once, &give_up_ns, PATIENCE_NS)) {
            give_up(once);
        }
    }
    return STK_ONCE_DONE;
}

enum stk_once_turn stk_once_begin_brief(struct stk_once *once)
{
    uint32_t seen = NOT_YET;
    int64_t give_up_ns = 0;
    if (atomic_compare_exchange_strong(&once->stage, &seen, UNDER_WAY)) {
        return STK_ONCE_MINE;
    }
    while (!stk_once_is_done(once)) {
        if (!wait_for(once, &give_up_ns, BRIEF_PATIENCE_NS)) {
            return STK_ONCE_MINE;
        }
    }
    return STK_ONCE_DONE;
}

void stk_once_finish(struct stk_once *once)
{
    if (atomic_exchange(&once->stage, DONE) == AWAITED) {
        stk_sys_futex_wake_all(&once->stage);
    }
}

bool stk_once_is_under_way(struct stk_once *once)
{
    uint32_t stage = atomic_load(&once->stage);
    return stage != NOT_YET && stage != DONE;
}

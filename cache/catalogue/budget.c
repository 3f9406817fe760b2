#include "cache/catalogue/budget.h"

#include <errno.h>

#include "base/clock.h"
#include "base/invariant.h"

#define FULL_PAUSE_NS (5 * STK_NS_PER_S)

/* One in 64: 160 bytes a file, which is enough for entries of 10 KB on average; at most 8 GiB,
 * enough for fifty million files. Other tiers' files take at most a quarter of the tier. */
#define ASIDE_SHARE        64
#define ASIDE_OTHERS_SHARE 4
#define ASIDE_MOST_BLOCKS  (INT64_C(8) << 30) / STK_BLOCK_BYTES

/* A damaged catalogue may hold any number: within these bounds, sums of two are numbers, too. */
static int64_t bounded(int64_t number)
{
    const int64_t most = INT64_MAX / 4;
    return number < 0 ? 0 : number < most ? number : most;
}

static bool reserve_one(_Atomic int64_t *used, int64_t allowed, int64_t count)
{
    int64_t now = atomic_load_explicit(used, memory_order_relaxed);
    STK_INVARIANT(count >= 0);
    do {
        if (count > bounded(allowed) - bounded(now)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(used, &now, bounded(now) + count));
    STK_INVARIANT(bounded(now) + count <= bounded(allowed));
    return true;
}

/* Never below zero: a recount may have come between the reservation and its release. */
static void release_one(_Atomic int64_t *used, int64_t count)
{
    int64_t now = atomic_load_explicit(used, memory_order_relaxed);
    int64_t left;
    STK_INVARIANT(count >= 0);
    do {
        left = now > count ? now - count : 0;
    } while (!atomic_compare_exchange_weak(used, &now, left));
}

int64_t stk_budget_headroom_left(const struct stk_budget *budget)
{
    int64_t left = bounded(atomic_load(&budget->headroom_blocks)) -
                   bounded(atomic_load(&budget->headroom_used_blocks));
    return left > 0 ? left : 0;
}

bool stk_budget_reserve(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    int64_t allowed = bounded(atomic_load(&budget->blocks)) - stk_budget_headroom_left(budget);
    if (!reserve_one(&budget->used_blocks, allowed, blocks)) {
        return false;
    }
    if (!reserve_one(&budget->used_inodes, atomic_load(&budget->inodes), inodes)) {
        release_one(&budget->used_blocks, blocks);
        return false;
    }
    return true;
}

int64_t stk_budget_left(const struct stk_budget *budget)
{
    int64_t left = bounded(atomic_load(&budget->blocks)) - stk_budget_headroom_left(budget) -
                   bounded(atomic_load(&budget->used_blocks));
    return left > 0 ? left : 0;
}

void stk_budget_release(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    release_one(&budget->used_blocks, blocks);
    release_one(&budget->used_inodes, inodes);
}

bool stk_budget_take_headroom(struct stk_budget *budget, int64_t blocks)
{
    /* First the used blocks, then the headroom: an entry between the two is refused, not let in. */
    if (!reserve_one(&budget->used_blocks, atomic_load(&budget->blocks), blocks)) {
        return false;
    }
    atomic_fetch_add(&budget->headroom_used_blocks, blocks);
    return true;
}

void stk_budget_give_headroom(struct stk_budget *budget, int64_t blocks)
{
    release_one(&budget->headroom_used_blocks, blocks);
    release_one(&budget->used_blocks, blocks);
}

int64_t stk_budget_headroom_of(int64_t blocks, int64_t others_blocks)
{
    int64_t share = bounded(blocks) / ASIDE_SHARE + bounded(others_blocks) / ASIDE_SHARE;
    int64_t most = bounded(blocks) / ASIDE_OTHERS_SHARE;
    most = most < ASIDE_MOST_BLOCKS ? most : ASIDE_MOST_BLOCKS;
    return share < most ? share : most;
}

void stk_budget_try_again(struct stk_budget *budget)
{
    atomic_fetch_add(&budget->generation, 1);
}

void stk_budget_set(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    atomic_store(&budget->blocks, blocks);
    atomic_store(&budget->inodes, inodes);
    stk_budget_try_again(budget);
}

void stk_budget_note_error(struct stk_budget *budget, int error)
{
    if (error == -ENOSPC || error == -EDQUOT) {
        atomic_store(&budget->full_ns, stk_clock_boottime_ns());
    }
}

bool stk_budget_is_full(const struct stk_budget *budget)
{
    uint64_t full_ns = (uint64_t)atomic_load(&budget->full_ns); /* a time to come is none */
    return full_ns != 0 && (uint64_t)stk_clock_boottime_ns() - full_ns < FULL_PAUSE_NS;
}

int64_t stk_budget_blocks_of(uint64_t bytes, uint32_t fs_block_bytes)
{
    uint64_t unit = fs_block_bytes > STK_BLOCK_BYTES ? fs_block_bytes : STK_BLOCK_BYTES;
    return (int64_t)((bytes + unit - 1) / unit * (unit / STK_BLOCK_BYTES));
}

int64_t stk_budget_less_reserve(int64_t available, int64_t least_reserve)
{
    int64_t reserve = available / 5;
    if (reserve < least_reserve) {
        reserve = least_reserve;
    }
    if (reserve > available / 2) {
        reserve = available / 2;
    }
    return available - reserve;
}

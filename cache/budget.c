/* A budget in shared memory. See cache/budget.h. */
#include "cache/budget.h"

static bool reserve_one(_Atomic int64_t *used, const _Atomic int64_t *allowed, int64_t count)
{
    int64_t now = atomic_load_explicit(used, memory_order_relaxed);
    do {
        if (count > atomic_load_explicit(allowed, memory_order_relaxed) - now) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(used, &now, now + count));
    return true;
}

/* Never below zero: a recount may have come between the reservation and its release. */
static void release_one(_Atomic int64_t *used, int64_t count)
{
    int64_t now = atomic_load_explicit(used, memory_order_relaxed);
    int64_t left;
    do {
        left = now > count ? now - count : 0;
    } while (!atomic_compare_exchange_weak(used, &now, left));
}

bool stk_budget_reserve(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    if (!reserve_one(&budget->used_blocks, &budget->blocks, blocks)) {
        return false;
    }
    if (!reserve_one(&budget->used_inodes, &budget->inodes, inodes)) {
        release_one(&budget->used_blocks, blocks);
        return false;
    }
    return true;
}

void stk_budget_release(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    release_one(&budget->used_blocks, blocks);
    release_one(&budget->used_inodes, inodes);
}

void stk_budget_free(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    stk_budget_release(budget, blocks, inodes);
    atomic_fetch_add(&budget->generation, 1);
}

void stk_budget_set(struct stk_budget *budget, int64_t blocks, int64_t inodes)
{
    atomic_store(&budget->blocks, blocks);
    atomic_store(&budget->inodes, inodes);
    atomic_fetch_add(&budget->generation, 1);
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

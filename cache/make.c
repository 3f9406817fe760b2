/* Making entries. See cache/make.h. */
#include "cache/make.h"

#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/pressure.h"

#define FULL_PAUSE_NS (5 * STK_NS_PER_S)

/* ---- the budget ---- */

static enum stk_bypass take(const struct stk_making *making, int64_t blocks, int64_t inodes)
{
    static const enum stk_bypass meanings[] = {
        [STK_TOOK] = STK_BYPASS_NONE,
        [STK_TOOK_NO_ROOM] = STK_BYPASS_BUDGET,
        [STK_TOOK_NOT_NOW] = STK_BYPASS_TIER,
    };
    return meanings[stk_tier_take(making->tier->shared, blocks, inodes)];
}

static enum stk_bypass reserve(struct stk_making *making)
{
    const struct stk_tier *tier = making->tier;
    struct stk_budget *budget = &tier->shared->budget;
    uint64_t full_ns = (uint64_t)atomic_load(&budget->full_ns); /* a time to come is none */
    if (full_ns != 0 && (uint64_t)stk_clock_boottime_ns() - full_ns < FULL_PAUSE_NS) {
        return STK_BYPASS_TIER;
    }
    if (!stk_pressure_admits(tier, (int64_t)making->bytes)) {
        return STK_BYPASS_MEMORY;
    }
    making->blocks = stk_budget_blocks_of(making->bytes, tier->shared->block_bytes);
    return take(making, making->blocks, 1);
}

/* File systems may take more blocks than the size says (huge pages, preallocation). */
static enum stk_bypass reserve_excess(struct stk_making *making,
                                      const struct stk_entry_draft *draft)
{
    struct stat stat;
    if (stk_sys_fstat(draft->fd, &stat) != 0 || stat.st_ino != draft->ino ||
        (uint64_t)stat.st_size != making->bytes) {
        return STK_BYPASS_TIER;
    }
    int64_t excess = stat.st_blocks - making->blocks;
    if (excess > 0) {
        enum stk_bypass why = take(making, excess, 0);
        if (why != STK_BYPASS_NONE) {
            return why;
        }
        making->blocks += excess;
    }
    making->ino = stat.st_ino;
    return STK_BYPASS_NONE;
}

static void note_tier_error(const struct stk_tier *tier, int error)
{
    if (error == -ENOSPC || error == -EDQUOT) {
        atomic_store(&tier->shared->budget.full_ns, stk_clock_boottime_ns());
    }
}

/* ---- the entry ---- */

static enum stk_bypass complete(struct stk_making *making, const struct stk_entry_draft *draft,
                                stk_make_write *write, void *context)
{
    enum stk_bypass why = write(context, draft);
    if (why == STK_BYPASS_TIER && stk_entry_holds(draft)) {
        note_tier_error(making->tier, -ENOSPC);
    }
    if (why == STK_BYPASS_NONE) {
        why = reserve_excess(making, draft);
        stk_pressure_sign(making->tier, draft->path);
    }
    return why;
}

static enum stk_bypass publish(struct stk_making *making, struct stk_entry_draft *draft)
{
    int error = stk_entry_publish(draft, making->tier, making->root, making->path);
    stk_entry_close(draft);
    note_tier_error(making->tier, error);
    if (error == -EDQUOT) {
        return STK_BYPASS_BUDGET;
    }
    return error == 0 ? STK_BYPASS_NONE : STK_BYPASS_TIER;
}

/* `removed`: the draft was, by somebody who has given its budget back. */
static enum stk_bypass make_draft(struct stk_making *making, stk_make_write *write, void *context,
                                  bool *removed)
{
    struct stk_entry_draft draft;
    int error = stk_entry_begin(&draft, making->tier->home, making->bytes);
    if (error != 0) {
        note_tier_error(making->tier, error);
        return STK_BYPASS_TIER;
    }
    enum stk_bypass why = complete(making, &draft, write, context);
    if (why != STK_BYPASS_NONE) {
        stk_entry_discard(&draft);
    } else {
        why = publish(making, &draft);
    }
    *removed = draft.removed;
    return why;
}

enum stk_bypass stk_make_entry(struct stk_making *making, stk_make_write *write, void *context)
{
    bool removed = false;
    enum stk_bypass why = reserve(making);
    if (why != STK_BYPASS_NONE) {
        return why;
    }
    why = make_draft(making, write, context, &removed);
    if (why != STK_BYPASS_NONE && !removed) {
        stk_tier_release(making->tier->shared, making->blocks, 1);
    }
    return why;
}

void stk_make_way(const struct stk_tier *tier, const char *path, int64_t blocks)
{
    if (stk_sys_unlinkat(AT_FDCWD, path, 0) == 0) {
        stk_tier_free(tier->shared, blocks, 1);
    }
}

/* ---- claims ---- */

void stk_make_finish(const struct stk_tier *tier, _Atomic uint64_t *claim, enum stk_bypass why)
{
    if (why == STK_BYPASS_NONE) {
        stk_claim_finish(claim, STK_PRESENT, tier->index, 0);
    } else if (why == STK_BYPASS_MEMORY) {
        stk_claim_finish(claim, STK_REFUSED, tier->index, stk_pressure_refusal(tier));
    } else if (why == STK_BYPASS_BUDGET) {
        stk_claim_finish(claim, STK_REFUSED, tier->index,
                         atomic_load(&tier->shared->budget.generation));
    } else {
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    }
}

enum stk_bypass stk_make_refusal(const struct stk_tier *tier, struct stk_claim claim)
{
    if (claim.state != STK_REFUSED || tier->shared == NULL || claim.tier != tier->index) {
        return STK_BYPASS_NONE;
    }
    if (claim.detail == atomic_load(&tier->shared->budget.generation)) {
        return STK_BYPASS_BUDGET;
    }
    bool pressed = claim.detail == stk_pressure_refusal(tier) && !stk_pressure_admits(tier, 0);
    return pressed ? STK_BYPASS_MEMORY : STK_BYPASS_NONE;
}

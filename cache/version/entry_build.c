#include "cache/version/entry_build.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "cache/tier/pressure.h"

/* ---- the budget ---- */

enum stk_bypass stk_entry_build_why(int error)
{
    return error == 0                             ? STK_BYPASS_NONE
           : error == -EMFILE || error == -ENFILE ? STK_BYPASS_DESCRIPTORS
           : error == -EFBIG                      ? STK_BYPASS_LIMIT
                                                  : STK_BYPASS_TIER;
}

static enum stk_bypass why_not_paid(int error)
{
    return error == -EDQUOT ? STK_BYPASS_BUDGET : stk_entry_build_why(error);
}

static enum stk_bypass take(const struct stk_entry_build *build, int64_t blocks, int64_t inodes)
{
    return why_not_paid(stk_tier_take(build->tier->shared, blocks, inodes));
}

/* Where entries pass, what is to stay leaves them their room: in the next run, too. */
static bool has_room(const struct stk_entry_build *build)
{
    const struct stk_run *run = &build->cache->run;
    const struct stk_budget *budget = &build->tier->shared->budget;
    unsigned tier = build->tier->index;
    if (build->transient != NULL) {
        return stk_transient_take(stk_run_transients(run), build->transient, build->copied, tier,
                                  budget, build->blocks);
    }
    if (!stk_shared_requests_are_known(stk_run_shared_requests(run))) {
        return true;
    }
    int64_t left = stk_transient_left(stk_run_transients(run), tier, budget);
    return stk_budget_left(budget) - build->blocks >= (left > 0 ? left : 0);
}

static enum stk_bypass reserve(struct stk_entry_build *build)
{
    const struct stk_tier *tier = build->tier;
    if (stk_budget_is_full(&tier->shared->budget)) {
        return STK_BYPASS_TIER;
    }
    if (!stk_pressure_admits(tier, (int64_t)build->bytes)) {
        return STK_BYPASS_MEMORY;
    }
    build->blocks = stk_budget_blocks_of(build->bytes, tier->shared->block_bytes);
    return has_room(build) ? take(build, build->blocks, 1) : STK_BYPASS_BUDGET;
}

/* File systems may take more blocks than the size says (huge pages, preallocation). */
static enum stk_bypass reserve_excess(struct stk_entry_build *build,
                                      const struct stk_entry_draft *draft)
{
    struct stat stat;
    if (!stk_entry_stat(draft, &stat) || (uint64_t)stat.st_size != build->bytes) {
        return STK_BYPASS_TIER;
    }
    int64_t excess = stat.st_blocks - build->blocks;
    if (excess > 0) {
        enum stk_bypass why = take(build, excess, 0);
        if (why != STK_BYPASS_NONE) {
            return why;
        }
        build->blocks += excess;
    }
    build->ino = stat.st_ino;
    return STK_BYPASS_NONE;
}

/* ---- the entry ---- */

static enum stk_bypass complete(struct stk_entry_build *build, const struct stk_entry_draft *draft,
                                stk_entry_build_write *write, void *context)
{
    enum stk_bypass why = write(context, draft);
    if (why == STK_BYPASS_TIER && stk_entry_holds(draft)) {
        stk_budget_note_error(&build->tier->shared->budget, -ENOSPC);
    }
    if (why == STK_BYPASS_NONE) {
        why = reserve_excess(build, draft);
        stk_pressure_sign(build->tier, draft->path);
    }
    return why;
}

static enum stk_bypass publish(struct stk_entry_build *build, struct stk_entry_draft *draft)
{
    int error = stk_entry_publish(draft, build->tier, build->place->root, build->path);
    stk_entry_close(draft);
    build->taken = error == -EEXIST;
    stk_budget_note_error(&build->tier->shared->budget, error);
    return why_not_paid(error);
}

/* Makes the draft. `removed`: another process has removed it, and given its budget back. */
static enum stk_bypass make_draft(struct stk_entry_build *build, stk_entry_build_write *write,
                                  void *context, bool *removed)
{
    struct stk_entry_draft draft;
    int error = stk_entry_begin(&draft, build->tier, build->bytes);
    if (error != 0) {
        stk_budget_note_error(&build->tier->shared->budget, error);
        return stk_entry_build_why(error);
    }
    enum stk_bypass why = complete(build, &draft, write, context);
    if (why != STK_BYPASS_NONE) {
        stk_entry_discard(&draft);
    } else {
        why = publish(build, &draft);
    }
    *removed = draft.removed;
    return why;
}

static enum stk_bypass make_in_tier(struct stk_entry_build *build, stk_entry_build_write *write,
                                    void *context)
{
    bool removed = false;
    enum stk_bypass why = reserve(build);
    if (why != STK_BYPASS_NONE) {
        return why;
    }
    why = make_draft(build, write, context, &removed);
    if (why != STK_BYPASS_NONE && !removed) {
        stk_tier_release(build->tier->shared, build->blocks, 1);
    }
    return why;
}

bool stk_entry_build_next_tier(struct stk_entry_build *build)
{
    const struct stk_place *place = build->place;
    do {
        build->tier = stk_cache_next_tier(build->cache, build->tier);
    } while (build->tier != NULL && !stk_entry_path(build->path, build->tier->home, place->root,
                                                    place->below, build->name));
    return build->tier != NULL;
}

/* How soon it may be otherwise; 0: another tier changes nothing. */
static int haste(enum stk_bypass why)
{
    return why == STK_BYPASS_TIER     ? 3
           : why == STK_BYPASS_MEMORY ? 2
           : why == STK_BYPASS_BUDGET ? 1
                                      : 0;
}

enum stk_bypass stk_entry_build_make(struct stk_entry_build *build, stk_entry_build_write *write,
                                     void *context)
{
    enum stk_bypass why = STK_BYPASS_NONE;
    build->tier = NULL;
    while (stk_entry_build_next_tier(build)) {
        enum stk_bypass here = make_in_tier(build, write, context);
        if (haste(here) == 0 || build->taken) {
            return here;
        }
        why = haste(here) > haste(why) ? here : why;
    }
    return why == STK_BYPASS_NONE ? STK_BYPASS_TIER : why;
}

void stk_entry_build_way(const struct stk_tier *tier, const char *path, int64_t blocks)
{
    if (stk_sys_unlinkat(AT_FDCWD, path, 0) == 0) {
        stk_tier_free(tier->shared, blocks, 1);
    }
}

/* ---- claims ---- */

/* One number for which tiers there are and how often each has come to have more room: what was
 * refused by all of them is tried again when it is another. A shared tier may have more in each
 * run. */
static uint32_t generation_of(const struct stk_cache *cache)
{
    bool far = stk_shared_requests_are_open(stk_run_shared_requests(&cache->run));
    uint32_t all = far ? (uint32_t)cache->run_start_ns : 0;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL;
         tier = stk_cache_next_tier(cache, tier)) {
        uint32_t own = atomic_load(&tier->shared->budget.generation) * STK_TIERS + tier->index;
        all = (all ^ own) * UINT32_C(0x9e3779b1);
    }
    return all >> 1; /* cache/catalogue/claim.h: not one for holes */
}

static bool is_pressed(const struct stk_cache *cache)
{
    bool pressed = false;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL;
         tier = stk_cache_next_tier(cache, tier)) {
        pressed = !stk_pressure_admits(tier, 0) || pressed;
    }
    return pressed;
}

void stk_entry_build_finish(const struct stk_entry_build *build, _Atomic uint64_t *claim,
                            enum stk_bypass why)
{
    const struct stk_cache *cache = build->cache;
    if (why == STK_BYPASS_NONE) {
        stk_claim_finish(claim, STK_PRESENT, build->tier->index, 0);
    } else if (why == STK_BYPASS_MEMORY) {
        uint32_t mark = stk_pressure_mark(&cache->tier);
        stk_claim_finish(claim, STK_REFUSED, 0, generation_of(cache) + mark);
    } else if (why == STK_BYPASS_BUDGET) {
        stk_claim_finish(claim, STK_REFUSED, 0, generation_of(cache));
    } else {
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    }
}

enum stk_bypass stk_entry_build_refusal(const struct stk_cache *cache, struct stk_claim claim)
{
    if (claim.state != STK_REFUSED || cache->tier.shared == NULL) {
        return STK_BYPASS_NONE;
    }
    uint32_t generation = generation_of(cache);
    if (claim.detail == generation) {
        return STK_BYPASS_BUDGET;
    }
    bool same = claim.detail == generation + stk_pressure_mark(&cache->tier);
    return same && is_pressed(cache) ? STK_BYPASS_MEMORY : STK_BYPASS_NONE;
}

/* This process's state. See preload/process.h. */
#include "preload/process.h"

#include <stdatomic.h>
#include <string.h>

#include "base/sys.h"
#include "preload/guard.h"
#include "preload/once.h"

static struct stk_once spelling_once;
static struct stk_once cache_once;
static struct stk_options options;
static struct stk_roots spelling;
static struct stk_roots outer_spelling;
static bool covers;
static struct stk_cache cache;

static bool read_spelling(void)
{
    if (stk_once_begin_brief(&spelling_once) == STK_ONCE_MINE) {
        spelling.count = 0;
        spelling.text_used = 0;
        outer_spelling.count = 0;
        outer_spelling.text_used = 0;
        stk_options_read(&options);
        stk_roots_spell(&spelling, options.paths);
        stk_roots_spell(&outer_spelling, options.outer_paths);
        covers = spelling.count > 0 || outer_spelling.count > 0;
        stk_once_finish(&spelling_once);
    }
    return stk_once_is_done(&spelling_once);
}

bool stk_process_is_on(void)
{
    if (!stk_once_is_done(&spelling_once) && (stk_guard_innermost != 0 || !read_spelling())) {
        return false;
    }
    return covers;
}

const struct stk_roots *stk_process_spelling(void)
{
    return &spelling;
}

const struct stk_roots *stk_process_outer_spelling(void)
{
    return &outer_spelling;
}

/* A change that could not be noted while the cache was set up: of which file, nobody knows. */
static _Atomic bool untold;

static void tell_untold(void)
{
    if (atomic_exchange(&untold, false)) {
        stk_cache_mark_all_written(&cache);
    }
}

static bool set_up(void)
{
    switch (stk_once_begin(&cache_once)) {
    case STK_ONCE_MINE:
        memset(&cache, 0, sizeof cache); /* a fork may have left half of one */
        cache.outer = outer_spelling;
        stk_cache_open(&cache, &options, &spelling);
        cache.passes = true;
        stk_once_finish(&cache_once);
        tell_untold();
        return true;
    case STK_ONCE_DONE:
        return true;
    default:
        return false;
    }
}

/* Signals wait meanwhile: a handler that jumps out would leave it half done for ever. */
struct stk_cache *stk_process_cache(void)
{
    uint64_t signals;
    if (!stk_once_is_done(&spelling_once) || !covers) {
        return NULL;
    }
    if (stk_once_is_done(&cache_once)) {
        return &cache;
    }
    stk_sys_block_signals(&signals);
    bool done = set_up();
    stk_sys_restore_signals(&signals);
    return done ? &cache : NULL;
}

void stk_process_cannot_tell(void)
{
    if (stk_once_is_under_way(&cache_once)) {
        atomic_store(&untold, true);
        if (stk_once_is_done(&cache_once)) {
            tell_untold();
        }
    }
}

struct stk_cache *stk_process_cache_if_ready(void)
{
    return stk_once_is_done(&cache_once) ? &cache : NULL;
}

/* Sets up the covered paths and the cache of this process, each once. */
#include "preload/coverage/process.h"

#include <stdatomic.h>
#include <string.h>

#include "base/sys.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/once.h"

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

/* True if a change to an unknown file came while the cache was set up, and could not be noted. */
static _Atomic bool has_missed;

static void note_missed(void)
{
    if (atomic_exchange(&has_missed, false)) {
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
        cache.makes_transient = true;
        stk_once_finish(&cache_once);
        note_missed();
        return true;
    case STK_ONCE_DONE:
        return true;
    default:
        return false;
    }
}

/* Blocks signals meanwhile: a handler that jumps out would leave the cache half set up for ever. */
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

void stk_process_note_missed(void)
{
    if (stk_once_is_under_way(&cache_once)) {
        atomic_store(&has_missed, true);
        if (stk_once_is_done(&cache_once)) {
            note_missed();
        }
    }
}

struct stk_cache *stk_process_cache_if_ready(void)
{
    return stk_once_is_done(&cache_once) ? &cache : NULL;
}

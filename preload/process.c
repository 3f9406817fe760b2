/* This process's state. See preload/process.h. */
#include "preload/process.h"

#include <string.h>

#include "preload/guard.h"
#include "preload/once.h"

__thread int stk_guard_depth STK_TLS;

static struct stk_once spelling_once;
static struct stk_once cache_once;
static struct stk_options options;
static struct stk_roots spelling;
static struct stk_cache cache;

static bool read_spelling(void)
{
    if (stk_once_begin_brief(&spelling_once) == STK_ONCE_MINE) {
        spelling.count = 0;
        spelling.text_used = 0;
        stk_options_read(&options);
        stk_roots_spell(&spelling, options.paths);
        stk_once_finish(&spelling_once);
    }
    return stk_once_is_done(&spelling_once);
}

bool stk_process_is_on(void)
{
    if (!stk_once_is_done(&spelling_once) && (stk_guard_depth != 0 || !read_spelling())) {
        return false;
    }
    return spelling.count > 0;
}

const struct stk_roots *stk_process_spelling(void)
{
    return &spelling;
}

struct stk_cache *stk_process_cache(void)
{
    if (!stk_once_is_done(&spelling_once) || spelling.count == 0) {
        return NULL;
    }
    switch (stk_once_begin(&cache_once)) {
    case STK_ONCE_MINE:
        memset(&cache, 0, sizeof cache); /* a fork may have left half of one */
        stk_cache_open(&cache, &options, &spelling);
        stk_once_finish(&cache_once);
        return &cache;
    case STK_ONCE_DONE:
        return &cache;
    default:
        return NULL;
    }
}

struct stk_cache *stk_process_cache_if_ready(void)
{
    return stk_once_is_done(&cache_once) ? &cache : NULL;
}

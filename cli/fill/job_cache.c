#include "cli/fill/job_cache.h"

#include <pthread.h>

static struct stk_cache cache, without_run;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void join(void)
{
    static struct stk_options options;
    static struct stk_roots roots;
    stk_options_read(&options);
    stk_roots_spell(&roots, options.paths);
    stk_cache_open(&cache, &options, &roots);
    without_run = cache;
    without_run.run.file = NULL;
}

struct stk_cache *job_cache(void)
{
    pthread_once(&once, join);
    return cache.tier.shared != NULL ? &cache : NULL;
}

struct stk_cache *job_cache_without_run(void)
{
    return job_cache() != NULL ? &without_run : NULL;
}

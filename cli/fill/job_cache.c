#include "cli/fill/job_cache.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cli/os/thread.h"

static struct stk_cache cache, without_run;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool is_open, is_being_opened;

static void join(void)
{
    static struct stk_options options;
    static struct stk_roots roots;
    stk_options_read(&options);
    stk_roots_spell(&roots, options.paths);
    stk_cache_open(&cache, &options, &roots);
    without_run = cache;
    without_run.run.file = NULL;
    atomic_store(&is_open, true);
}

struct stk_cache *job_cache(void)
{
    pthread_once(&once, join);
    return cache.tier.shared != NULL ? &cache : NULL;
}

static void *open_cache(void *context)
{
    job_cache();
    return context;
}

struct stk_cache *job_cache_if_open(void)
{
    if (!atomic_load(&is_open) && !atomic_exchange(&is_being_opened, true)) {
        thread_start_detached(open_cache, NULL);
    }
    return atomic_load(&is_open) ? job_cache() : NULL;
}

struct stk_cache *job_cache_without_run(void)
{
    return job_cache() != NULL ? &without_run : NULL;
}

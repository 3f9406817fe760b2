/* Validations that were put off. See cli/validator.h. */
#include "cli/validator.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

#include "cache/trust.h"
#include "cli/joined.h"
#include "cli/thread.h"

/* As many as workers fill at the same time, on machines as they are; beyond that the queue fills
 * up, and fillers ask by themselves. */
#define THREADS 16

static unsigned started;

static const struct stk_root *root_of(const struct stk_cache *cache, uint64_t key)
{
    for (unsigned i = 0; i < cache->roots.count; i++) {
        if (cache->roots.roots[i].usable && cache->roots.roots[i].key == key) {
            return &cache->roots.roots[i];
        }
    }
    return NULL;
}

/* What has changed meanwhile is remembered as what it is now. */
static void look(struct stk_cache *cache, uint64_t key, const char *below)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    const struct stk_root *root = root_of(cache, key);
    int length = root == NULL ? -1 : snprintf(path, sizeof path, "%s/%s", root->prefix, below);
    if (length > 0 && (size_t)length < sizeof path &&
        stk_cache_place(cache, path, AT_FDCWD, path, &place) && place.root->key == key) {
        stk_trust_validate(cache, &place);
    }
}

static void *validate(void *context)
{
    struct stk_cache *cache = joined_cache();
    struct stk_deferred *deferred = stk_run_deferred(&cache->run);
    char below[STK_DEFERRED_PATH_BYTES];
    uint64_t root;
    while (stk_deferred_take(deferred, &root, below)) {
        look(cache, root, below);
    }
    return context;
}

/* Nobody waits for its end: it may be asking a server that is gone. */
static bool start_thread(void)
{
    pthread_t thread;
    return thread_start(&thread, validate, NULL) && pthread_detach(thread) == 0;
}

void validator_begin(void)
{
    struct stk_cache *cache = joined_cache();
    struct stk_deferred *deferred = cache != NULL ? stk_run_deferred(&cache->run) : NULL;
    if (deferred == NULL) {
        return;
    }
    stk_deferred_open(deferred, &cache->roots);
    while (deferred->root_count > 0 && started < THREADS && start_thread()) {
        started++;
    }
    if (started == 0) {
        stk_deferred_close(deferred);
    }
}

void validator_end(void)
{
    if (started > 0) {
        stk_deferred_close(stk_run_deferred(&joined_cache()->run));
    }
}

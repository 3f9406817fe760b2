/* Validations that were put off. See cli/validator.h. */
#include "cli/validator.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "cache/listing.h"
#include "cache/trust.h"
#include "cli/joined.h"
#include "cli/thread.h"

/* As many as workers fill at the same time, on machines as they are; beyond that the queue fills
 * up, and fillers ask by themselves. */
#define THREADS 16

static _Atomic(struct stk_deferred *) opened; /* NULL: not yet */
static atomic_bool over;

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
    const struct stk_root *listed = stk_listing_is_deferred(below) ? root_of(cache, key) : NULL;
    if (listed != NULL) {
        stk_listing_settle(cache, listed, below);
        return;
    }
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
    struct stk_deferred *deferred = context;
    char below[STK_DEFERRED_PATH_BYTES];
    uint64_t root;
    while (stk_deferred_take(deferred, &root, below)) {
        look(joined_cache(), root, below);
    }
    return NULL;
}

/* Nobody waits for its end: it may be asking a server that is gone. */
static bool start(void *(*work)(void *), void *context)
{
    pthread_t thread;
    return thread_start(&thread, work, context) && pthread_detach(thread) == 0;
}

/* Finding out what the roots are asks the origin, too: the command does not wait for that. */
static void *begin(void *context)
{
    struct stk_cache *cache = joined_cache();
    struct stk_deferred *deferred = cache != NULL ? stk_run_deferred(&cache->run) : NULL;
    if (deferred == NULL) {
        return context;
    }
    stk_deferred_open(deferred, &cache->roots);
    atomic_store(&opened, deferred);
    for (int i = 1; i < THREADS && deferred->root_count > 0 && start(validate, deferred); i++) {
    }
    if (atomic_load(&over)) {
        stk_deferred_close(deferred);
    }
    return validate(deferred);
}

void validator_begin(void)
{
    start(begin, NULL);
}

void validator_end(void)
{
    atomic_store(&over, true);
    struct stk_deferred *deferred = atomic_load(&opened);
    if (deferred != NULL) {
        stk_deferred_close(deferred);
    }
}

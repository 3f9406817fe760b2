#include "cli/ahead/validator.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "cache/listing/listing.h"
#include "cache/version/freshness.h"
#include "cli/ahead/trees/scan_ahead.h"
#include "cli/ahead/trees/tree_evidence.h"
#include "cli/fill/job_cache.h"
#include "cli/os/thread.h"

/* As many as the fillers of a usual machine. If there are more revalidations, the queue fills up,
 * and fillers ask by themselves. */
#define THREADS 16

static _Atomic(struct stk_revalidation_queue *) opened; /* NULL: not yet */
static atomic_bool over;

/* Looks at a file's origin, unless the file came from a shared tier after a look. */
static void look_at_file(struct stk_cache *cache, const struct stk_place *place)
{
    uint32_t number = stk_catalogue_find(&cache->catalogue, place->key);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || stk_freshness_of(cache, record) != STK_FRESHNESS_FRESH) {
        stk_freshness_validate(cache, place);
    }
}

/* Notes a file that the job has read itself. Files that were read ahead are not open yet. */
static void note_if_opened(struct stk_cache *cache, const struct stk_place *place)
{
    uint32_t record = stk_catalogue_find(&cache->catalogue, place->key);
    if (record != 0 && stk_run_opens(&cache->run, record) > 0) {
        tree_evidence_note(place->root, place->below, TREE_FILES);
    }
}

/* Looks at the origin. If the file has changed, its present version is remembered. */
static void look(struct stk_cache *cache, uint64_t key, const char *below)
{
    const struct stk_root *listed =
        stk_listing_is_queued(below) ? stk_roots_by_key(&cache->roots, key) : NULL;
    if (listed != NULL && stk_listing_is_note(below)) {
        scan_ahead_note(listed, below);
        return;
    }
    if (listed != NULL) {
        stk_listing_revalidate(cache, listed, below);
        return;
    }
    char path[STK_PATH_BYTES];
    struct stk_place place;
    const struct stk_root *root = stk_roots_by_key(&cache->roots, key);
    int length = root == NULL ? -1 : snprintf(path, sizeof path, "%s/%s", root->prefix, below);
    if (length > 0 && (size_t)length < sizeof path &&
        stk_cache_place(cache, path, AT_FDCWD, path, &place) && place.root->key.low == key) {
        look_at_file(cache, &place);
        note_if_opened(cache, &place);
    }
}

static void *validate(void *context)
{
    struct stk_revalidation_queue *queue = context;
    char below[STK_REVALIDATION_QUEUE_PATH_BYTES];
    uint64_t root;
    while (stk_revalidation_queue_take(queue, &root, below)) {
        look(job_cache(), root, below);
    }
    return NULL;
}

/* Opens the cache in the thread, since finding out about the roots asks the origin: the command
 * does not wait for that. */
static void *begin(void *context)
{
    struct stk_cache *cache = job_cache();
    struct stk_revalidation_queue *queue =
        cache != NULL ? stk_run_revalidation_queue(&cache->run) : NULL;
    if (queue == NULL) {
        return context;
    }
    stk_revalidation_queue_open(queue, &cache->roots, getpid());
    atomic_store(&opened, queue);
    for (int i = 1; i < THREADS && queue->root_count > 0 && thread_start_detached(validate, queue);
         i++) {
    }
    if (atomic_load(&over)) {
        stk_revalidation_queue_close(queue);
    }
    return validate(queue);
}

void validator_begin(void)
{
    thread_start_detached(begin, NULL);
}

void validator_end(void)
{
    atomic_store(&over, true);
    struct stk_revalidation_queue *queue = atomic_load(&opened);
    if (queue != NULL) {
        stk_revalidation_queue_close(queue);
    }
}

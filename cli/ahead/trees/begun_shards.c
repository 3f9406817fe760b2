#include "cli/ahead/trees/begun_shards.h"

#include "base/clock.h"
#include "base/sys.h"
#include "cache/run/big_queue.h"
#include "cli/ahead/trees/tree_evidence.h"
#include "cli/os/thread.h"

#define LOOK_NS STK_NS_PER_S /* a wake-up can be lost */

static void look_at(struct stk_cache *cache, struct stk_big_queue *queue, unsigned slot)
{
    static uint64_t noted[STK_BIG_QUEUE_SLOTS]; /* tickets */
    struct stk_big_queue_file begun;
    if (!stk_big_queue_look(queue, slot, &begun) || (begun.marks & STK_BIG_QUEUE_STREAMED) == 0 ||
        begun.ticket == noted[slot]) {
        return;
    }
    noted[slot] = begun.ticket;
    const struct stk_root *root = stk_roots_by_key(&cache->roots, begun.root);
    if (root != NULL) {
        tree_evidence_note(root, begun.below, TREE_SHARDS);
    }
}

static void *look(void *context)
{
    struct stk_cache *cache = context;
    struct stk_big_queue *queue = stk_run_big_queue(&cache->run);
    while (queue != NULL) {
        uint32_t count = atomic_load(&queue->count);
        for (unsigned slot = 0; slot < STK_BIG_QUEUE_SLOTS; slot++) {
            look_at(cache, queue, slot);
        }
        stk_sys_futex_wait(&queue->count, count, LOOK_NS);
    }
    return NULL;
}

void begun_shards_begin(struct stk_cache *cache)
{
    thread_start_detached(look, cache);
}
